//! All checks, over all partitions.

use super::{edges, features, nodes};
use crate::formats::dgl::arrays::torch_archive;
use crate::formats::dgl::config::PartitionConfig;
use crate::formats::dgl::partition::Partition;
use crate::words::error::{Error, Result};

/// Reads every structure file of a directory once or twice and checks it for consistency with itself, the JSON file and
/// the other partitions. Returns the findings: at most one of each kind per partition, none for a valid directory.
///
/// Memory: the halo nodes of one partition and two bits per edge of it. Of features, only finiteness is checked: DGL's
/// files have no checksums, so changed values are not detected.
pub fn verify(config: &PartitionConfig) -> Vec<Error> {
    let mut findings = Vec::new();
    let mut known = features::Known::default();
    for part in 0..config.parts().len() {
        match Partition::open(config, part) {
            Ok(partition) => {
                findings.extend(check(&partition).into_iter().filter_map(Result::err));
                findings.extend(known.compare(&partition));
                let sides = [partition.node_features(), partition.edge_features()];
                let values = sides.into_iter().flat_map(features::check_values);
                findings.extend(values.filter_map(Result::err));
            }
            Err(error) => findings.push(error),
        }
    }
    findings
}

fn check(partition: &Partition) -> Vec<Result<()>> {
    let topology = partition.topology();
    if topology.graph().is_graphbolt {
        // Report a damaged archive rather than its consequences.
        let checksums = torch_archive::verify_checksums(&topology.graph().path);
        if checksums.is_err() {
            return vec![checksums];
        }
    }
    let columns = edges::check_columns(topology);
    let ends = match &columns {
        Ok(inner) => edges::check_ends(topology, inner.as_ref()),
        Err(_) => Ok(()),
    };
    vec![nodes::check(topology), columns.map(|_| ()), ends, edges::check_types(topology)]
}
