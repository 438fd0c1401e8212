//! Guards against: ids of `reshuffle=False` directories taken for new ids, features or original ids of the wrong node.

use crate::manifest::{Manifest, all_u64, numbers};
use crate::support::{InnerEdge, inner_edges};
use sar::formats::dgl::config::PartitionConfig;
use sar::formats::dgl::npy::open_npy;
use sar::formats::dgl::{Partition, verify};
use serde_json::Value;
use std::path::PathBuf;

fn directories() -> Vec<(PathBuf, Value)> {
    let Some(manifest) = Manifest::load() else { return Vec::new() };
    let names = ["v0.6.1/homo3_noshuffle/g.json", "v0.9.1/homo3_noshuffle/g.json"];
    let entry = |name: &str| manifest.json["partitions"][name].clone();
    names.iter().map(|name| (manifest.root.join(name), entry(name))).collect()
}

/// New id of every original id: partition by partition, ascending inside.
fn new_ids(owners: &[u64]) -> Vec<u64> {
    let mut order: Vec<usize> = (0..owners.len()).collect();
    order.sort_by_key(|&original| (owners[original], original));
    let mut new = vec![0; owners.len()];
    for (id, original) in order.into_iter().enumerate() {
        new[original] = id as u64;
    }
    new
}

fn owners(json: &std::path::Path, map: &str) -> Vec<u64> {
    all_u64(&open_npy(&json.with_file_name(map)).unwrap())
}

#[test]
fn edges_get_consecutive_new_ids() {
    for (path, expected) in directories() {
        let config = PartitionConfig::open(&path).unwrap();
        assert!(config.keeps_original_ids());
        let (nodes, edges) =
            (new_ids(&owners(&path, "node_map.npy")), new_ids(&owners(&path, "edge_map.npy")));
        for (part, expected) in expected["parts"].as_array().unwrap().iter().enumerate() {
            let partition = Partition::open(&config, part).unwrap();
            let listed = expected["inner_edges_src_dst_eid_type"].as_array().unwrap();
            let due = listed.iter().enumerate().map(|(row, edge)| {
                let edge = numbers(edge);
                InnerEdge {
                    src: nodes[edge[0] as usize],
                    dst: nodes[edge[1] as usize],
                    id: edges[edge[2] as usize],
                    etype: 0,
                    row: row as u64,
                }
            });
            let due: Vec<InnerEdge> = due.collect();
            assert_eq!(inner_edges(&partition, 4).unwrap(), due, "{} {part}", path.display());
            assert!(due.iter().all(|edge| config.book().edge_range(part).contains(&edge.id)));
        }
    }
}

#[test]
fn original_ids_stay_available_and_features_belong_to_them() {
    for (path, _) in directories() {
        let config = PartitionConfig::open(&path).unwrap();
        let owner = owners(&path, "node_map.npy");
        for part in 0..3 {
            let partition = Partition::open(&config, part).unwrap();
            let ids = partition.orig_node_ids(0).unwrap().unwrap();
            let mut originals = vec![0; ids.num_rows() as usize];
            ids.read(0..ids.num_rows(), &mut originals).unwrap();
            let due: Vec<u64> = (0..12).filter(|&id| owner[id as usize] == part as u64).collect();
            assert_eq!(originals, due, "{} {part}", path.display());
            // In these samples feature f32 of node n is [0.75 n, 0.75 n + 0.25, 0.75 n + 0.5].
            let feature = partition.node_features().lookup("f32").unwrap()[0].unwrap();
            let mut rows = vec![0.0; 3 * due.len()];
            feature.array().read_f32(0..due.len() as u64, &mut rows).unwrap();
            let firsts: Vec<u64> = rows.chunks(3).map(|row| (row[0] / 0.75) as u64).collect();
            assert_eq!(firsts, due, "{} {part}", path.display());
            // And edge feature w is the original edge id.
            let ids = partition.orig_edge_ids(0).unwrap().unwrap();
            let mut originals = vec![0; ids.num_rows() as usize];
            ids.read(0..ids.num_rows(), &mut originals).unwrap();
            let feature = partition.edge_features().lookup("w").unwrap()[0].unwrap();
            let mut weights = vec![0; originals.len()];
            feature.array().read_u64(0..originals.len() as u64, &mut weights).unwrap();
            assert_eq!(weights, originals, "{} {part}", path.display());
        }
    }
}

#[test]
fn the_full_check_finds_nothing() {
    for (path, _) in directories() {
        let findings = verify(&PartitionConfig::open(&path).unwrap());
        assert!(findings.is_empty(), "{}: {findings:?}", path.display());
    }
}
