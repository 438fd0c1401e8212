//! Guards against: graphs that depend on the number of threads, on timing, or not on the seed.

use crate::common::files;
use crate::support::{KINDS, config, generated, ignore};
use sar::prepare::generate::{FeatureDtype, GeneratorConfig, generate};

fn bytes(config: &GeneratorConfig, threads: usize) -> Vec<(String, Vec<u8>)> {
    let folder = tempfile::tempdir().unwrap();
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
    pool.install(|| generate(config, folder.path(), &mut ignore)).unwrap();
    files(folder.path())
}

#[test]
fn the_same_seed_gives_the_same_bytes_on_any_number_of_threads() {
    for kind in KINDS {
        // More than one batch of edges and more than one block of features.
        let config =
            GeneratorConfig { nodes: 40_000, edges: 600_001, features: 33, ..config(kind) };
        assert!(bytes(&config, 1) == bytes(&config, 3), "{kind:?}");
    }
}

#[test]
fn another_seed_gives_another_graph() {
    for kind in KINDS {
        let first = bytes(&config(kind), 1);
        let second = bytes(&GeneratorConfig { seed: 1 << 40, ..config(kind) }, 1);
        for name in ["part0/graph.dgl", "part0/node_feat.dgl"] {
            let of = |files: &[(String, Vec<u8>)]| {
                files.iter().find(|(file, _)| file == name).unwrap().1.clone()
            };
            assert!(of(&first) != of(&second), "{kind:?} {name}");
        }
    }
}

#[test]
fn half_precision_holds_the_nearest_values() {
    for kind in KINDS {
        let single = generated(&config(kind));
        let half = generated(&GeneratorConfig { feature_dtype: FeatureDtype::F16, ..config(kind) });
        let rounded: Vec<f32> =
            single.features.iter().map(|value| half::f16::from_f32(*value).to_f32()).collect();
        assert!(half.features == rounded && half.edges == single.edges);
    }
}
