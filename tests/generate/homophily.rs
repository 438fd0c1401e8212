//! Guards against: block models that partitions cut, R-MAT graphs without hubs, neighbours that do not share a class.

use crate::support::{KINDS, Whole, config, generated, ignore};
use sar::prepare::generate::{GeneratorConfig, GraphKind, generate};

fn degrees(graph: &Whole) -> Vec<usize> {
    let mut degrees = vec![0; graph.labels.len()];
    graph.edges.iter().for_each(|(_, dst)| degrees[*dst as usize] += 1);
    degrees.sort_unstable();
    degrees
}

fn cut_fraction(config: &GeneratorConfig) -> f64 {
    let folder = tempfile::tempdir().unwrap();
    let generated = generate(config, folder.path(), &mut ignore).unwrap();
    generated.cut_edges as f64 / config.edges as f64
}

#[test]
fn most_neighbours_share_a_class() {
    for kind in KINDS {
        let graph = generated(&config(kind));
        let class = |node: u64| graph.labels[node as usize];
        let same = graph.edges.iter().filter(|(src, dst)| class(*src) == class(*dst)).count();
        let share = same as f64 / graph.edges.len() as f64;
        assert!((0.7..0.9).contains(&share), "{kind:?}: {share}");
    }
}

#[test]
fn all_classes_are_about_as_large() {
    for kind in KINDS {
        let labels = generated(&config(kind)).labels;
        for class in 0..5 {
            let size = labels.iter().filter(|label| **label == class).count();
            assert!((350..450).contains(&size), "{kind:?}: class {class} has {size} nodes");
        }
    }
}

#[test]
fn consecutive_partitions_cut_few_edges_of_a_block_model_only() {
    let of = |kind, num_parts| {
        cut_fraction(&GeneratorConfig { nodes: 8000, edges: 80_000, num_parts, ..config(kind) })
    };
    assert!((0.06..0.10).contains(&of(GraphKind::Sbm, 4)));
    assert!((0.08..0.20).contains(&of(GraphKind::Sbm, 16)));
    assert!(of(GraphKind::Rmat, 4) > 0.7);
}

#[test]
fn degrees_are_even_in_a_block_model_and_skewed_in_rmat() {
    let even = degrees(&generated(&config(GraphKind::Sbm)));
    let skewed = degrees(&generated(&config(GraphKind::Rmat)));
    let mean = 10;
    assert!(even[0] > 0 && even[even.len() - 1] < 4 * mean);
    assert!(skewed[0] == 0 && skewed[skewed.len() - 1] > 20 * mean);
    let hubs: usize = skewed[skewed.len() * 9 / 10..].iter().sum();
    assert!(hubs > 20_000 / 2, "a tenth of the nodes has {hubs} of 20000 edges");
}

#[test]
fn hubs_are_anywhere_and_not_at_low_ids() {
    let graph = generated(&config(GraphKind::Rmat));
    let low = graph.edges.iter().filter(|(_, dst)| *dst < 1000).count();
    assert!((6_000..14_000).contains(&low), "{low} of 20000 edges lead to the lower half");
}
