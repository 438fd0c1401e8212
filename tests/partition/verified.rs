//! Guards against: directories that contradict themselves, and reports that contradict the directory.

use sar::formats::dgl::config::PartitionConfig;
use sar::formats::dgl::{InnerEdge, Partition, verify};
use sar::prepare::import::GraphFiles;
use sar::prepare::partition::{EdgeRules, Method, PartitionRequest, SelfLoops};

use super::support::{edges, lines, partition, request, scattered, write};

#[test]
fn every_method_and_rule_gives_a_sound_directory() {
    let folder = tempfile::tempdir().unwrap();
    let path = write(folder.path(), "e.txt", &scattered(200, 1500));
    let parts = lines((0..200).map(|node| node % 4));
    let parts = write(folder.path(), "parts", &parts);
    let rules = [
        EdgeRules::default(),
        EdgeRules {
            undirected: true,
            self_loops: SelfLoops::Add,
            dedup: true,
            ..EdgeRules::default()
        },
        EdgeRules { undirected: true, self_loops: SelfLoops::Remove, ..EdgeRules::default() },
    ];
    let methods = [Method::Stream, Method::Metis, Method::Random, Method::Range, Method::File];
    // Every method and every rule, but not all combinations: syncing files to disk takes time.
    for (at, method) in methods.into_iter().enumerate() {
        let rules = rules[at % rules.len()];
        let assignment = if method == Method::File {
            vec![("_N".to_owned(), parts.clone())]
        } else {
            Vec::new()
        };
        let request = PartitionRequest { method, rules, assignment, ..request(4) };
        let out = folder.path().join(at.to_string());
        let files = GraphFiles { num_nodes: vec![("_N".to_owned(), 200)], ..edges(&path) };
        let done = partition(files, &request, &out).unwrap();
        let config = PartitionConfig::open(&done.json).unwrap();
        let findings = verify(&config);
        assert!(findings.is_empty(), "{method:?} {rules:?}: {findings:?}");
        assert_eq!((done.nodes, done.edges), (200, config.book().num_edges()));
        check_report(&config, &done.report);
    }
}

fn check_report(config: &PartitionConfig, report: &sar::prepare::partition::PartitionReport) {
    for (part, size) in report.sizes.iter().enumerate() {
        let partition = Partition::open(config, part).unwrap();
        let own = config.book().node_range(part);
        let (mut cut, mut foreign) = (0, std::collections::BTreeSet::new());
        let count = |edge: InnerEdge| {
            if !own.contains(&edge.src) {
                cut += 1;
                foreign.insert(edge.src);
            }
            Ok(())
        };
        partition.each_edge(count).unwrap();
        assert_eq!((size.cut_edges, size.halo_nodes), (cut, foreign.len() as u64));
        assert_eq!(size.nodes, partition.num_inner_nodes());
        assert_eq!(size.edges, partition.num_inner_edges());
    }
}

#[test]
fn balance_holds_for_nodes_edges_and_training_nodes() {
    let folder = tempfile::tempdir().unwrap();
    let path = write(folder.path(), "e.txt", &scattered(80_000, 400_000));
    // All training nodes are among the first ids.
    let train = lines(0..8_000);
    let train = write(folder.path(), "train.txt", &train);
    let split = format!("train={}", train.display());
    let files = GraphFiles {
        splits: vec![GraphFiles::parse_node_data("--split", &split).unwrap()],
        num_nodes: vec![("_N".to_owned(), 80_000)],
        ..edges(&path)
    };
    let done = partition(files, &request(4), &folder.path().join("out")).unwrap();
    let report = done.report;
    assert_eq!(report.sum(|size| size.train_nodes), 8_000);
    let balance = [
        report.balance(|size| size.nodes),
        report.balance(|size| size.edges),
        report.balance(|size| size.train_nodes),
    ];
    assert!(balance.iter().all(|&balance| balance < 1.06), "{balance:?}");
}
