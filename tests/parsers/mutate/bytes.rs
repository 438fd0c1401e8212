//! Changes to bytes, without regard to their meaning.

use super::words::{BYTES, NUMBERS};
use crate::dice::Dice;
use std::ops::Range;

pub(super) fn mutate(dice: &mut Dice, out: &mut Vec<u8>, other: &[u8], unused: &Range<usize>) {
    for _ in 0..dice.rounds() {
        let at = place(dice, out.len(), unused);
        // Changes that keep the length come first: after others, little of a binary file is in its place.
        match dice.below(20) {
            0..=1 => flip(dice, out, at),
            2..=5 => overwrite_number(dice, out, at),
            6..=7 => blow_up_count(dice, out, unused),
            8..=9 => nudge_number(dice, out, at),
            10 => overwrite(out, at, dice.pick::<&[u8]>(&BYTES)),
            11 => copy_field(dice, out, at, unused),
            12 => swap_fields(dice, out, at, unused),
            13 => out.truncate(at),
            14 => extend(dice, out),
            15 => cut(dice, out, at),
            16 => duplicate(dice, out, at, unused),
            17 => insert(out, at, dice.pick::<&[u8]>(&BYTES)),
            18 => splice(dice, out, at, other),
            _ => repeat(dice, out, at),
        }
    }
}

/// A place in the file: its head and its tail, where headers and directories are, in half of all cases.
fn place(dice: &mut Dice, len: usize, unused: &Range<usize>) -> usize {
    for _ in 0..4 {
        let at = match dice.below(4) {
            0 => dice.below(len.min(256)),
            1 => len - 1.min(len) - dice.below(len.min(512)),
            _ => dice.below(len),
        };
        if !unused.contains(&at) {
            return at;
        }
    }
    dice.below(len)
}

fn flip(dice: &mut Dice, out: &mut [u8], at: usize) {
    if let Some(byte) = out.get_mut(at) {
        *byte ^= if dice.one_in(2) { 1 << dice.below(8) } else { dice.number() as u8 };
    }
}

fn overwrite(out: &mut [u8], at: usize, bytes: &[u8]) {
    let end = out.len().min(at + bytes.len());
    if at < end {
        out[at..end].copy_from_slice(&bytes[..end - at]);
    }
}

fn insert(out: &mut Vec<u8>, at: usize, bytes: &[u8]) {
    let at = at.min(out.len());
    out.splice(at..at, bytes.iter().copied());
}

fn overwrite_number(dice: &mut Dice, out: &mut [u8], at: usize) {
    let number = dice.pick(&NUMBERS).to_le_bytes();
    overwrite(out, at, &number[..*dice.pick(&[1, 2, 4, 8, 8])]);
}

fn number_at(out: &[u8], at: usize, width: usize) -> Option<u64> {
    let mut bytes = [0; 8];
    bytes[..width].copy_from_slice(out.get(at..at + width)?);
    Some(u64::from_le_bytes(bytes))
}

/// Replaces a possible count or length: a number that is at most a few times the size of the file.
fn blow_up_count(dice: &mut Dice, out: &mut [u8], unused: &Range<usize>) {
    let width = *dice.pick(&[2, 4, 8, 8]);
    for _ in 0..16 {
        let at = place(dice, out.len(), unused);
        let found = number_at(out, at, width);
        if found.is_some_and(|found| (1..=4 * out.len() as u64).contains(&found)) {
            let number = dice.pick(&NUMBERS).to_le_bytes();
            return overwrite(out, at, &number[..width]);
        }
    }
}

fn nudge_number(dice: &mut Dice, out: &mut [u8], at: usize) {
    let width = *dice.pick(&[1, 2, 4, 8]);
    if let Some(found) = number_at(out, at, width) {
        let by = 1 + dice.below(16) as u64;
        let nudged = if dice.one_in(2) { found.wrapping_add(by) } else { found.wrapping_sub(by) };
        overwrite(out, at, &nudged.to_le_bytes()[..width]);
    }
}

fn chunk(dice: &mut Dice, from: &[u8], at: usize) -> Vec<u8> {
    let end = from.len().min(at + dice.length());
    from.get(at..end).unwrap_or_default().to_vec()
}

fn copy_field(dice: &mut Dice, out: &mut [u8], at: usize, unused: &Range<usize>) {
    let from = place(dice, out.len(), unused);
    let bytes = chunk(dice, out, from);
    overwrite(out, at, &bytes);
}

fn swap_fields(dice: &mut Dice, out: &mut [u8], at: usize, unused: &Range<usize>) {
    let width = *dice.pick(&[1, 4, 8, 8, 16, 64]);
    let with = place(dice, out.len(), unused);
    if at.max(with) + width <= out.len() {
        for i in 0..width {
            out.swap(at + i, with + i);
        }
    }
}

fn extend(dice: &mut Dice, out: &mut Vec<u8>) {
    let (len, byte) = (dice.length(), *dice.pick(&[0, 0xff, b' ']));
    out.resize(out.len() + len, byte);
}

fn cut(dice: &mut Dice, out: &mut Vec<u8>, at: usize) {
    let end = out.len().min(at + dice.length());
    out.drain(at.min(end)..end);
}

fn duplicate(dice: &mut Dice, out: &mut Vec<u8>, at: usize, unused: &Range<usize>) {
    let from = place(dice, out.len(), unused);
    let bytes = chunk(dice, out, from);
    insert(out, at, &bytes);
}

fn splice(dice: &mut Dice, out: &mut Vec<u8>, at: usize, other: &[u8]) {
    let from = dice.below(other.len());
    if dice.one_in(2) {
        let bytes = chunk(dice, other, from);
        overwrite(out, at, &bytes);
    } else {
        out.truncate(at);
        out.extend_from_slice(&other[from..]);
    }
}

/// Deep nesting, and long repetitions.
fn repeat(dice: &mut Dice, out: &mut Vec<u8>, at: usize) {
    let end = out.len().min(at + *dice.pick(&[1, 1, 2, 4, 16]));
    let Some(bytes) = out.get(at..end).map(<[u8]>::to_vec) else { return };
    let times = *dice.pick(&[8, 64, 64, 1000, 20_000]);
    insert(out, at, &bytes.repeat(times));
}
