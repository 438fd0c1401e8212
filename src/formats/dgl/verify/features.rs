//! Checks that features are the same in every partition, and finite.

use crate::formats::dgl::blocks;
use crate::formats::dgl::feature::Feature;
use crate::formats::dgl::feature_set::FeatureSet;
use crate::formats::dgl::partition::Partition;
use crate::io::Dtype;
use crate::words::error::{Error, Result};
use std::collections::BTreeMap;

/// The row type and shape of each feature, by type and name. Without rows it has none: DGL's pipeline writes arrays without
/// rows in another form.
type Rows = BTreeMap<(usize, String), Option<(Dtype, Vec<u64>)>>;

/// The features of the partitions seen so far.
#[derive(Default)]
pub(super) struct Known {
    nodes: Option<Rows>,
    edges: Option<Rows>,
}

impl Known {
    /// Differences between this partition's features and those of the first one.
    pub(super) fn compare(&mut self, partition: &Partition) -> Vec<Error> {
        let sides = [
            (&mut self.nodes, partition.node_features()),
            (&mut self.edges, partition.edge_features()),
        ];
        sides.into_iter().flat_map(|(known, set)| compare(known, set)).collect()
    }
}

/// Non-finite values of features that must be finite. (NaN in labels means that a node has none.)
pub(super) fn check_values(set: &FeatureSet) -> Vec<Result<()>> {
    set.features().iter().filter(|f| !f.name().contains("label")).map(check_array).collect()
}

fn check_array(feature: &Feature) -> Result<()> {
    let array = feature.array();
    if array.dtype().is_integer() {
        return Ok(());
    }
    let mut values = Vec::new();
    for rows in blocks::wide_ranges(array.num_rows(), array.row_len()) {
        values.resize(((rows.end - rows.start) * array.row_len()) as usize, 0.0);
        array.read_finite_f64(rows, &mut values)?;
    }
    Ok(())
}

fn compare(known: &mut Option<Rows>, set: &FeatureSet) -> Vec<Error> {
    let rows = |f: &Feature| {
        let array = f.array();
        (array.num_rows() > 0).then(|| (array.dtype(), array.row_shape().to_vec()))
    };
    let here: Rows =
        set.features().iter().map(|f| ((f.ty(), f.name().to_owned()), rows(f))).collect();
    let Some(known) = known else {
        *known = Some(here);
        return Vec::new();
    };
    let mut findings = Vec::new();
    for (key, due) in known.iter_mut() {
        match here.get(key) {
            Some(found) if found.is_none() || found == due => {}
            Some(found) if due.is_none() => due.clone_from(found),
            _ => {
                let due = due.as_ref().map(|(dtype, shape)| format!(" ({dtype} {shape:?})"));
                let due = due.unwrap_or_default();
                let problem = format!("does not have the rows{due} of the partitions before");
                findings.push(Error::input(set.path(), &key.1, problem));
            }
        }
    }
    for ((_, name), _) in here.iter().filter(|(key, _)| !known.contains_key(*key)) {
        findings.push(Error::input(set.path(), name, "is not in partition 0"));
    }
    findings
}
