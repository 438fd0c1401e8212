//! Guards against: reading another graph from GraphBolt's file than from `graph.dgl`, and edge features assigned by guess.

use crate::manifest::{Manifest, numbers};
use crate::support::{InnerEdge, copy_folder, inner_edges};
use sar::formats::dgl::config::PartitionConfig;
use sar::formats::dgl::fused_csc::FusedCsc;
use sar::formats::dgl::{Partition, verify};
use std::fs;
use std::os::unix::fs::FileExt;

/// Source, destination and type of an edge, which are known without edge ids.
fn ends(edges: &[InnerEdge]) -> Vec<(u64, u64, usize)> {
    let mut ends: Vec<_> = edges.iter().map(|e| (e.src, e.dst, e.etype)).collect();
    ends.sort_unstable();
    ends
}

#[test]
fn without_graph_dgl_the_same_edges_come_from_the_graphbolt_file() {
    let Some(manifest) = Manifest::load() else { return };
    for name in ["homo3", "homo3_eids", "het2", "het2_eids"] {
        let source = manifest.root.join("graphbolt-v2.1.0").join(name);
        let folder = tempfile::tempdir().unwrap();
        copy_folder(&source, folder.path());
        let (both, alone) = (source.join("g.json"), folder.path().join("g.json"));
        let (both, alone) =
            (PartitionConfig::open(&both).unwrap(), PartitionConfig::open(&alone).unwrap());
        for part in 0..both.book().num_parts() {
            fs::remove_file(folder.path().join(format!("part{part}/graph.dgl"))).unwrap();
            let due = inner_edges(&Partition::open(&both, part).unwrap(), 100).unwrap();
            let partition = Partition::open(&alone, part).unwrap();
            assert!(!partition.notes().is_empty(), "{name}: the user is not told");
            let mut found = inner_edges(&partition, 5).unwrap();
            if partition.has_edge_ids() {
                found.sort_unstable_by_key(|edge| edge.id);
                assert_eq!(found, due, "{name} {part}");
            } else {
                assert_eq!(ends(&found), ends(&due), "{name} {part}");
                let mut ids: Vec<u64> = found.iter().map(|edge| edge.id).collect();
                ids.sort_unstable();
                assert_eq!(ids, both.book().edge_range(part).collect::<Vec<_>>(), "{name} {part}");
            }
        }
        let findings = verify(&alone);
        assert!(findings.is_empty(), "{name}: {findings:?}");
    }
}

#[test]
fn edge_features_are_refused_where_edges_have_no_ids() {
    let Some(manifest) = Manifest::load() else { return };
    let folder = tempfile::tempdir().unwrap();
    copy_folder(&manifest.root.join("graphbolt-v2.1.0/homo3"), folder.path());
    fs::remove_file(folder.path().join("part0/graph.dgl")).unwrap();
    let config = PartitionConfig::open(&folder.path().join("g.json")).unwrap();
    let partition = Partition::open(&config, 0).unwrap();
    assert!(!partition.has_edge_ids());
    let error = partition.edge_features().lookup("w").unwrap_err();
    assert!(error.to_string().contains("lacks edge ids"), "{error}");
    assert!(error.hint().unwrap().contains("store_eids=True"), "{error:?}");
    assert!(partition.node_features().lookup("f32").is_ok());
}

#[test]
fn directories_without_any_graph_dgl_are_read() {
    let Some(manifest) = Manifest::load() else { return };
    for name in ["homo3_gb", "homo3_gb_all", "het2_gb"] {
        let folder = manifest.root.join("master-py-on-v2.1.0").join(name);
        let config = PartitionConfig::open(&folder.join("g.json")).unwrap();
        let mut total = 0;
        for part in 0..config.book().num_parts() {
            let file = format!("master-py-on-v2.1.0/{name}/part{part}/fused_csc_sampling_graph.pt");
            let state = &manifest.json["files"][&file]["state"];
            let partition = Partition::open(&config, part).unwrap();
            let nodes = numbers(&state["node_attributes"]["_ID"]["values"]);
            let indptr = numbers(&state["independent_tensors"]["indptr"]["values"]);
            let indices = numbers(&state["independent_tensors"]["indices"]["values"]);
            let ids = numbers(&state["edge_attributes"]["_ID"]["values"]);
            let own = config.book().node_range(part);
            let mut due = Vec::new();
            for (row, pair) in
                indptr.windows(2).enumerate().filter(|(row, _)| own.contains(&nodes[*row]))
            {
                for at in pair[0] as usize..pair[1] as usize {
                    let etype = config.book().edge_type(ids[at]).unwrap();
                    let start = config.book().edge_type_range(part, etype).start;
                    let (src, dst) = (nodes[indices[at] as usize], nodes[row]);
                    due.push(InnerEdge { src, dst, id: ids[at], etype, row: ids[at] - start });
                }
            }
            assert_eq!(inner_edges(&partition, 3).unwrap(), due, "{name} {part}");
            total += due.len() as u64;
        }
        assert_eq!(total, config.book().num_edges(), "{name}");
        let findings = verify(&config);
        assert!(findings.is_empty(), "{name}: {findings:?}");
    }
}

#[test]
fn an_edge_type_that_is_not_there_is_an_error() {
    let Some(manifest) = Manifest::load() else { return };
    let folder = tempfile::tempdir().unwrap();
    copy_folder(&manifest.root.join("graphbolt-v2.1.0/het2"), folder.path());
    fs::remove_file(folder.path().join("part0/graph.dgl")).unwrap();
    let path = folder.path().join("part0/fused_csc_sampling_graph.pt");
    let types = FusedCsc::open(&path).unwrap().type_per_edge.unwrap();
    let config = PartitionConfig::open(&folder.path().join("g.json")).unwrap();
    let file = fs::OpenOptions::new().write(true).open(&path).unwrap();
    for wrong in [4u8, 100, 127, 128, 255] {
        file.write_all_at(&[wrong], types.offset()).unwrap();
        let error = inner_edges(&Partition::open(&config, 0).unwrap(), 8).unwrap_err();
        assert_eq!(error.exit_code(), sar::words::error::exit::BAD_INPUT, "{error}");
    }
}
