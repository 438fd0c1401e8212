//! Line charts as SVG.

use std::fmt::Write;

use super::axis::{Axis, Scale, Unit};
use super::escape::escaped;

const WIDTH: f64 = 400.0;
const HEIGHT: f64 = 230.0;
const LEFT: f64 = 66.0;
const RIGHT: f64 = 10.0;
const TOP: f64 = 10.0;
const BOTTOM: f64 = 34.0;

/// Number of colours of the style sheet; lines beyond that differ by their dashes.
pub(super) const COLOURS: usize = 7;

/// Most points of a line that are drawn: about one per pixel and direction.
const MOST_POINTS: usize = 700;
/// Most points that have their own mark.
const MOST_MARKS: usize = 40;

/// A line of a chart.
#[derive(Debug, Clone)]
pub(super) struct Curve {
    /// Name in the legend; empty for the only curve of a chart.
    pub(super) name: String,
    /// Index of the colour.
    pub(super) colour: usize,
    /// Index of the pattern of dashes; 0 is solid.
    pub(super) dash: usize,
    /// Points, from left to right.
    pub(super) points: Vec<(f64, f64)>,
}

#[derive(Debug, Clone)]
pub(super) struct MarkedEpoch {
    /// Name in the legend.
    pub(super) name: String,
    /// Index of the colour.
    pub(super) colour: usize,
    pub(super) epoch: f64,
    /// The value that is marked, if the chart shows it.
    pub(super) value: Option<f64>,
}

/// Curves over the epochs.
#[derive(Debug, Clone)]
pub(super) struct Chart {
    pub(super) title: String,
    pub(super) unit: Unit,
    pub(super) scale: Scale,
    pub(super) curves: Vec<Curve>,
    pub(super) marks: Vec<MarkedEpoch>,
    /// A sentence below the legend.
    pub(super) remark: String,
}

impl Chart {
    /// The chart with its legend; empty without points.
    pub(super) fn html(&self) -> String {
        let curves: Vec<&Curve> = self.curves.iter().filter(|c| !c.points.is_empty()).collect();
        if curves.is_empty() {
            return String::new();
        }
        let all = || curves.iter().flat_map(|curve| curve.points.iter());
        let x = Axis::over(all().map(|point| point.0), 5, Unit::Number, Scale::FromLowest);
        let y = Axis::over(all().map(|point| point.1), 4, self.unit, self.scale);
        let title = escaped(&self.title);
        let mut html = format!("<figure class=\"card\"><h3>{title}</h3>");
        let _ = write!(
            html,
            "<svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-label=\"{}\">",
            escaped(&self.spoken(&curves))
        );
        self.grid(&mut html, &x, &y);
        self.mark(&mut html, &x, &y);
        for curve in &curves {
            draw(&mut html, curve, &x, &y, self.unit);
        }
        html.push_str("</svg><figcaption>");
        for curve in curves.iter().filter(|curve| !curve.name.is_empty()) {
            let (colour, dash) = (curve.colour % COLOURS, curve.dash);
            let _ = write!(
                html,
                "<span class=\"key\"><svg viewBox=\"0 0 22 8\" aria-hidden=\"true\"><path class=\"curve c{colour} d{dash}\" d=\"M0 4H22\"/></svg>{}</span>",
                escaped(&curve.name)
            );
        }
        for mark in &self.marks {
            let _ = write!(
                html,
                "<span class=\"key\"><svg viewBox=\"0 0 22 12\" aria-hidden=\"true\"><path class=\"best c{}\" d=\"M11 0V12\"/></svg>{}</span>",
                mark.colour % COLOURS,
                escaped(&mark.name)
            );
        }
        let logarithmic = if y.is_logarithmic { "Logarithmic axis." } else { "" };
        let remark = format!("{logarithmic} {}", self.remark);
        if !remark.trim().is_empty() {
            let _ = write!(html, "<p>{}</p>", escaped(remark.trim()));
        }
        html.push_str("</figcaption></figure>\n");
        html
    }

    /// The chart for those who do not see it.
    fn spoken(&self, curves: &[&Curve]) -> String {
        let ends = curves.iter().filter_map(|curve| {
            let (first, last) = (curve.points.first()?, curve.points.last()?);
            let [from, to] = [first, last].map(|point| self.unit.show(point.1));
            Some(format!("{} from {from} to {to}", curve.name).trim().to_owned())
        });
        format!("{}: {}", self.title, ends.collect::<Vec<_>>().join("; "))
    }

