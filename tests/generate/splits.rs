//! Guards against: nodes that train and test at once, splits of a wrong size, splits that follow the order of nodes.

use crate::support::{KINDS, config, generated};
use sar::prepare::generate::GeneratorConfig;
use sar::prepare::import::SplitShares;

#[test]
fn three_fifths_train_and_a_fifth_each_validates_and_tests() {
    for kind in KINDS {
        for nodes in [5, 50, 1003] {
            let graph = generated(&GeneratorConfig { nodes, edges: 100, ..config(kind) });
            let sizes = graph.masks.each_ref().map(|mask| mask.iter().sum::<i64>() as u64);
            let (train, validation) = (nodes * 3 / 5, nodes * 4 / 5 - nodes * 3 / 5);
            assert_eq!(sizes, [train, validation, nodes - train - validation]);
            for node in 0..nodes as usize {
                assert_eq!(
                    graph.masks.iter().map(|mask| mask[node]).sum::<i64>(),
                    1,
                    "node {node}"
                );
            }
        }
    }
}

#[test]
fn shares_may_leave_nodes_without_labels() {
    let split = SplitShares { train: 0.011, val: 0.001, test: 0.0025 };
    let graph = generated(&GeneratorConfig { split, ..config(KINDS[0]) });
    let sizes = graph.masks.each_ref().map(|mask| mask.iter().sum::<i64>());
    assert_eq!(sizes, [22, 2, 5]);
    assert_eq!(graph.edges, generated(&config(KINDS[0])).edges);
}

#[test]
fn every_partition_has_its_share_of_each_split() {
    let graph = generated(&config(KINDS[0]));
    for (mask, share) in graph.masks.iter().zip([0.6, 0.2, 0.2]) {
        for part in mask.chunks(500) {
            let found = part.iter().sum::<i64>() as f64 / part.len() as f64;
            assert!((found - share).abs() < 0.08, "{found} where {share} is due");
        }
    }
}
