//! Guards against: predictions written to the wrong original node, because original ids of another type, file or order were
//! read.

use crate::manifest::Manifest;
use sar::formats::dgl::config::PartitionConfig;
use sar::formats::dgl::{Feature, OriginalIds, Partition};

fn all(ids: &OriginalIds) -> Vec<u64> {
    let mut out = vec![0; ids.num_rows() as usize];
    ids.read(0..ids.num_rows(), &mut out).unwrap();
    out
}

/// First column of a feature, divided.
fn column(feature: &Feature, by: f64) -> Vec<u64> {
    let (rows, width) = (feature.array().num_rows(), feature.array().row_len() as usize);
    let mut values = vec![0.0; rows as usize * width];
    feature.array().read_f64(0..rows, &mut values).unwrap();
    values.chunks(width).map(|row| (row[0] / by) as u64).collect()
}

/// Opens every partition of a sample directory.
fn partitions(manifest: &Manifest, json: &str) -> Vec<Partition> {
    let config = PartitionConfig::open(&manifest.root.join(json)).unwrap();
    (0..config.parts().len()).map(|part| Partition::open(&config, part).unwrap()).collect()
}

#[test]
fn columns_of_original_ids_belong_to_the_rows_of_features() {
    let Some(manifest) = Manifest::load() else { return };
    for json in
        ["v0.5.3/homo1/g.json", "v0.5.3/homo3/g.json", "v0.6.1/homo3/g.json", "v0.9.1/homo3/g.json"]
    {
        for partition in partitions(&manifest, json) {
            // In the samples feature f32 of node n begins with 0.75 n, and w of edge e is e.
            let feature = partition.node_features().lookup("f32").unwrap()[0].unwrap();
            let nodes = partition.orig_node_ids(0).unwrap().unwrap();
            assert_eq!(all(&nodes), column(feature, 0.75), "{json}");
            let feature = partition.edge_features().lookup("w").unwrap()[0].unwrap();
            let edges = partition.orig_edge_ids(0).unwrap().unwrap();
            assert_eq!(all(&edges), column(feature, 1.0), "{json}");
        }
    }
}

#[test]
fn original_ids_count_inside_their_type_even_where_edges_are_scattered() {
    let Some(manifest) = Manifest::load() else { return };
    for json in
        ["v0.6.1/het2/g.json", "v0.6.1/het1/g.json", "v0.9.1/het2/g.json", "v0.9.1/het1/g.json"]
    {
        for partition in partitions(&manifest, json) {
            // Feature feat of paper n begins with 2 n; w of citation e is e.
            let feature = partition.node_features().lookup("feat").unwrap()[1].unwrap();
            let papers = partition.orig_node_ids(1).unwrap().unwrap();
            assert_eq!(all(&papers), column(feature, 2.0), "{json}");
            let cites = partition.book().etypes().iter().position(|e| e.rel == "cites").unwrap();
            let feature = partition.edge_features().lookup("w").unwrap()[cites].unwrap();
            let edges = partition.orig_edge_ids(cites).unwrap().unwrap();
            assert_eq!(all(&edges), column(feature, 1.0), "{json}");
        }
    }
}

#[test]
fn files_of_the_pipeline_are_found_beside_the_features() {
    let Some(manifest) = Manifest::load() else { return };
    for (part, partition) in
        partitions(&manifest, "pipeline-v2.1.0/out_numpy/metadata.json").iter().enumerate()
    {
        let path = format!("pipeline-v2.1.0/out_numpy/part{part}");
        let tensors = |file: &str| &manifest.json["files"][format!("{path}/{file}")]["tensors"];
        for (ntype, name) in partition.book().ntypes().iter().enumerate() {
            let due = crate::manifest::numbers(&tensors("orig_nids.dgl")[name]["values"]);
            assert_eq!(
                all(&partition.orig_node_ids(ntype).unwrap().unwrap()),
                due,
                "{path} {name}"
            );
        }
        for (etype, name) in partition.book().etypes().iter().enumerate() {
            let due =
                crate::manifest::numbers(&tensors("orig_eids.dgl")[name.to_string()]["values"]);
            assert_eq!(
                all(&partition.orig_edge_ids(etype).unwrap().unwrap()),
                due,
                "{path} {name}"
            );
        }
    }
}

#[test]
fn where_no_file_holds_original_ids_there_are_none() {
    let Some(manifest) = Manifest::load() else { return };
    let partition = &partitions(&manifest, "v2.1.0/homo3/g.json")[0];
    assert!(partition.orig_node_ids(0).unwrap().is_none());
    assert!(partition.orig_edge_ids(0).unwrap().is_none());
    assert!(partition.orig_node_ids(7).unwrap().is_none());
}
