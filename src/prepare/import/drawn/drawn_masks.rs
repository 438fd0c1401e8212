//! Masks of a split by shares.

use std::path::Path;

use super::part_ends::PartEnds;
use super::split_rows::DividedRows;
use crate::formats::dgl::array_file::ArrayFile;
use crate::io::Dtype;
use crate::load::MASKS;
use crate::platform::signals;
use crate::prepare::import::files::{DrawnSplit, SplitShares};
use crate::prepare::import::tables::Table;
use crate::words::error::Result;

/// Masks by name, for each type whose nodes or edges are split together.
pub(crate) struct DrawnMasks {
    pub(crate) tables: Vec<Vec<(String, Table)>>,
    /// Number of rows in each mask, and in no mask.
    counts: [u64; MASKS.len()],
    others: u64,
}

impl DrawnMasks {
    /// Divides the rows of all types together. Masks take their space in `folder`.
    pub(crate) fn make(
        types: &[DividedRows<'_>],
        split: &DrawnSplit,
        folder: &Path,
    ) -> Result<Self> {
        let mut keys = |take: &mut dyn FnMut(Option<u64>) -> Result<()>| {
            signals::check()?;
            types.iter().try_for_each(|rows| rows.keys(take))
        };
        let ends = PartEnds::find(&mut keys, split.shares)?;
        let SplitShares { train, val, test } = split.shares;
        let shares = [train, val, test];
        let mut masks = DrawnMasks { tables: Vec::new(), counts: [0; MASKS.len()], others: 0 };
        for rows in types {
            let mut files =
                MASKS.iter().map(|_| ArrayFile::create(folder)).collect::<Result<Vec<_>>>()?;
            rows.keys(&mut |key| {
                let part = key.and_then(|key| ends.part(key));
                match part {
                    Some(part) => masks.counts[part] += 1,
                    None => masks.others += 1,
                }
                let mut files = files.iter_mut().enumerate();
                files.try_for_each(|(at, file)| file.write(&[u8::from(part == Some(at))]))
            })?;
            let mut tables = Vec::new();
            for ((name, file), share) in MASKS.iter().zip(files).zip(shares) {
                if share > 0.0 {
                    let array = file.finish(folder, Dtype::U8, vec![rows.count])?;
                    tables.push(((*name).to_owned(), Table::new(vec![array])?));
                }
            }
            masks.tables.push(tables);
        }
        let mut parts = MASKS.iter().zip(masks.counts).zip(shares);
        match parts.find(|((_, count), share)| *count == 0 && *share > 0.0) {
            None => Ok(masks),
            Some(((name, _), _)) => {
                let hint = match split.column() {
                    Some(column) => format!(
                        "equal values of {column} stay together; give other shares: ‹split_by={column}:TRAIN,VAL,TEST›"
                    ),
                    None => "give it a larger share".to_owned(),
                };
                Err(split.fail(format!("leaves {name} empty")).with_hint(hint))
            }
        }
    }

    /// A note on the sizes of the masks; `what` is split.
    pub(crate) fn note(&self, split: &DrawnSplit, what: &str) -> String {
        let sizes = MASKS.iter().zip(self.counts).filter(|(_, count)| *count > 0);
        let sizes: Vec<String> = sizes.map(|(name, count)| format!("{name} has {count}")).collect();
        let order = split.column().map_or("at random".to_owned(), |column| format!("by {column}"));
        let others = match self.others {
            0 => String::new(),
            count => format!("; {count} are in none"),
        };
        format!("{what} are split {order}: {}{others}", sizes.join(", "))
    }
}
