//! Guards against: odd shapes (as many classes or partitions as nodes, numbers that are not powers of two, one feature,
//! partitions without edges, rows wider than a block) that are written wrongly or not at all.

use crate::support::{KINDS, config, ignore};
use sar::formats::dgl::config::PartitionConfig;
use sar::formats::dgl::verify;
use sar::prepare::generate::{GeneratorConfig, generate};

#[test]
fn every_shape_gives_a_directory_that_verifies() {
    // Nodes, edges, features, classes, partitions.
    let shapes = [
        [2, 1, 1, 1, 1],
        [2, 1, 1, 2, 2],
        [2, 1000, 3, 1, 2],
        [3, 5, 2, 3, 3],
        [7, 30, 5, 2, 3],
        [50, 500, 16, 5, 7],
        [129, 3, 130, 129, 129],
        [1025, 9000, 8, 1, 4],
        [3, 10, 400_000, 2, 1],
        [4000, 70_000, 1, 300, 5],
    ];
    for kind in KINDS {
        for [nodes, edges, features, classes, num_parts] in shapes {
            let usual = config(kind);
            let config = GeneratorConfig {
                nodes,
                edges,
                features,
                classes,
                num_parts,
                seed: nodes,
                ..usual
            };
            let folder = tempfile::tempdir().unwrap();
            let generated = generate(&config, folder.path(), &mut ignore).unwrap();
            let opened = PartitionConfig::open(&generated.json).unwrap();
            assert_eq!((opened.book().num_nodes(), opened.book().num_edges()), (nodes, edges));
            assert_eq!(opened.book().num_parts() as u64, num_parts);
            let findings = verify(&opened);
            assert!(findings.is_empty(), "{config:?}: {findings:?}");
            assert!(generated.cut_edges <= edges && generated.bytes > 0, "{generated:?}");
        }
    }
}

#[test]
fn progress_runs_up_to_the_total_of_each_step() {
    let folder = tempfile::tempdir().unwrap();
    let mut steps = Vec::new();
    generate(&config(KINDS[0]), folder.path(), &mut |progress| {
        assert!(progress.done <= progress.total, "{progress:?}");
        if steps.last() != Some(&progress.step) {
            steps.push(progress.step);
        }
        Ok(())
    })
    .unwrap();
    assert_eq!(steps.len(), 3, "{steps:?}");
}
