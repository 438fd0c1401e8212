//! Files that assign each node a partition.

use std::path::Path;

use crate::prepare::import::readers::{Ask, CellValue, FileRows, Wants};
use crate::words::error::{Error, Result};

/// Appends to `assigned` the partition of each of `count` nodes, one row of the file per node.
///
/// # Errors
/// If the file cannot be read, a row is not a partition, or the number of rows differs from `count`.
pub fn read_assignment(
    path: &Path,
    count: u64,
    num_parts: usize,
    assigned: &mut Vec<u16>,
) -> Result<()> {
    let mut rows = FileRows::open_list(path, &Ask::new(Wants::List, &std::env::temp_dir()))?;
    let mut found = 0;
    while rows.advance()? {
        found += 1;
        let part = match rows.value(0).parsed() {
            CellValue::Whole(part) => usize::try_from(part).ok().filter(|part| *part < num_parts),
            _ => None,
        };
        let part = part.ok_or_else(|| {
            let value = rows.value(0).shown();
            let problem = format!("{value} is not one of the {num_parts} partitions");
            rows.fail(problem).with_hint("partitions are counted from 0")
        })?;
        if found > count {
            return Err(rows.fail(format!("there are only {count} nodes")));
        }
        assigned.push(part as u16);
    }
    if found < count {
        let problem = format!("assigns {found} nodes, but there are {count}");
        return Err(Error::input(path, "", problem));
    }
    Ok(())
}
