//! Files that assign a partition to each node.

use std::path::Path;

use super::text::{Lines, parse_id, shown};
use crate::error::{Error, Result};

/// Appends the partition of each of `count` nodes, one per line of the file, to `assigned`.
///
/// # Errors
/// If the file cannot be read, a line is not a partition, or there are more or fewer lines than nodes.
pub fn read_assignment(
    path: &Path,
    count: u64,
    num_parts: usize,
    assigned: &mut Vec<u16>,
) -> Result<()> {
    let mut lines = Lines::open(path)?;
    let mut found = 0;
    while lines.advance()? {
        found += 1;
        let part = parse_id(lines.text()).filter(|&part| part < num_parts as u64);
        let part = part.ok_or_else(|| {
            let problem =
                format!("{} is not one of the {num_parts} partitions", shown(lines.text()));
            lines.fail(problem).with_hint("partitions are counted from 0")
        })?;
        if found > count {
            return Err(lines.fail(format!("there are only {count} nodes")));
        }
        assigned.push(part as u16);
    }
    if found < count {
        let problem = format!("assigns {found} nodes, but there are {count}");
        return Err(Error::input(path, "", problem));
    }
    Ok(())
}
