//! Guards against: a DistGraph whose answers differ from the partitions' files.

use std::collections::BTreeMap;

use sar::formats::dgl::config::PartitionConfig;
use sar::formats::dgl::{InnerEdge, Partition};
use sar::io::{DiskStorage, IoCounters};
use sar::sampling::stores::{
    DistGraph, Fanout, GraphSource, IndexConfig, OutEdgeIndex, SampleKey, Sampling, write_index,
};

use crate::common;

/// Edges of probability 0 carry no messages: training for links keeps them back.
#[test]
fn in_degrees_leave_out_edges_that_are_never_drawn() {
    let config = PartitionConfig::open(&common::repository("data/karate/karate.json")).unwrap();
    let (book, folder) = (config.book(), tempfile::tempdir().unwrap());
    let (storage, counters) = (DiskStorage::default(), IoCounters::default());
    let keys = IndexConfig { drawn: true, ..IndexConfig::default() };
    let mut expected = vec![0; book.num_nodes() as usize];
    for part in 0..book.num_parts() {
        let partition = Partition::open(&config, part).unwrap();
        let first = book.edge_range(part).start;
        let mut drawn = vec![0.0; partition.num_inner_edges() as usize];
        let mut count = |edge: InnerEdge| {
            if edge.id.is_multiple_of(3) {
                drawn[(edge.id - first) as usize] = 1.0;
                expected[edge.dst as usize] += 1;
            }
            Ok(())
        };
        partition.each_edge(&mut count).unwrap();
        let degrees = vec![0; partition.num_inner_nodes() as usize];
        let drawn = Some(&drawn[..]);
        write_index(&partition, &degrees, &keys, drawn, folder.path(), &storage, &counters)
            .unwrap();
    }
    let graph = DistGraph::open(&config, &keys, folder.path(), &storage, counters).unwrap();
    let nodes: Vec<u64> = (0..book.num_nodes()).collect();
    assert_eq!(graph.in_degrees(&nodes).unwrap(), expected);
}

#[test]
fn counts_degrees_and_ends_are_those_of_the_files() {
    for json in [
        "data/karate/karate.json",
        "tests/fixtures/hetero/g.json",
        "tests/fixtures/graphbolt/g.json",
    ] {
        let config = PartitionConfig::open(&common::repository(json)).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let keys = IndexConfig { ends: true, ..IndexConfig::default() };
        let graph = DistGraph::create(&config, &keys, folder.path()).unwrap();
        let book = graph.book();
        let mut ends = BTreeMap::new();
        for part in 0..book.num_parts() {
            let partition = graph.local_partition(part).unwrap();
            let mut insert = |edge: InnerEdge| {
                ends.insert(edge.id, (edge.src, edge.dst));
                Ok(())
            };
            partition.each_edge(&mut insert).unwrap();
        }
        assert_eq!(graph.num_edges(None).unwrap(), ends.len() as u64);
        let nodes: Vec<u64> = (0..graph.num_nodes(None).unwrap()).rev().collect();
        let degree = |node: &u64, end: fn(&(u64, u64)) -> u64| {
            ends.values().filter(|e| end(e) == *node).count() as u64
        };
        let expected: Vec<u64> = nodes.iter().map(|node| degree(node, |e| e.1)).collect();
        assert_eq!(graph.in_degrees(&nodes).unwrap(), expected, "{json}");
        let expected: Vec<u64> = nodes.iter().map(|node| degree(node, |e| e.0)).collect();
        assert_eq!(graph.out_degrees(&nodes).unwrap(), expected, "{json}");
        let mut ranked: Vec<(u64, u64)> = expected.into_iter().zip(nodes.iter().copied()).collect();
        ranked.retain(|(degree, _)| *degree > 0);
        ranked.sort_unstable_by_key(|(degree, node)| (u64::MAX - degree, *node));
        for count in [0, 1, 3, ranked.len(), ranked.len() + 5] {
            let mut most: Vec<u64> = ranked.iter().take(count).map(|(_, node)| *node).collect();
            most.sort_unstable();
            assert_eq!(graph.most_frequent_sources(count).unwrap(), most, "{json}: {count}");
        }
        let ids: Vec<u64> = ends.keys().rev().copied().collect();
        let (sources, destinations) = graph.find_edges(&ids).unwrap();
        for (i, id) in ids.iter().enumerate() {
            assert_eq!((sources[i], destinations[i]), ends[id], "{json}: edge {id}");
        }
        assert!(graph.find_edges(&[ids[0] + 1]).is_err());
        let some = [ids[0], ids[5], ids[2], ids[5]];
        let subgraph = graph.edge_subgraph(&some).unwrap();
        let node = |number: u64| subgraph.nodes[number as usize];
        for (i, id) in some.iter().enumerate() {
            let found = (node(subgraph.sources[i]), node(subgraph.destinations[i]));
            assert_eq!((subgraph.edges[i], found), (*id, ends[id]), "{json}");
        }
        let mut named: Vec<u64> = some.iter().map(|id| ends[id].0).collect();
        named.extend(some.iter().map(|id| ends[id].1));
        let mut seen = std::collections::HashSet::new();
        named.retain(|node| seen.insert(*node));
        assert_eq!(subgraph.nodes, named, "sources first, in their order");
        assert!(graph.edge_subgraph(&[ids[0] + 1]).is_err());
        assert!(graph.in_degrees(&[nodes[0] + 1]).is_err());
    }
}

