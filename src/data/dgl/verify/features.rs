//! Features are the same in every partition.

use crate::data::dgl::feature::Feature;
use crate::data::dgl::feature_set::FeatureSet;
use crate::data::dgl::partition::Partition;
use crate::error::Error;
use crate::io::Dtype;
use std::collections::BTreeMap;

/// Type and name of a feature, to what its rows are.
type Rows = BTreeMap<(usize, String), (Dtype, Vec<u64>)>;

/// The features of the partitions met so far.
#[derive(Default)]
pub(super) struct Known {
    nodes: Option<Rows>,
    edges: Option<Rows>,
}

impl Known {
    /// What differs in this partition from the first one.
    pub(super) fn compare(&mut self, partition: &Partition) -> Vec<Error> {
        let sides = [
            (&mut self.nodes, partition.node_features()),
            (&mut self.edges, partition.edge_features()),
        ];
        sides.into_iter().flat_map(|(known, set)| compare(known, set)).collect()
    }
}

fn compare(known: &mut Option<Rows>, set: &FeatureSet) -> Vec<Error> {
    let rows = |f: &Feature| (f.array().dtype(), f.array().row_shape().to_vec());
    let here: Rows =
        set.features().iter().map(|f| ((f.ty(), f.name().to_owned()), rows(f))).collect();
    let Some(known) = known else {
        *known = Some(here);
        return Vec::new();
    };
    let mut findings = Vec::new();
    for ((_, name), (dtype, shape)) in
        known.iter().filter(|(key, rows)| here.get(*key) != Some(*rows))
    {
        let problem = format!("has not the rows ({dtype} {shape:?}) that it has in partition 0");
        findings.push(Error::input(set.path(), name, problem));
    }
    for ((_, name), _) in here.iter().filter(|(key, _)| !known.contains_key(*key)) {
        findings.push(Error::input(set.path(), name, "is not in partition 0"));
    }
    findings
}
