//! Small tools for tests of generated graphs.

use std::path::Path;

use sar::formats::dgl::config::PartitionConfig;
use sar::formats::dgl::{InnerEdge, Partition};
use sar::prepare::generate::{FeatureDtype, GeneratorConfig, GraphKind, generate};
use sar::prepare::import::SplitShares;
use sar::prepare::partition::StepProgress;

pub(crate) const KINDS: [GraphKind; 2] = [GraphKind::Sbm, GraphKind::Rmat];

/// The command's split.
const SPLIT: SplitShares = SplitShares { train: 0.6, val: 0.2, test: 0.2 };

/// The command's defaults.
pub(crate) fn config(kind: GraphKind) -> GeneratorConfig {
    GeneratorConfig {
        kind,
        name: "g".to_owned(),
        nodes: 2000,
        edges: 20_000,
        features: 16,
        feature_dtype: FeatureDtype::F32,
        classes: 5,
        num_parts: 4,
        split: SPLIT,
        seed: 0,
    }
}

/// An observer that ignores progress.
#[allow(clippy::unnecessary_wraps)] // the type that callbacks have
pub(crate) fn ignore(_: StepProgress) -> sar::Result<()> {
    Ok(())
}

/// A graph assembled from its partitions.
#[derive(Debug, PartialEq)]
pub(crate) struct Whole {
    /// Source and destination by global id, sorted.
    pub(crate) edges: Vec<(u64, u64)>,
    /// Features, row by row.
    pub(crate) features: Vec<f32>,
    pub(crate) labels: Vec<i64>,
    /// Training, validation and test masks.
    pub(crate) masks: [Vec<i64>; 3],
}

/// Generates a graph and reads it back.
pub(crate) fn generated(config: &GeneratorConfig) -> Whole {
    let folder = tempfile::tempdir().unwrap();
    let generated = generate(config, folder.path(), &mut ignore).unwrap();
    whole(&generated.json)
}

pub(crate) fn whole(json: &Path) -> Whole {
    let config = PartitionConfig::open(json).unwrap();
    let masks = [Vec::new(), Vec::new(), Vec::new()];
    let mut all = Whole { edges: Vec::new(), features: Vec::new(), labels: Vec::new(), masks };
    for part in 0..config.parts().len() {
        let partition = Partition::open(&config, part).unwrap();
        let push = |edge: InnerEdge| {
            all.edges.push((edge.src, edge.dst));
            Ok(())
        };
        partition.each_edge(push).unwrap();
        let array = |name: &str| {
            let found = partition.node_features().lookup(name).unwrap();
            found[0].unwrap().array().clone()
        };
        let rows = 0..partition.num_inner_nodes();
        let integers = |name: &str| {
            let mut values = vec![0; rows.end as usize];
            array(name).read_i64(rows.clone(), &mut values).unwrap();
            values
        };
        let feat = array("feat");
        let mut values = vec![0.0; (rows.end * feat.row_len()) as usize];
        feat.read_f32(rows.clone(), &mut values).unwrap();
        all.features.extend(values);
        all.labels.extend(integers("label"));
        for (mask, name) in all.masks.iter_mut().zip(["train_mask", "val_mask", "test_mask"]) {
            mask.extend(integers(name));
        }
    }
    all.edges.sort_unstable();
    all
}
