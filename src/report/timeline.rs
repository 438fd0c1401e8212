//! The turns of an epoch, a row per rank.

use std::fmt::Write;

use super::axis::{Axis, Unit};
use super::escape::escaped;
use super::run_data::RunData;
use crate::event::TurnSpan;

const WIDTH: f64 = 1100.0;
const RIGHT: f64 = 26.0;
const LEFT: f64 = 62.0;
const ROW: f64 = 22.0;
const FOOT: f64 = 30.0;

/// Most rows that are drawn.
const MOST_RANKS: usize = 64;

/// The kinds of turns, with the colours of the style sheet.
const KINDS: [(&str, usize); 4] = [("forward", 0), ("backward", 1), ("gradients", 2), ("other", 6)];

/// The kind of a turn, by the phase in which it ended.
fn kind(turn: &TurnSpan) -> (&'static str, usize) {
    let phase = &turn.phase;
    let found = KINDS.iter().find(|(name, _)| phase.contains(name));
    found.copied().unwrap_or(KINDS[3])
}

/// The timeline of a run; empty if its folder records none.
pub(super) fn timeline(run: &RunData) -> String {
    let Some(turns) = &run.turns else { return String::new() };
    let all = || turns.ranks.iter().flatten();
    let Some(begin) = all().map(|turn| turn.begin_s).reduce(f64::min) else {
        return String::new();
    };
    let end = all().map(|turn| turn.end_s).fold(begin, f64::max);
    let axis = Axis::over([0.0, end - begin].into_iter(), 6, Unit::Seconds, true);
    let rows = turns.ranks.len().min(MOST_RANKS);
    let height = rows as f64 * ROW + FOOT;
    let place = |seconds: f64| LEFT + axis.place(seconds - begin) * (WIDTH - LEFT - RIGHT);
    let busy: f64 = all().map(|turn| turn.end_s - turn.begin_s).sum();
    let spoken = format!(
        "{} turns of {} ranks in {}",
        all().count(),
        turns.ranks.len(),
        Unit::Seconds.show(end - begin)
    );
    let mut html = format!(
        "<figure class=\"card wide\"><h3>Turns of epoch {} of {}</h3><div class=\"scroll\"><svg viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" aria-label=\"{}\">",
        turns.epoch,
        escaped(&run.name),
        escaped(&spoken)
    );
    for tick in &axis.ticks {
        let at = place(begin + tick);
        let bottom = rows as f64 * ROW;
        let _ = write!(
            html,
            "<path class=\"grid\" d=\"M{at:.1} 0V{bottom:.1}\"/><text class=\"x\" x=\"{at:.1}\" y=\"{:.1}\">{}</text>",
            bottom + 16.0,
            escaped(&Unit::Seconds.show(*tick))
        );
    }
    for (rank, turns) in turns.ranks.iter().take(rows).enumerate() {
        let top = rank as f64 * ROW;
        let _ = write!(
            html,
            "<text class=\"y\" x=\"{:.1}\" y=\"{:.1}\">rank {rank}</text>",
            LEFT - 6.0,
            top + ROW * 0.65
        );
        for turn in turns {
            let (left, right) = (place(turn.begin_s), place(turn.end_s));
            let _ = write!(
                html,
                "<rect class=\"turn c{}\" x=\"{left:.2}\" y=\"{:.1}\" width=\"{:.2}\" height=\"{:.1}\"><title>rank {rank}, {}: {}</title></rect>",
                kind(turn).1,
                top + 3.0,
                (right - left).max(0.6),
                ROW - 6.0,
                escaped(&turn.phase),
                escaped(&Unit::Seconds.show(turn.end_s - turn.begin_s))
            );
        }
    }
    html.push_str("</svg></div><figcaption>");
    for (name, colour) in KINDS {
        let _ = write!(
            html,
            "<span class=\"key\"><svg viewBox=\"0 0 22 8\" aria-hidden=\"true\"><rect class=\"turn c{colour}\" width=\"22\" height=\"8\"/></svg>{name}</span>"
        );
    }
    let mean = busy / (end - begin).max(f64::MIN_POSITIVE);
    let hidden = turns.ranks.len() - rows;
    let more =
        if hidden > 0 { format!(" {hidden} more ranks are not shown.") } else { String::new() };
    let _ = writeln!(
        html,
        "<p>On average {mean:.2} of {} ranks had a turn. A turn is named by the phase in which it ended.{more}</p></figcaption></figure>",
        turns.ranks.len()
    );
    html
}
