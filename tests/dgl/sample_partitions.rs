//! Guards against: wrong ids, ends, types or feature rows of edges, wrong owners, in any version of partition files.

use crate::manifest::{Manifest, numbers};
use crate::support::{InnerEdge, inner_edges};
use sar::formats::dgl::config::PartitionConfig;
use sar::formats::dgl::{Partition, verify};
use sar::graph::PartitionBook;
use serde_json::Value;
use std::path::Path;

/// Every directory of the manifest except those with original ids, which are renumbered.
fn each_directory(mut check: impl FnMut(&Path, &Value)) {
    let Some(manifest) = Manifest::load() else { return };
    let mut seen = 0;
    for (path, entry) in manifest.json["partitions"].as_object().unwrap() {
        if !path.contains("noshuffle") {
            check(&manifest.root.join(path), entry);
            seen += 1;
        }
    }
    assert!(seen > 40, "only {seen} directories were checked");
}

#[test]
fn the_book_says_what_the_manifest_says() {
    each_directory(|path, expected| {
        let what = path.display();
        let config = PartitionConfig::open(path).unwrap();
        let book = config.book();
        assert_eq!(book.num_parts() as u64, expected["num_parts"].as_u64().unwrap(), "{what}");
        assert_eq!(book.num_nodes(), expected["num_nodes"].as_u64().unwrap(), "{what}");
        assert_eq!(book.num_edges(), expected["num_edges"].as_u64().unwrap(), "{what}");
        for (part, range) in expected["node_ranges"].as_array().unwrap().iter().enumerate() {
            let range = numbers(range);
            assert_eq!(book.node_range(part), range[0]..range[1], "{what}");
        }
        for (name, id) in expected["ntypes"].as_object().into_iter().flatten() {
            assert_eq!(book.ntype_id(name), Some(id.as_u64().unwrap() as usize), "{what}");
        }
        for (name, id) in expected["etypes"].as_object().into_iter().flatten() {
            let etype = &book.etypes()[id.as_u64().unwrap() as usize];
            assert!(name == &etype.to_string() || name == &etype.rel, "{what}: {name} is {etype}");
        }
    });
}

#[test]
fn counts_and_halo_nodes_are_those_of_the_manifest() {
    each_directory(|path, expected| {
        let config = PartitionConfig::open(path).unwrap();
        for (part, expected) in expected["parts"].as_array().unwrap().iter().enumerate() {
            let partition = Partition::open(&config, part).unwrap();
            let count = |name: &str| expected[name].as_u64().unwrap();
            assert_eq!(partition.num_inner_nodes(), count("num_inner_nodes"), "{}", path.display());
            assert_eq!(partition.num_halo_nodes(), count("num_halo_nodes"), "{}", path.display());
            assert_eq!(partition.num_inner_edges(), count("num_inner_edges"), "{}", path.display());
            assert_eq!(partition.num_halo_edges(), count("num_halo_edges"), "{}", path.display());
            let mut nodes: Vec<u64> = partition.book().node_range(part).collect();
            nodes.extend(partition.halo_nodes().unwrap());
            assert_eq!(nodes, numbers(&expected["node_gids"]), "{}", path.display());
        }
    });
}

#[test]
fn inner_edges_are_those_of_the_manifest_whatever_the_block_size() {
    each_directory(|path, expected| {
        let config = PartitionConfig::open(path).unwrap();
        for (part, expected) in expected["parts"].as_array().unwrap().iter().enumerate() {
            let partition = Partition::open(&config, part).unwrap();
            let mut due = expected_edges(expected, config.book());
            let mut all = inner_edges(&partition, 1000).unwrap();
            if path.to_string_lossy().contains("csc") {
                all.sort_unstable();
                due.sort_unstable();
            }
            assert_eq!(all, due, "{} partition {part}", path.display());
            for max in [1, 2, 3, 7] {
                let mut again = inner_edges(&partition, max).unwrap();
                if path.to_string_lossy().contains("csc") {
                    again.sort_unstable();
                }
                assert_eq!(again, due, "{} partition {part}", path.display());
            }
        }
    });
}

/// The edges as listed, with the feature row, which is the index among the edges of a type in local order.
fn expected_edges(part: &Value, book: &PartitionBook) -> Vec<InnerEdge> {
    let mut rows = vec![0; book.etypes().len()];
    let listed = part["inner_edges_src_dst_eid_type"].as_array().unwrap().iter();
    let edges = listed.map(|edge| {
        let edge = numbers(edge);
        let row = rows[edge[3] as usize];
        rows[edge[3] as usize] += 1;
        InnerEdge { src: edge[0], dst: edge[1], id: edge[2], etype: edge[3] as usize, row }
    });
    edges.collect()
}

#[test]
fn edges_split_by_source_partition_as_sar_splits_them() {
    each_directory(|path, expected| {
        let config = PartitionConfig::open(path).unwrap();
        for (part, expected) in expected["parts"].as_array().unwrap().iter().enumerate() {
            let partition = Partition::open(&config, part).unwrap();
            let mut counts = vec![0; config.book().num_parts()];
            for edge in inner_edges(&partition, 1000).unwrap() {
                counts[config.book().part_of_node(edge.src).unwrap()] += 1;
            }
            let due = numbers(&expected["inner_edges_per_source_partition"]);
            assert_eq!(counts, due, "{} partition {part}", path.display());
        }
    });
}

#[test]
fn the_full_check_finds_nothing_in_what_dgl_wrote() {
    each_directory(|path, _| {
        let findings = verify(&PartitionConfig::open(path).unwrap());
        assert!(findings.is_empty(), "{}: {findings:?}", path.display());
    });
}

#[test]
fn relations_without_node_types_get_them_from_their_edges() {
    let Some(manifest) = Manifest::load() else { return };
    for version in ["v0.6.1", "v0.9.1"] {
        let config =
            PartitionConfig::open(&manifest.root.join(version).join("het2/g.json")).unwrap();
        let names: Vec<String> = config.book().etypes().iter().map(ToString::to_string).collect();
        assert_eq!(names, ["author:writes:paper", "paper:cites:paper", "paper:rev:author"]);
        assert!(!config.notes().is_empty(), "the user is not told");
    }
}

#[test]
fn a_directory_that_was_moved_is_found_and_the_user_is_told() {
    let Some(manifest) = Manifest::load() else { return };
    let config = PartitionConfig::open(&manifest.root.join("v0.5.3/homo3/g.json")).unwrap();
    assert!(config.parts().iter().all(|files| files.node_feats.exists()));
    assert_eq!(config.notes().len(), 9, "{:?}", config.notes());
}
