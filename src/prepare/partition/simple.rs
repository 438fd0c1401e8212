//! Assignments that ignore edges.

use std::path::PathBuf;

use super::partitioner::PartitionTask;
use crate::kernels::philox4x32;
use crate::prepare::import::{nearest, read_assignment};
use crate::words::error::{Error, Result};

/// Random assignment: the partition is a pure function of seed and node, each partition equally likely.
pub(super) fn random_parts(task: &PartitionTask<'_>) -> Vec<u16> {
    let key = [task.seed as u32, (task.seed >> 32) as u32];
    let parts = task.num_parts as u64;
    let part = |node: u64| {
        let [random, ..] = philox4x32([node as u32, (node >> 32) as u32, 0, 0], key);
        ((u64::from(random) * parts) >> 32) as u16
    };
    (0..task.graph.num_nodes()).map(part).collect()
}

/// Assigns consecutive nodes of each type, equally many per partition.
pub(super) fn range_parts(task: &PartitionTask<'_>) -> Vec<u16> {
    let mut assigned = Vec::with_capacity(task.graph.num_nodes() as usize);
    for ntype in &task.graph.ntypes {
        let (count, parts) = (u128::from(ntype.count), task.num_parts as u128);
        // The last partition that begins at or before the node.
        assigned.extend((0..count).map(|node| (((node + 1) * parts - 1) / count) as u16));
    }
    assigned
}

/// Assigns nodes as files say: one partition per line, the format of METIS, KaHIP and HeiStream.
pub(super) fn file_parts(
    files: &[(String, PathBuf)],
    task: &PartitionTask<'_>,
) -> Result<Vec<u16>> {
    let types = || task.graph.ntypes.iter().map(|ntype| ntype.name.as_str());
    if let Some((ty, _)) = files.iter().find(|(ty, _)| types().all(|known| known != ty)) {
        let problem = format!("the graph has no nodes of type {ty}");
        let error = Error::config("assignment", problem);
        return Err(match nearest(ty, types()) {
            Some(near) => error.with_hint(format!("did you mean {near}?")),
            None => error,
        });
    }
    let mut assigned = Vec::with_capacity(task.graph.num_nodes() as usize);
    for ntype in &task.graph.ntypes {
        let Some((_, path)) = files.iter().find(|(ty, _)| *ty == ntype.name) else {
            let problem = format!("the nodes of type {} are not assigned", ntype.name);
            return Err(Error::config("assignment", problem)
                .with_hint(format!("pass ‹assignment={}=FILE›", ntype.name)));
        };
        read_assignment(path, ntype.count, task.num_parts, &mut assigned)?;
    }
    Ok(assigned)
}
