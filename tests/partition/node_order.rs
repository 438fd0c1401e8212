//! Guards against: communities that are torn apart within a partition, and a graph that depends on the order of its nodes.

use std::path::Path;

use sar::formats::dgl::Partition;
use sar::formats::dgl::config::PartitionConfig;
use sar::load::original_ids;
use sar::prepare::import::GraphFiles;
use sar::prepare::partition::{LocalOrder, Method, PartitionRequest};

use super::repartitioned::whole;
use super::support::{lines, partition, request, write};

/// Number of communities. A node belongs to that of its id, modulo this number, so neighbours are far from each other.
const COMMUNITIES: u64 = 8;
const USERS: u64 = 1600;
const ITEMS: u64 = 400;

/// Users who know users of their community, and have items of it.
fn scattered_communities(folder: &Path) -> GraphFiles {
    let pairs = |count: u64, degree: u64| {
        lines((0..count * degree).map(|at| {
            let (from, step) = (at / degree, (at % degree).pow(2) + at / degree + 1);
            format!("{from},{}", (from + COMMUNITIES * step) % count)
        }))
    };
    let knows = write(folder, "knows.csv", &pairs(USERS, 12));
    let of = lines((0..USERS).map(|user| format!("{},{user}", user % ITEMS)));
    let of = write(folder, "of.csv", &of);
    let x = write(folder, "x.txt", &lines((0..USERS).map(|user| user * user)));
    let edge = |text: String| GraphFiles::parse_edges("edges", &text).unwrap();
    let data = GraphFiles::parse_node_data("node_data", &format!("user/x={}", x.display()));
    GraphFiles {
        edges: vec![
            edge(format!("user:knows:user={}", knows.display())),
            edge(format!("item:of:user={}", of.display())),
        ],
        node_data: vec![data.unwrap()],
        ..GraphFiles::default()
    }
}

/// For each partition and type, how often the next node is of another community, and its number of communities.
fn runs(json: &Path) -> Vec<[usize; 2]> {
    let config = PartitionConfig::open(json).unwrap();
    let mut found = Vec::new();
    for part in 0..config.parts().len() {
        let partition = Partition::open(&config, part).unwrap();
        for ntype in 0..2 {
            let ids = original_ids(&partition, ntype).unwrap();
            let mut all: Vec<u64> = ids.iter().map(|id| id % COMMUNITIES).collect();
            all.dedup();
            let runs = all.len();
            all.sort_unstable();
            all.dedup();
            found.push([runs, all.len()]);
        }
    }
    found
}

#[test]
fn communities_stay_together_and_the_graph_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let files = scattered_communities(folder.path());
    for method in [Method::Stream, Method::Random] {
        let cut = |node_order: LocalOrder| {
            let request = PartitionRequest { method, node_order, ..request(3) };
            let out = folder.path().join(format!("{method:?}-{node_order:?}"));
            partition(files.clone(), &request, &out).unwrap()
        };
        let (input, community) = (cut(LocalOrder::Input), cut(LocalOrder::Community));
        assert_eq!(input.report, community.report, "{method:?}: the cut depends on the order");
        assert!(whole(&input.json) == whole(&community.json), "{method:?}");
        for [runs, communities] in runs(&community.json) {
            assert!(runs < 2 * communities, "{method:?}: {communities} in {runs} pieces");
        }
        assert!(runs(&input.json).iter().any(|[runs, communities]| *runs > 10 * communities));
        let orders = [&input, &community]
            .map(|done| PartitionConfig::open(&done.json).unwrap().node_order().map(str::to_owned));
        assert_eq!(orders, [None, Some("community".to_owned())]);
    }
}
