//! Guards against: partitions that are no better than random ones where a graph has communities.

use sar::prepare::generate::{FeatureDtype, GeneratorConfig, GraphKind, generate};
use sar::prepare::import::{ImportSource, SplitShares};
use sar::prepare::partition::{Method, PartitionRequest, partition_graph};

use super::support::request;

#[test]
fn streaming_finds_communities_that_metis_finds() {
    let folder = tempfile::tempdir().unwrap();
    let config = GeneratorConfig {
        kind: GraphKind::Sbm,
        name: "g".to_owned(),
        nodes: 80_000,
        edges: 800_000,
        features: 1,
        feature_dtype: FeatureDtype::F32,
        classes: 16,
        num_parts: 1,
        split: SplitShares::USUAL,
        seed: 3,
    };
    let made = generate(&config, &folder.path().join("graph"), &mut |_| Ok(())).unwrap();
    let cut = |name: &str, method: Method| {
        let request = PartitionRequest { method, ..request(8) };
        let source = ImportSource::Partitions(made.json.clone());
        let done = partition_graph(&source, &request, &folder.path().join(name), &mut |_| Ok(()));
        done.unwrap().report.cut_edges()
    };
    let (stream, metis) = (cut("s", Method::Stream), cut("m", Method::Metis));
    let random = cut("r", Method::Random);
    assert!(stream as f64 <= 1.3 * metis as f64, "stream cuts {stream} edges, METIS {metis}");
    assert!(stream < random / 2, "stream cuts {stream} edges, random {random}");
}
