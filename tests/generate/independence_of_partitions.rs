//! Guards against: comparing runs on different numbers of partitions that did not run on the same graph.

use crate::support::{KINDS, config, generated};
use sar::prepare::generate::GeneratorConfig;

#[test]
fn the_graph_is_the_same_for_every_number_of_partitions() {
    for kind in KINDS {
        let of = |num_parts| {
            generated(&GeneratorConfig { nodes: 1001, edges: 7001, num_parts, ..config(kind) })
        };
        let one = of(1);
        for num_parts in [2, 3, 16, 100] {
            assert!(of(num_parts) == one, "{kind:?} in {num_parts} partitions");
        }
    }
}
