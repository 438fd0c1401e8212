//! Changes to texts: numbers, words, lines.

use super::words::{NUMBERS, TEXTS, WORDS};
use crate::dice::Dice;
use std::ops::Range;

pub(super) fn mutate(dice: &mut Dice, out: &mut Vec<u8>, other: &[u8]) {
    for _ in 0..dice.rounds() {
        let at = dice.below(out.len() + 1);
        match dice.below(14) {
            0..=4 => {
                if let Some(place) = number(dice, out) {
                    out.splice(place, some_number(dice).into_bytes());
                }
            }
            5 => drop(out.splice(at..at, dice.pick(&WORDS).bytes())),
            6 => drop(out.splice(at..at, some_number(dice).into_bytes())),
            7 => {
                let line = line(dice, out);
                out.drain(line);
            }
            8 => {
                let copy = out[line(dice, out)].to_vec();
                let at = line(dice, out).start;
                out.splice(at..at, copy);
            }
            9 => {
                let from = line(dice, other);
                let at = line(dice, out).start;
                out.splice(at..at, other[from].iter().copied());
            }
            10 => {
                let (a, b) = (line(dice, out), line(dice, out));
                if a.end <= b.start {
                    let moved = out[a.clone()].to_vec();
                    out.splice(b.start..b.start, moved);
                    out.drain(a);
                }
            }
            11 => {
                let end = out.len().min(at + dice.length());
                out.drain(at..end);
            }
            12 => {
                let end = out.len().min(at + *dice.pick(&[1, 1, 2, 8]));
                let piece = out[at..end].repeat(*dice.pick(&[2, 16, 300, 20_000]));
                out.splice(at..at, piece);
            }
            _ => {
                if let Some(byte) = out.get_mut(at) {
                    *byte = dice.number() as u8;
                }
            }
        }
    }
}

pub(super) fn some_number(dice: &mut Dice) -> String {
    match dice.below(3) {
        0 => (*dice.pick(&TEXTS)).to_owned(),
        1 => dice.pick(&NUMBERS).to_string(),
        _ => dice.below(40).to_string(),
    }
}

/// A random run of digits.
fn number(dice: &mut Dice, out: &[u8]) -> Option<Range<usize>> {
    let from = dice.below(out.len());
    let rest = &out[from..];
    let start = from + rest.iter().position(u8::is_ascii_digit)?;
    let len = out[start..].iter().position(|byte| !byte.is_ascii_digit());
    Some(start..len.map_or(out.len(), |len| start + len))
}

/// A random line, with its end.
fn line(dice: &mut Dice, out: &[u8]) -> Range<usize> {
    let at = dice.below(out.len());
    let start = out[..at].iter().rposition(|&byte| byte == b'\n').map_or(0, |end| end + 1);
    let end = out[at..].iter().position(|&byte| byte == b'\n');
    start..end.map_or(out.len(), |end| at + end + 1)
}
