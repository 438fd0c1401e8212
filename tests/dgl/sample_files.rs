//! Guards against: a field of any file version read with another type, shape, order or value than DGL reads.

use crate::manifest::{Manifest, all_u64, assert_array, assert_arrays, numbers, texts};
use sar::formats::dgl::fused_csc::FusedCsc;
use sar::formats::dgl::graph_file::GraphFile;
use sar::formats::dgl::graph_record::{Frame, GraphRecord};
use sar::formats::dgl::npy::open_npy;
use sar::formats::dgl::relation::DglRelation;
use sar::formats::dgl::sparse::CsrArrays;
use sar::formats::dgl::tensor_file::TensorFile;
use serde_json::Value;
use std::collections::BTreeMap;

#[test]
fn every_sample_tensor_file_holds_the_expected_tensors() {
    let Some(manifest) = Manifest::load() else { return };
    let mut seen = 0;
    for (path, entry) in manifest.files(".dgl") {
        let Some(expected) = entry.get("tensors") else { continue };
        let file = TensorFile::open(&path).unwrap();
        let what = path.display().to_string();
        assert_arrays(file.entries().iter().map(|(k, v)| (k, v)), expected, &what);
        seen += 1;
    }
    assert!(seen > 150, "only {seen} tensor files were compared");
}

#[test]
fn every_sample_graph_file_holds_the_expected_graphs() {
    let Some(manifest) = Manifest::load() else { return };
    let mut seen = 0;
    for (path, entry) in manifest.files("graph.dgl") {
        let file = GraphFile::open(&path).unwrap();
        let what = path.display().to_string();
        assert_eq!(file.version(), entry["version"].as_u64().unwrap(), "{what}");
        assert_arrays(file.labels().iter().map(|(k, v)| (k, v)), &entry["labels"], &what);
        let graphs = entry["graphs"].as_array().unwrap();
        assert_eq!(file.graphs().len(), graphs.len(), "{what}");
        for (graph, expected) in file.graphs().iter().zip(graphs) {
            if file.version() == 1 {
                assert_version_1_graph(graph, expected, &what);
            } else {
                assert_graph(graph, expected, &what);
            }
        }
        seen += 1;
    }
    assert!(seen > 100, "only {seen} graph files were compared");
}

fn assert_graph(graph: &GraphRecord, expected: &Value, what: &str) {
    assert_eq!(graph.ntypes, texts(&expected["ntypes"]), "{what}");
    let rels: Vec<String> = graph.etypes.iter().map(|e| e.rel.clone()).collect();
    assert_eq!(rels, texts(&expected["etypes"]), "{what}");
    assert_eq!(graph.num_nodes, numbers(&expected["num_nodes_per_type"]), "{what}");
    assert_ends(graph, &expected["metagraph_csr"], what);
    let relations = expected["relations"].as_array().unwrap();
    assert_eq!(graph.relations.len(), relations.len(), "{what}");
    for (relation, expected) in graph.relations.iter().zip(relations) {
        assert_relation(relation, expected, what);
    }
    assert_frames(&graph.node_frames, &expected["ndata"], what);
    assert_frames(&graph.edge_frames, &expected["edata"], what);
}

fn assert_ends(graph: &GraphRecord, expected: &Value, what: &str) {
    let (indptr, indices) = (numbers(&expected["indptr"]), numbers(&expected["indices"]));
    let ids = numbers(&expected["edge_type_ids"]);
    for (src, pair) in indptr.windows(2).enumerate() {
        let row = pair[0] as usize..pair[1] as usize;
        for (entry, &dst) in row.clone().zip(&indices[row]) {
            let id = ids.get(entry).map_or(entry, |&id| id as usize);
            assert_eq!(graph.etypes[id].src, graph.ntypes[src], "{what}");
            assert_eq!(graph.etypes[id].dst, graph.ntypes[dst as usize], "{what}");
        }
    }
}

fn assert_relation(relation: &DglRelation, expected: &Value, what: &str) {
    assert_eq!(relation.coo.is_some(), expected.get("coo").is_some(), "{what}");
    if let (Some(coo), Some(expected)) = (&relation.coo, expected.get("coo")) {
        assert_eq!(coo.num_rows, expected["rows"].as_u64().unwrap(), "{what}");
        assert_eq!(coo.num_cols, expected["cols"].as_u64().unwrap(), "{what}");
        assert_eq!(all_u64(&coo.row), numbers(&expected["row"]), "{what}");
        assert_eq!(all_u64(&coo.col), numbers(&expected["col"]), "{what}");
        assert_eq!(coo.row.dtype().size() as u64 * 8, expected["bits"].as_u64().unwrap(), "{what}");
        let ids = coo.edge_ids.as_ref().map(all_u64).unwrap_or_default();
        assert_eq!(ids, numbers(&expected["data"]), "{what}");
    }
    assert_csr(relation.csr.as_ref(), expected.get("csr"), what);
    assert_csr(relation.csc.as_ref(), expected.get("csc"), what);
}

