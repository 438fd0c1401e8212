//! Guards against: a wrong number of edges, self loops, edges without their reverse.

use crate::support::{KINDS, config, generated};
use sar::prepare::generate::GeneratorConfig;

#[test]
fn there_are_exactly_as_many_edges_as_asked_for_and_each_has_its_reverse() {
    for kind in KINDS {
        for edges in [1, 2, 4999, 20_000] {
            let found = generated(&GeneratorConfig { edges, ..config(kind) }).edges;
            assert_eq!(found.len() as u64, edges, "{kind:?}");
            assert!(found.iter().all(|(src, dst)| src != dst), "{kind:?}: a self loop");
            let mut reversed: Vec<_> = found.iter().map(|&(src, dst)| (dst, src)).collect();
            reversed.sort_unstable();
            let differ = found.iter().filter(|edge| reversed.binary_search(edge).is_err()).count();
            assert!(differ as u64 <= edges % 2, "{kind:?}: {differ} of {edges} without reverse");
            assert!(found == reversed || edges % 2 == 1, "{kind:?}: {edges} edges");
        }
    }
}
