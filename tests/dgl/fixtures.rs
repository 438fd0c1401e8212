//! Guards against: readers that only work with the sample data next to the repository. The same edges must come out of every
//! encoding, and features must belong to them.

use crate::common::repository;
use crate::support::{InnerEdge, copy_folder, inner_edges};
use sar::formats::dgl::config::PartitionConfig;
use sar::formats::dgl::{Feature, Partition, verify};
use std::collections::{BTreeMap, BTreeSet};

fn open(json: &str) -> (PartitionConfig, Vec<Partition>) {
    let config = PartitionConfig::open(&repository(json)).unwrap();
    let parts = (0..config.parts().len()).map(|part| Partition::open(&config, part).unwrap());
    let parts = parts.collect();
    (config, parts)
}

fn values(feature: &Feature) -> Vec<Vec<f64>> {
    let (rows, width) = (feature.array().num_rows(), feature.array().row_len() as usize);
    let mut out = vec![0.0; rows as usize * width];
    feature.array().read_f64(0..rows, &mut out).unwrap();
    out.chunks(width).map(<[f64]>::to_vec).collect()
}

#[test]
fn the_karate_club_is_whole() {
    let (config, parts) = open("data/karate/karate.json");
    assert!(verify(&config).is_empty());
    let mut member = vec![0; 34];
    for partition in &parts {
        let features = values(partition.node_features().lookup("features").unwrap()[0].unwrap());
        for (node, row) in config.book().node_range(partition.part()).zip(features) {
            member[node as usize] = row.iter().position(|&value| value > 0.5).unwrap();
        }
    }
    let mut weights = BTreeMap::new();
    for partition in &parts {
        let rows = values(partition.edge_features().lookup("weight").unwrap()[0].unwrap());
        for edge in inner_edges(partition, 16).unwrap() {
            let ends = (member[edge.src as usize], member[edge.dst as usize]);
            assert!(weights.insert(ends, rows[edge.row as usize][0] as u64).is_none());
        }
    }
    assert_eq!(weights.len(), 2 * 78 + 34);
    for (&(src, dst), weight) in &weights {
        assert_eq!(weights[&(dst, src)], *weight, "tie {src}-{dst} has two strengths");
    }
    // Mr. Hi is member 0, the officer member 33.
    let ties = |of: usize| weights.keys().filter(|ends| ends.0 == of).count() - 1;
    assert_eq!((ties(0), ties(33)), (16, 17));
    assert_eq!((weights[&(0, 1)], weights[&(32, 33)], weights[&(5, 5)]), (4, 5, 1));
}

#[test]
fn masks_of_the_karate_club_share_its_members_out() {
    let (_, parts) = open("data/karate/karate.json");
    let mut counts = BTreeMap::new();
    for partition in &parts {
        let features = partition.node_features();
        let labels = values(features.lookup("labels").unwrap()[0].unwrap());
        for mask in ["train_mask", "val_mask", "test_mask"] {
            let mask_values = values(features.lookup(mask).unwrap()[0].unwrap());
            for (label, chosen) in labels.iter().zip(mask_values) {
                *counts.entry((mask, label[0] as u64)).or_insert(0) += chosen[0] as u64;
            }
        }
    }
    for side in [0, 1] {
        assert_eq!((counts[&("train_mask", side)], counts[&("val_mask", side)]), (5, 4));
        assert_eq!(counts[&("test_mask", side)], 17 - 9);
    }
}

/// Edges of a directory by id, with the value of their feature `w`.
fn edges_and_weights(json: &str) -> BTreeMap<u64, (InnerEdge, u64)> {
    let (config, parts) = open(json);
    assert!(verify(&config).is_empty(), "{json}: {:?}", verify(&config));
    let mut found = BTreeMap::new();
    for partition in &parts {
        let features = partition.edge_features().lookup("w").unwrap();
        let rows: Vec<_> = features.into_iter().map(|f| values(f.unwrap())).collect();
        for edge in inner_edges(partition, 5).unwrap() {
            let weight = rows[edge.etype][edge.row as usize][0] as u64;
            // Rows follow the file, not the graph.
            let edge_without_row = InnerEdge { row: 0, ..edge };
            assert!(found.insert(edge.id, (edge_without_row, weight)).is_none());
        }
    }
    assert_eq!(found.len() as u64, config.book().num_edges(), "{json}");
    found
}

#[test]
fn every_encoding_of_a_heterogeneous_graph_gives_the_same_edges() {
    let coo = edges_and_weights("tests/fixtures/hetero/g.json");
    assert_eq!(edges_and_weights("tests/fixtures/hetero_csr/g.json"), coo);
    assert_eq!(edges_and_weights("tests/fixtures/hetero_scattered/g.json"), coo);
    // w counts the edges of each type in the original graph.
    for etype in 0..3 {
        let weights: BTreeSet<u64> =
            coo.values().filter(|(edge, _)| edge.etype == etype).map(|(_, w)| *w).collect();
        assert_eq!(weights, (0..weights.len() as u64).collect::<BTreeSet<_>>());
    }
}

#[test]
fn node_features_of_each_type_belong_to_their_nodes() {
    let (config, parts) = open("tests/fixtures/hetero/g.json");
    for partition in &parts {
        let features = partition.node_features().lookup("feat").unwrap();
        for (ntype, feature) in features.into_iter().enumerate() {
            // Nodes were dealt out by turns in homogeneous order: 6 authors, then 9 papers.
            let ids = (0..).map(|id| id + 6 * u64::from(ntype == 1));
            let due = ids.take(if ntype == 0 { 6 } else { 9 });
            let due = due.filter(|id| id % 2 == partition.part() as u64);
            let due: Vec<f64> =
                due.map(|id| 2.0 * (id - 6 * u64::from(ntype == 1)) as f64).collect();
            let firsts: Vec<f64> = values(feature.unwrap()).iter().map(|row| row[0]).collect();
            assert_eq!(firsts, due, "{}", config.book().ntypes()[ntype]);
        }
    }
}

#[test]
fn graphbolts_file_gives_the_edges_of_graph_dgl() {
    let both = edges_and_weights("tests/fixtures/graphbolt/g.json");
    let folder = tempfile::tempdir().unwrap();
    copy_folder(&repository("tests/fixtures/graphbolt"), folder.path());
    for part in 0..2 {
        std::fs::remove_file(folder.path().join(format!("part{part}/graph.dgl"))).unwrap();
    }
    let alone = edges_and_weights(folder.path().join("g.json").to_str().unwrap());
    assert_eq!(alone, both);
}