    /// A vertical line at each marked epoch, and a ring around its value.
    fn mark(&self, html: &mut String, x: &Axis, y: &Axis) {
        for MarkedEpoch { name, colour, epoch, value } in &self.marks {
            let (at, colour) = (across_x(x, *epoch), colour % COLOURS);
            let _ = write!(
                html,
                "<path class=\"best c{colour}\" d=\"M{at:.1} {TOP}V{:.1}\"><title>{}</title></path>",
                HEIGHT - BOTTOM,
                escaped(name)
            );
            if let Some(value) = value {
                let _ = write!(
                    html,
                    "<circle class=\"ring c{colour}\" cx=\"{at:.1}\" cy=\"{:.1}\" r=\"5\"/>",
                    across_y(y, *value)
                );
            }
        }
    }

    fn grid(&self, html: &mut String, x: &Axis, y: &Axis) {
        for tick in &y.ticks {
            let at = across_y(y, *tick);
            let _ = write!(
                html,
                "<path class=\"grid\" d=\"M{LEFT} {at:.1}H{:.1}\"/><text class=\"y\" x=\"{:.1}\" y=\"{:.1}\">{}</text>",
                WIDTH - RIGHT,
                LEFT - 6.0,
                at + 3.5,
                escaped(&self.unit.show(*tick))
            );
        }
        // Epochs are whole numbers.
        for tick in x.ticks.iter().filter(|tick| tick.fract().abs() < 1e-9) {
            let _ = write!(
                html,
                "<text class=\"x\" x=\"{:.1}\" y=\"{:.1}\">{tick:.0}</text>",
                across_x(x, *tick),
                HEIGHT - BOTTOM + 15.0
            );
        }
        let _ = write!(
            html,
            "<text class=\"x\" x=\"{:.1}\" y=\"{:.1}\">epoch</text>",
            (LEFT + WIDTH - RIGHT) / 2.0,
            HEIGHT - 4.0
        );
    }
}

fn across_x(axis: &Axis, value: f64) -> f64 {
    LEFT + axis.place(value) * (WIDTH - LEFT - RIGHT)
}

fn across_y(axis: &Axis, value: f64) -> f64 {
    HEIGHT - BOTTOM - axis.place(value) * (HEIGHT - TOP - BOTTOM)
}

fn draw(html: &mut String, curve: &Curve, x: &Axis, y: &Axis, unit: Unit) {
    let (colour, dash) = (curve.colour % COLOURS, curve.dash);
    let points = thinned(&curve.points);
    let mut path = String::new();
    for (i, (px, py)) in points.iter().enumerate() {
        let letter = if i == 0 { 'M' } else { 'L' };
        let _ = write!(path, "{letter}{:.1} {:.1}", across_x(x, *px), across_y(y, *py));
    }
    if points.len() > 1 {
        let _ = write!(html, "<path class=\"curve c{colour} d{dash}\" d=\"{path}\"/>");
    }
    if points.len() <= MOST_MARKS {
        for (px, py) in points {
            let _ = write!(
                html,
                "<circle class=\"mark c{colour}\" cx=\"{:.1}\" cy=\"{:.1}\" r=\"2.2\"><title>{}{}epoch {px}: {}</title></circle>",
                across_x(x, px),
                across_y(y, py),
                escaped(&curve.name),
                if curve.name.is_empty() { "" } else { ", " },
                escaped(&unit.show(py))
            );
        }
    }
}

/// The points, of many only the lowest and the highest of neighbouring ones.
fn thinned(points: &[(f64, f64)]) -> Vec<(f64, f64)> {
    if points.len() <= MOST_POINTS {
        return points.to_vec();
    }
    let group = points.len().div_ceil(MOST_POINTS / 2);
    let mut kept = Vec::new();
    for points in points.chunks(group) {
        let by_value = |a: &&(f64, f64), b: &&(f64, f64)| a.1.total_cmp(&b.1);
        let ends = [points.iter().min_by(by_value), points.iter().max_by(by_value)];
        let mut ends: Vec<(f64, f64)> = ends.into_iter().flatten().copied().collect();
        ends.sort_by(|a, b| a.0.total_cmp(&b.0));
        ends.dedup();
        kept.extend(ends);
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_curve_keeps_its_peaks() {
        let mut points: Vec<(f64, f64)> = (0..100_000).map(|i| (f64::from(i), 1.0)).collect();
        points[54_321].1 = 9.0;
        points[77_777].1 = -4.0;
        let kept = thinned(&points);
        assert!(kept.len() <= MOST_POINTS + 2, "{}", kept.len());
        assert!(kept.contains(&(54_321.0, 9.0)) && kept.contains(&(77_777.0, -4.0)));
        assert!(kept.windows(2).all(|pair| pair[0].0 < pair[1].0));
    }
}
