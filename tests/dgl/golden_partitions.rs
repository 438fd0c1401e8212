//! Guards against: any fact of a real partitioning that is read differently from DGL's own report.

use crate::common;
use crate::manifest::{numbers, texts};
use crate::support::inner_edges;
use sar::formats::dgl::config::PartitionConfig;
use sar::formats::dgl::graph_file::GraphFile;
use sar::formats::dgl::{ArrayRef, FeatureSet, Partition, verify};
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::PathBuf;

/// Every partition folder of the golden data: its JSON file and DGL's own facts.
fn folders() -> Vec<(PathBuf, Value)> {
    let Some(root) = common::shared("golden") else { return Vec::new() };
    let mut found = Vec::new();
    for graph in ["karate", "randdir", "cora", "hetero"] {
        for folder in std::fs::read_dir(root.join(graph)).unwrap() {
            let folder = folder.unwrap().path();
            let Ok(facts) = std::fs::read(folder.join("inspect.json")) else { continue };
            found.push((
                folder.join(format!("{graph}.json")),
                serde_json::from_slice(&facts).unwrap(),
            ));
        }
    }
    assert!(found.len() >= 8, "only {} golden partition folders", found.len());
    found
}

#[test]
fn totals_types_and_ranges_are_those_of_dgl() {
    for (path, facts) in folders() {
        let what = path.display();
        let config = PartitionConfig::open(&path).unwrap();
        let book = config.book();
        assert_eq!(book.num_parts() as u64, facts["num_parts"].as_u64().unwrap(), "{what}");
        assert_eq!(book.num_nodes(), facts["num_nodes"].as_u64().unwrap(), "{what}");
        assert_eq!(book.num_edges(), facts["num_edges"].as_u64().unwrap(), "{what}");
        assert_eq!(book.ntypes(), texts(&facts["ntypes"]), "{what}");
        let etypes = facts["canonical_etypes"].as_array().unwrap();
        let etypes: Vec<String> = etypes.iter().map(|triple| texts(triple).join(":")).collect();
        let found: Vec<String> = book.etypes().iter().map(ToString::to_string).collect();
        assert_eq!(found, etypes, "{what}");
        for part in 0..book.num_parts() {
            for (id, name) in book.ntypes().iter().enumerate() {
                let range = numbers(&facts["node_map"][name][part]);
                assert_eq!(book.node_type_range(part, id), range[0]..range[1], "{what}");
            }
            for (id, name) in found.iter().enumerate() {
                let range = numbers(&facts["edge_map"][name][part]);
                assert_eq!(book.edge_type_range(part, id), range[0]..range[1], "{what}");
            }
        }
    }
}

#[test]
fn counts_types_and_shapes_are_those_of_dgl() {
    for (path, facts) in folders() {
        let config = PartitionConfig::open(&path).unwrap();
        for (part, facts) in facts["parts"].as_array().unwrap().iter().enumerate() {
            let what = format!("{} partition {part}", path.display());
            let partition = Partition::open(&config, part).unwrap();
            let (inner, halo) = (partition.num_inner_nodes(), partition.num_halo_nodes());
            assert_eq!(inner, facts["inner_nodes"].as_u64().unwrap(), "{what}");
            assert_eq!(inner + halo, facts["num_nodes"].as_u64().unwrap(), "{what}");
            let (inner, halo) = (partition.num_inner_edges(), partition.num_halo_edges());
            assert_eq!(inner, facts["inner_edges"].as_u64().unwrap(), "{what}");
            assert_eq!(inner + halo, facts["num_edges"].as_u64().unwrap(), "{what}");
            let tensors = &facts["tensors"];
            assert_features(partition.node_features(), &tensors["node_feat"], &what);
            assert_features(partition.edge_features(), &tensors["edge_feat"], &what);
            let file = GraphFile::open(config.parts()[part].graph.as_ref().unwrap()).unwrap();
            let graph = &file.graphs()[0];
            for (frame, key) in
                [(&graph.node_frames[0], "graph.ndata"), (&graph.edge_frames[0], "graph.edata")]
            {
                let facts = tensors[key].as_object().unwrap();
                assert_eq!(frame.columns().len(), facts.len(), "{what}");
                for (name, column) in frame.columns() {
                    assert_shape(column, &facts[name], &what);
                }
            }
        }
    }
}

fn assert_features(set: &FeatureSet, facts: &Value, what: &str) {
    let facts = facts.as_object().unwrap();
    assert_eq!(set.features().len(), facts.len(), "{what}");
    for feature in set.features() {
        assert_shape(feature.array(), &facts[feature.key()], what);
    }
}

fn assert_shape(array: &ArrayRef, facts: &Value, what: &str) {
    assert_eq!(array.dtype().name(), facts["dtype"].as_str().unwrap(), "{what} {}", array.name());
    assert_eq!(array.shape(), numbers(&facts["shape"]), "{what} {}", array.name());
}

#[test]
fn edges_between_each_pair_of_partitions_are_those_that_sar_finds() {
    for (path, facts) in folders() {
        let config = PartitionConfig::open(&path).unwrap();
        let mut cut = 0;
        for (rank, view) in facts["sar_view"].as_array().unwrap().iter().enumerate() {
            let edges = inner_edges(&Partition::open(&config, rank).unwrap(), 64).unwrap();
            for shard in view["shards"].as_array().unwrap() {
                let source = shard["src_part"].as_u64().unwrap() as usize;
                let owned = config.book().node_range(source);
                let edges = edges.iter().filter(|edge| owned.contains(&edge.src));
                let src: BTreeSet<u64> = edges.clone().map(|edge| edge.src).collect();
                let dst: BTreeSet<u64> = edges.clone().map(|edge| edge.dst).collect();
                let found = [
                    ("edges", edges.clone().count() as u64),
                    ("unique_src", src.len() as u64),
                    ("unique_tgt", dst.len() as u64),
                    ("sum_src", edges.clone().map(|edge| edge.src).sum()),
                    ("sum_tgt", edges.clone().map(|edge| edge.dst).sum()),
                ];
                for (name, value) in found {
                    let due = shard[name].as_u64().unwrap();
                    assert_eq!(value, due, "{} {source} -> {rank}: {name}", path.display());
                }
                cut += if source == rank { 0 } else { edges.count() as u64 };
            }
        }
        assert_eq!(cut, facts["cut_edges"].as_u64().unwrap(), "{}", path.display());
    }
}

#[test]
fn the_full_check_finds_nothing_in_real_partitions() {
    for (path, _) in folders() {
        let findings = verify(&PartitionConfig::open(&path).unwrap());
        assert!(findings.is_empty(), "{}: {findings:?}", path.display());
    }
}
