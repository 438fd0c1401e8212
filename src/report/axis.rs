//! Axes with round numbers.

use crate::words::size::size;

/// How the values of an axis are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unit {
    /// Plain numbers.
    Number,
    /// Shares, as percent.
    Share,
    Seconds,
    Bytes,
}

impl Unit {
    /// A value as text.
    pub(super) fn show(self, value: f64) -> String {
        match self {
            Unit::Share => format!("{} %", trimmed(value * 100.0, 1)),
            Unit::Seconds if value != 0.0 && value.abs() < 0.1 => {
                format!("{} ms", trimmed(value * 1000.0, 1))
            }
            Unit::Seconds => format!("{} s", trimmed(value, 2)),
            Unit::Bytes => size(value.max(0.0) as u64),
            Unit::Number if value != 0.0 && !(1e-3..1e5).contains(&value.abs()) => {
                format!("{value:.1e}")
            }
            Unit::Number => trimmed(value, 4),
        }
    }
}

fn trimmed(value: f64, digits: usize) -> String {
    let text = format!("{value:.digits$}");
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        text
    }
}

/// How values are spread over an axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Scale {
    /// Evenly, from 0.
    FromZero,
    /// Evenly, from about the lowest value.
    FromLowest,
    /// From about the lowest value: by logarithms where positive values span decades, else evenly.
    Decades,
}

/// Most ticks of a logarithmic axis.
const MOST_TICKS: usize = 8;
/// The ratio of highest to lowest value from which the axis of [`Scale::Decades`] has logarithms.
const DECADES: f64 = 20.0;

/// A range of values and round numbers in it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Axis {
    pub(super) low: f64,
    pub(super) high: f64,
    pub(super) ticks: Vec<f64>,
    /// Whether places are logarithms of values.
    pub(super) is_logarithmic: bool,
}

impl Axis {
    /// An axis over all of `values`, with about `ticks` ticks.
    pub(super) fn over(
        values: impl Iterator<Item = f64>,
        ticks: usize,
        unit: Unit,
        scale: Scale,
    ) -> Self {
        let from_zero = scale == Scale::FromZero;
        let start = if from_zero { 0.0 } else { f64::INFINITY };
        let end = if from_zero { 0.0 } else { f64::NEG_INFINITY };
        let (low, high) = values
            .filter(|value| value.is_finite())
            .fold((start, end), |(low, high), value| (low.min(value), high.max(value)));
        if scale == Scale::Decades && low > 0.0 && high >= DECADES * low && high.is_finite() {
            return Self::of_decades(low, high);
        }
        let (mut low, mut high) = if low <= high { (low, high) } else { (0.0, 1.0) };
        if high - low < f64::EPSILON * high.abs().max(f64::MIN_POSITIVE) {
            let room = if high == 0.0 { 1.0 } else { high.abs() / 10.0 };
            (low, high) = (if from_zero { low } else { low - room }, high + room);
        }
        let step = round_step((high - low) / ticks.max(1) as f64, unit);
        let (first, last) = ((low / step).floor(), (high / step).ceil());
        let count = ((last - first) as usize).min(100);
        let ticks = (0..=count).map(|i| (first + i as f64) * step).collect();
        Axis { low: first * step, high: last * step, ticks, is_logarithmic: false }
    }

    /// A logarithmic axis. Its ticks are powers of 10; over few decades also 2 and 5 times these.
    fn of_decades(low: f64, high: f64) -> Self {
        let (first, last) = (low.log10().floor() as i32, high.log10().ceil() as i32);
        let factors = if last - first <= 3 { &[1.0, 2.0, 5.0][..] } else { &[1.0] };
        let all = (first..=last)
            .flat_map(|power| factors.iter().map(move |factor| factor * 10f64.powi(power)));
        let all: Vec<f64> = all.collect();
        // From the last that is not above all values to the first that is not below.
        let from = all.iter().rposition(|tick| *tick <= low).unwrap_or(0);
        let to = all.iter().position(|tick| *tick >= high).unwrap_or(all.len() - 1);
        let step = (to - from).div_ceil(MOST_TICKS).max(1);
        let ticks = all[from..=to].iter().step_by(step).copied().collect();
        Axis { low: all[from], high: all[to], ticks, is_logarithmic: true }
    }

    /// The place of a value: 0 at the low end, 1 at the high one.
    pub(super) fn place(&self, value: f64) -> f64 {
        if self.is_logarithmic {
            (value / self.low).ln() / (self.high / self.low).ln()
        } else {
            (value - self.low) / (self.high - self.low)
        }
    }
}

/// 1, 2 or 5 times a power of 10 (of bytes: 1, 2, ... 512 times one of 1024), not below `step`.
fn round_step(step: f64, unit: Unit) -> f64 {
    if unit == Unit::Bytes {
        return 2f64.powf(step.max(1.0).log2().ceil());
    }
    let power = 10f64.powf(step.log10().floor());
    let factor = [1.0, 2.0, 5.0].into_iter().find(|factor| factor * power >= step * 0.999_999);
    factor.unwrap_or(10.0) * power
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(values: &[f64], unit: Unit, scale: Scale) -> Vec<String> {
        let axis = Axis::over(values.iter().copied(), 4, unit, scale);
        axis.ticks.iter().map(|tick| unit.show(*tick)).collect()
    }

    #[test]
    fn ticks_are_round_and_cover_all_values() {
        assert_eq!(
            shown(&[0.13, 0.87], Unit::Share, Scale::FromLowest),
            ["0 %", "20 %", "40 %", "60 %", "80 %", "100 %"]
        );
        assert_eq!(shown(&[3.0, 7.1], Unit::Number, Scale::FromZero), ["0", "2", "4", "6", "8"]);
        assert_eq!(
            shown(&[5.0 * 1024.0 * 1024.0], Unit::Bytes, Scale::FromZero).last().unwrap(),
            "6.00 MiB"
        );
    }

    #[test]
    fn values_that_span_decades_are_placed_by_their_logarithms() {
        let decades = |values: &[f64]| shown(values, Unit::Number, Scale::Decades);
        assert_eq!(decades(&[0.03, 2.6]), ["0.02", "0.05", "0.1", "0.2", "0.5", "1", "2", "5"]);
        assert_eq!(decades(&[1e-7, 0.5]).first().unwrap(), "1.0e-7");
        assert!(decades(&[1e-60, 0.5]).len() <= MOST_TICKS + 1);
        let axis = Axis::over([0.01, 1.0].into_iter(), 4, Unit::Number, Scale::Decades);
        assert!((axis.place(0.1) - 0.5).abs() < 1e-9, "{axis:?}");
        // Neither less than two decades nor values that have no logarithm.
        assert_eq!(decades(&[0.5, 2.6]), ["0", "1", "2", "3"]);
        assert_eq!(decades(&[0.0, 260.0]), ["0", "100", "200", "300"]);
    }

    #[test]
    fn values_that_are_all_alike_infinite_or_missing_have_an_axis() {
        for values in
            [&[0.5][..], &[0.0, 0.0], &[-3.0], &[f64::INFINITY, f64::NAN], &[], &[1e300, 1e-300]]
        {
            for scale in [Scale::FromZero, Scale::FromLowest, Scale::Decades] {
                let axis = Axis::over(values.iter().copied(), 4, Unit::Number, scale);
                assert!(axis.low < axis.high && axis.ticks.len() >= 2, "{values:?}: {axis:?}");
            }
        }
    }
}
