//! The turns of an epoch, a row per rank.

use std::fmt::Write;

use super::axis::{Axis, Scale, Unit};
use super::escape::escaped;
use crate::event::TurnSpan;
use crate::run::RunData;

/// Length of a row in the units of its drawing, which is as wide as its card.
const LENGTH: f64 = 1000.0;

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
    let axis = Axis::over([0.0, end - begin].into_iter(), 6, Unit::Seconds, Scale::FromZero);
    let rows = turns.ranks.len().min(MOST_RANKS);
    let busy: f64 = all().map(|turn| turn.end_s - turn.begin_s).sum();
    let spoken = format!(
        "{} turns of {} ranks in {}",
        all().count(),
        turns.ranks.len(),
        Unit::Seconds.show(end - begin)
    );
    let mut html = format!(
        "<figure class=\"card wide\"><h3>Turns of epoch {} of {}</h3><div class=\"turns\" role=\"img\" aria-label=\"{}\">",
        turns.epoch,
        escaped(&run.name),
        escaped(&spoken)
    );
    for (rank, turns) in turns.ranks.iter().take(rows).enumerate() {
        html.push_str(&row(rank, turns, begin, &axis));
    }
    html.push_str("<span></span><div class=\"ticks\">");
    for tick in &axis.ticks {
        let (place, tick) = (100.0 * axis.place(*tick), escaped(&Unit::Seconds.show(*tick)));
        let _ = write!(html, "<span style=\"left:{place:.2}%\">{tick}</span>");
    }
    html.push_str("</div></div><figcaption>");
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

/// The name of a rank, and its turns on an axis that begins at `begin`.
fn row(rank: usize, turns: &[TurnSpan], begin: f64, axis: &Axis) -> String {
    let mut html = format!(
        "<span>rank {rank}</span><svg viewBox=\"0 0 {LENGTH} 16\" preserveAspectRatio=\"none\">"
    );
    for tick in &axis.ticks {
        let at = axis.place(*tick) * LENGTH;
        let _ = write!(html, "<path class=\"grid\" d=\"M{at:.1} 0V16\"/>");
    }
    for turn in turns {
        let [left, right] =
            [turn.begin_s, turn.end_s].map(|seconds| axis.place(seconds - begin) * LENGTH);
        let _ = write!(
            html,
            "<rect class=\"turn c{}\" x=\"{left:.2}\" width=\"{:.2}\" height=\"16\"><title>rank {rank}, {}: {}</title></rect>",
            kind(turn).1,
            (right - left).max(0.6),
            escaped(&turn.phase),
            escaped(&Unit::Seconds.show(turn.end_s - turn.begin_s))
        );
    }
    html + "</svg>"
}
