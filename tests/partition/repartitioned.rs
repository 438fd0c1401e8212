//! Guards against: a graph that changes, or forgets its nodes' original ids, when a partition directory is cut again.

use std::collections::BTreeMap;
use std::path::Path;

use sar::formats::dgl::config::PartitionConfig;
use sar::formats::dgl::{InnerEdge, Partition, verify};
use sar::load::original_places;
use sar::prepare::import::ImportSource;
use sar::prepare::partition::partition_graph;

use super::common::repository;
use super::support::{edges, lines, partition, request, scattered, write};

/// Edges between original nodes, with their multiplicities, and features by original node.
pub(crate) type Whole = (BTreeMap<(u64, u64), u64>, BTreeMap<u64, Vec<u8>>);

pub(crate) fn whole(json: &Path) -> Whole {
    let config = PartitionConfig::open(json).unwrap();
    assert!(verify(&config).is_empty());
    let parts = 0..config.parts().len();
    let partitions: Vec<Partition> =
        parts.map(|part| Partition::open(&config, part).unwrap()).collect();
    let originals: Vec<u64> =
        partitions.iter().flat_map(|partition| original_places(partition).unwrap()).collect();
    let (mut found, mut features) = (BTreeMap::new(), BTreeMap::new());
    for partition in &partitions {
        let count = |edge: InnerEdge| {
            let ends = (originals[edge.src as usize], originals[edge.dst as usize]);
            *found.entry(ends).or_default() += 1;
            Ok(())
        };
        partition.each_edge(count).unwrap();
        for feature in partition.node_features().features() {
            let first = config.book().node_type_range(partition.part(), feature.ty()).start;
            let array = feature.array();
            let mut row = vec![0; array.row_len() as usize * array.dtype().size()];
            for at in 0..array.num_rows() {
                array.read_rows(at..at + 1, &mut row).unwrap();
                let all: &mut Vec<u8> =
                    features.entry(originals[(first + at) as usize]).or_default();
                all.extend(&row);
            }
        }
    }
    (found, features)
}

#[test]
fn a_graph_that_is_cut_twice_is_the_same_graph() {
    let folder = tempfile::tempdir().unwrap();
    let path = write(folder.path(), "e.txt", &scattered(500, 4000));
    let data = lines((0..500).map(|node| format!("{node},{}", node * node)));
    let data = write(folder.path(), "x.csv", &data);
    let mut files = edges(&path);
    let data = format!("x={}", data.display());
    files.node_data = vec![sar::prepare::import::GraphFiles::parse_node_data("", &data).unwrap()];
    let first = partition(files, &request(3), &folder.path().join("first")).unwrap();
    let again = ImportSource::Partitions(first.json.clone());
    let second =
        partition_graph(&again, &request(5), &folder.path().join("second"), &mut |_| Ok(()));
    let second = second.unwrap();
    assert_eq!(PartitionConfig::open(&second.json).unwrap().parts().len(), 5);
    let (first, second) = (whole(&first.json), whole(&second.json));
    assert_eq!(first.0.values().sum::<u64>(), 4000);
    assert_eq!(first, second);
    assert_eq!(second.1[&7][..8], 7i64.to_le_bytes());
}

#[test]
fn a_directory_of_dgl_can_be_cut_again() {
    let folder = tempfile::tempdir().unwrap();
    let json = repository("data/karate/karate.json");
    let source = ImportSource::Partitions(json.clone());
    let done = partition_graph(&source, &request(3), folder.path(), &mut |_| Ok(())).unwrap();
    let due = PartitionConfig::open(&json).unwrap();
    assert_eq!((done.nodes, done.edges), (due.book().num_nodes(), due.book().num_edges()));
    let (edges, features) = whole(&done.json);
    assert_eq!(edges.values().sum::<u64>(), done.edges);
    assert_eq!(features.len() as u64, done.nodes);
}

#[test]
fn a_heterogeneous_directory_keeps_its_types() {
    let folder = tempfile::tempdir().unwrap();
    let json = repository("tests/fixtures/hetero/g.json");
    let due = PartitionConfig::open(&json).unwrap();
    let source = ImportSource::Partitions(json);
    let done = partition_graph(&source, &request(2), folder.path(), &mut |_| Ok(())).unwrap();
    let config = PartitionConfig::open(&done.json).unwrap();
    assert!(verify(&config).is_empty());
    let (book, due) = (config.book(), due.book());
    assert_eq!((book.ntypes(), book.etypes()), (due.ntypes(), due.etypes()));
    for etype in 0..book.etypes().len() {
        assert_eq!(book.num_edges_of_type(etype), due.num_edges_of_type(etype));
    }
}
