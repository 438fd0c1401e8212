//! The changes that fit a file's syntax.

use super::{bytes, text, tree};
use crate::dice::Dice;
use std::ops::Range;

/// Largest size of an input in bytes.
const MAX_BYTES: usize = 128 << 10;

/// The syntax of a file, which decides what changes reach deep into its reader.
#[derive(Clone, Debug)]
pub(crate) enum Syntax {
    /// Numbers and lengths, with some bytes that are not read.
    Binary {
        unused: Range<usize>,
    },
    /// Lines.
    Text,
    Json,
    Toml,
    /// A length, a JSON text, and data.
    Safetensors,
    /// A text after a length of two bytes, and data.
    Npy,
}

impl Syntax {
    pub(crate) const BINARY: Syntax = Syntax::Binary { unused: 0..0 };
}

/// Changes `content`; parts of `other`, a file of the same format, may be inserted.
pub(crate) fn mutate(dice: &mut Dice, content: &[u8], other: &[u8], syntax: &Syntax) -> Vec<u8> {
    let mut out = content.to_vec();
    match syntax {
        Syntax::Binary { unused } => bytes::mutate(dice, &mut out, other, unused),
        Syntax::Text => match dice.below(4) {
            0 => bytes::mutate(dice, &mut out, other, &(0..0)),
            _ => text::mutate(dice, &mut out, other),
        },
        Syntax::Json | Syntax::Toml => {
            let changed = match dice.below(8) {
                0 => None,
                1 | 2 => {
                    text::mutate(dice, &mut out, other);
                    Some(())
                }
                _ => tree::mutate(dice, &mut out, matches!(syntax, Syntax::Toml)),
            };
            if changed.is_none() || dice.one_in(8) {
                bytes::mutate(dice, &mut out, other, &(0..0));
            }
        }
        Syntax::Safetensors => match dice.below(4) {
            0 => bytes::mutate(dice, &mut out, other, &(0..0)),
            _ => change_header(dice, &mut out, 8, |dice, header| {
                if dice.one_in(4) || tree::mutate(dice, header, false).is_none() {
                    text::mutate(dice, header, other);
                }
            }),
        },
        Syntax::Npy => match dice.below(4) {
            0 => bytes::mutate(dice, &mut out, other, &(0..0)),
            _ => change_header(dice, &mut out, 2, |dice, header| text::mutate(dice, header, &[])),
        },
    }
    out.truncate(MAX_BYTES);
    out
}

/// Changes the header of a safetensors file (after a length of 8 bytes at the start) or of a numpy file (after magic, version
/// and a length of 2 bytes), and mostly corrects its length.
fn change_header(
    dice: &mut Dice,
    out: &mut Vec<u8>,
    width: usize,
    change: impl FnOnce(&mut Dice, &mut Vec<u8>),
) {
    let at = if width == 8 { 0 } else { 8 };
    let start = at + width;
    let mut len = [0; 8];
    let Some(stored) = out.get(at..start) else { return };
    len[..width].copy_from_slice(stored);
    let end = start + u64::from_le_bytes(len) as usize;
    let Some(header) = out.get(start..end) else { return };
    let mut header = header.to_vec();
    change(dice, &mut header);
    header.truncate(MAX_BYTES);
    if width == 2 {
        header.truncate(usize::from(u16::MAX));
    }
    let len = (header.len() as u64).to_le_bytes();
    out.splice(start..end, header);
    if !dice.one_in(8) {
        out[at..start].copy_from_slice(&len[..width]);
    }
    if dice.one_in(8) {
        bytes::mutate(dice, out, &[], &(0..0));
    }
}