#[test]
fn types_are_found_by_name_and_what_was_not_prepared_is_refused() {
    let config =
        PartitionConfig::open(&common::repository("tests/fixtures/hetero/g.json")).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let graph = DistGraph::create(&config, &IndexConfig::default(), folder.path()).unwrap();
    assert_eq!(graph.num_nodes(Some("author")).unwrap(), 6);
    assert_eq!(graph.num_edges(Some("paper:links:paper")).unwrap(), 15);
    assert!(graph.num_edges(Some("links")).unwrap_err().to_string().contains("ambiguous"));
    assert!(graph.num_nodes(Some("venue")).is_err());
    assert!(graph.ntypes().contains(&"author".to_owned()));
    let etype = graph.to_canonical_etype("paper:links:paper").unwrap();
    assert!(graph.canonical_etypes().contains(etype));
    assert!(graph.to_canonical_etype("links").unwrap_err().to_string().contains("ambiguous"));
    assert!(graph.find_edges(&[0]).unwrap_err().to_string().contains("without the ends"));
    // An index that is cut short is not used.
    let file =
        std::fs::OpenOptions::new().write(true).open(folder.path().join("in-edges-1")).unwrap();
    file.set_len(20).unwrap();
    let open = |storage| {
        let counters = sar::io::IoCounters::default();
        DistGraph::open(&config, &IndexConfig::default(), folder.path(), storage, counters)
    };
    let error = open(&sar::io::DiskStorage::default()).err().unwrap();
    assert!(error.to_string().contains("in-edges-1: has 20 bytes"), "{error}");
    assert!(graph.in_degrees(&[14]).is_err(), "cut short while in use");
}

/// Source, destination and id of all edges.
fn all_edges(graph: &DistGraph) -> Vec<[u64; 3]> {
    let book = graph.book();
    let ids: Vec<u64> = (0..book.num_edges()).collect();
    let (sources, destinations) = graph.find_edges(&ids).unwrap();
    let ends = sources.into_iter().zip(destinations).zip(ids);
    ends.map(|((source, destination), id)| [source, destination, id]).collect()
}

#[test]
fn out_edges_come_from_all_partitions() {
    for json in ["data/karate/karate.json", "tests/fixtures/hetero/g.json"] {
        let config = PartitionConfig::open(&common::repository(json)).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let keys = IndexConfig { ends: true, ..IndexConfig::default() };
        let graph = DistGraph::create(&config, &keys, folder.path()).unwrap();
        let book = graph.book();
        let index = OutEdgeIndex::create(&graph, folder.path()).unwrap();
        let edges = all_edges(&graph);
        let mut nodes: Vec<u64> = (0..book.num_nodes()).rev().collect();
        nodes.push(nodes[3]);
        let key = |batch| SampleKey { seed: 1, epoch: 1, batch, layer: 0 };
        let all = |fanout: Fanout| Sampling { fanout, replace: false, weighted: false };
        let drawn = index.sample_neighbors(&nodes, &all(Fanout::ALL), key(0)).unwrap();
        let mut at = 0;
        for (node, count) in nodes.iter().zip(&drawn.counts) {
            let own = at..at + *count as usize;
            at = own.end;
            let mut expected: Vec<[u64; 2]> = edges
                .iter()
                .filter(|edge| edge[0] == *node)
                .map(|edge| [edge[2], edge[1]])
                .collect();
            expected.sort_unstable_by_key(|[id, _]| (book.edge_type(*id), *id));
            let ours = drawn.edges[own.clone()].iter().zip(&drawn.destinations[own]);
            assert_eq!(
                ours.map(|(id, to)| [*id, *to]).collect::<Vec<_>>(),
                expected,
                "{json}: {node}"
            );
        }
        assert_eq!(at, drawn.edges.len());
        // Draws are out-edges, as many as asked for, none twice, and all of them come up.
        let fanouts: Vec<i64> = (0..book.etypes().len() as i64).map(|etype| etype % 3).collect();
        let total: i64 = fanouts.iter().sum();
        let mut seen = std::collections::BTreeSet::new();
        for batch in 0..60 {
            let two = index.sample_neighbors(&nodes, &all(Fanout::Total(2)), key(batch)).unwrap();
            let degrees = graph.out_degrees(&nodes).unwrap();
            let due: Vec<u32> = degrees.iter().map(|degree| (*degree).min(2) as u32).collect();
            assert_eq!(two.counts, due, "{json}");
            for (id, to) in two.edges.iter().zip(&two.destinations) {
                assert_eq!(edges[*id as usize][1], *to);
            }
            let twice = index.sample_neighbors(&nodes, &all(Fanout::Total(2)), key(batch)).unwrap();
            assert_eq!(two, twice);
            seen.extend(two.edges);
            let per_type = Fanout::PerEtype(fanouts.clone());
            let typed = index.sample_neighbors(&nodes, &all(per_type), key(batch)).unwrap();
            assert!(typed.counts.iter().all(|count| i64::from(*count) <= total));
            assert!(typed.edges.iter().all(|id| fanouts[book.edge_type(*id).unwrap()] > 0));
        }
        assert_eq!(seen.len(), edges.len(), "{json}: edges that are never drawn");
        let with = Sampling { fanout: Fanout::Total(5), replace: true, weighted: false };
        let with = index.sample_neighbors(&nodes, &with, key(0)).unwrap();
        let degrees = graph.out_degrees(&nodes).unwrap();
        let due: Vec<u32> = degrees.iter().map(|d| if *d == 0 { 0 } else { 5 }).collect();
        assert_eq!(with.counts, due);
        let weighted = Sampling { fanout: Fanout::ALL, replace: false, weighted: true };
        assert!(index.sample_neighbors(&nodes, &weighted, key(0)).is_err());
        assert!(index.sample_neighbors(&[book.num_nodes()], &all(Fanout::ALL), key(0)).is_err());
    }
}