fn assert_csr(csr: Option<&CsrArrays>, expected: Option<&Value>, what: &str) {
    assert_eq!(csr.is_some(), expected.is_some(), "{what}");
    if let (Some(csr), Some(expected)) = (csr, expected) {
        assert_eq!(csr.num_rows, expected["rows"].as_u64().unwrap(), "{what}");
        assert_eq!(csr.num_cols, expected["cols"].as_u64().unwrap(), "{what}");
        assert_eq!(all_u64(&csr.indptr), numbers(&expected["indptr"]), "{what}");
        assert_eq!(all_u64(&csr.indices), numbers(&expected["indices"]), "{what}");
        let ids = csr.edge_ids.as_ref().map(all_u64).unwrap_or_default();
        assert_eq!(ids, numbers(&expected["data"]), "{what}");
    }
}

fn assert_frames(frames: &[Frame], expected: &Value, what: &str) {
    let expected = expected.as_array().unwrap();
    assert_eq!(frames.len(), expected.len(), "{what}");
    for (frame, expected) in frames.iter().zip(expected) {
        assert_arrays(frame.columns().iter().map(|(k, v)| (k, v)), expected, what);
    }
}

fn assert_version_1_graph(graph: &GraphRecord, expected: &Value, what: &str) {
    let csc = graph.relations[0].csc.as_ref().unwrap();
    assert_eq!(all_u64(&csc.indptr), numbers(&expected["indptr"]), "{what}");
    assert_eq!(all_u64(&csc.indices), numbers(&expected["indices"]), "{what}");
    assert_eq!(all_u64(csc.edge_ids.as_ref().unwrap()), numbers(&expected["eids"]), "{what}");
    let frames = [(&graph.node_frames[0], "ndata"), (&graph.edge_frames[0], "edata")];
    for (frame, side) in frames {
        assert_arrays(frame.columns().iter().map(|(k, v)| (k, v)), &expected[side], what);
    }
}

#[test]
fn every_sample_graphbolt_file_holds_the_expected_arrays() {
    let Some(manifest) = Manifest::load() else { return };
    let mut seen = 0;
    for (path, entry) in manifest.files(".pt") {
        let Some(state) = entry.get("state") else { continue };
        let what = path.display().to_string();
        let graph = FusedCsc::open(&path).unwrap();
        let independent = &state["independent_tensors"];
        assert_array(&graph.indptr, &independent["indptr"], &what);
        assert_array(&graph.indices, &independent["indices"], &what);
        let types = independent.get("type_per_edge");
        assert_eq!(graph.type_per_edge.is_some(), types.is_some(), "{what}");
        if let (Some(array), Some(types)) = (&graph.type_per_edge, types) {
            assert_array(array, types, &what);
        }
        assert_ids(&graph.node_type_to_id, state.get("node_type_to_id"), &what);
        assert_ids(&graph.edge_type_to_id, state.get("edge_type_to_id"), &what);
        let none = serde_json::json!({});
        let attributes = state.get("node_attributes").unwrap_or(&none);
        assert_arrays(&graph.node_attributes, attributes, &what);
        let attributes = state.get("edge_attributes").unwrap_or(&none);
        assert_arrays(&graph.edge_attributes, attributes, &what);
        seen += 1;
    }
    assert!(seen > 15, "only {seen} GraphBolt files were compared");
}

fn assert_ids(ids: &BTreeMap<String, u64>, expected: Option<&Value>, what: &str) {
    let expected = expected.and_then(Value::as_object).cloned().unwrap_or_default();
    let expected = expected.iter().map(|(k, v)| (k.clone(), v["values"].as_u64().unwrap()));
    assert_eq!(*ids, expected.collect::<BTreeMap<_, _>>(), "{what}");
}

#[test]
fn every_sample_numpy_map_is_read() {
    let Some(manifest) = Manifest::load() else { return };
    let maps = manifest.files("_map.npy");
    assert!(!maps.is_empty());
    for (path, _) in maps {
        let array = open_npy(&path).unwrap();
        assert!(all_u64(&array).iter().all(|&part| part < 3), "{}", path.display());
        let due = if path.ends_with("node_map.npy") { 12 } else { 30 };
        assert_eq!(array.shape(), [due], "{}", path.display());
    }
}
