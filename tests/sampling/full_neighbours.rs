//! Guards against: a neighbour missed or invented when all of them are requested.

use std::collections::HashMap;
use std::path::Path;

use safetensors::tensor::SafeTensors;
use sar::formats::dgl::config::PartitionConfig;
use sar::formats::dgl::{InnerEdge, Partition};
use sar::graph::Block;
use sar::sampling::loaders::DistNeighborSampler;
use sar::sampling::stores::{Fanout, GraphSource, IndexConfig};

use crate::common;
use crate::support::{key, open};

fn integers(file: &SafeTensors<'_>, name: &str) -> Vec<i64> {
    let view = file.tensor(name).unwrap();
    match view.dtype().bitsize() {
        32 => {
            let values = view.data().as_chunks::<4>().0.iter();
            values.map(|b| i64::from(i32::from_le_bytes(*b))).collect()
        }
        _ => view.data().as_chunks::<8>().0.iter().map(|b| i64::from_le_bytes(*b)).collect(),
    }
}

fn sorted_originals(ids: &[u64], original: &[i64]) -> Vec<i64> {
    let mut ids: Vec<i64> = ids.iter().map(|id| original[*id as usize]).collect();
    ids.sort_unstable();
    ids
}

fn check(folder: &Path, graph: &str, parts: &str) {
    let case = folder.join(graph).join("cases/mfg_full_neighbours_2.safetensors");
    let case = std::fs::read(case).unwrap();
    let case = SafeTensors::deserialize(&case).unwrap();
    let mapping = std::fs::read(folder.join(graph).join(parts).join("mapping.safetensors"));
    let mapping = mapping.unwrap();
    let mapping = SafeTensors::deserialize(&mapping).unwrap();
    let (nodes, edges) = (integers(&mapping, "homo.orig_nid"), integers(&mapping, "homo.orig_eid"));
    let new: HashMap<i64, u64> = nodes.iter().zip(0..).map(|(old, new)| (*old, new)).collect();
    let seeds: Vec<u64> = integers(&case, "seeds").iter().map(|seed| new[seed]).collect();

    let opened = open(
        &folder.join(graph).join(parts).join(format!("{graph}.json")),
        &IndexConfig::default(),
    );
    let in_degrees = opened.graph.in_degrees(&(0..nodes.len() as u64).collect::<Vec<_>>()).unwrap();
    // A fan-out that no node reaches also gives all neighbours.
    let most = *in_degrees.iter().max().unwrap() as i64;
    for fanout in [-1, most, most + 5] {
        let sampler = DistNeighborSampler::new(vec![Fanout::Total(fanout); 2]).unwrap();
        let batch = sampler.sample(&*opened.graph, &seeds, key(0)).unwrap();
        assert_eq!(batch.seeds(), seeds);
        for (layer, block) in batch.blocks.iter().enumerate() {
            let expected = |what: &str| {
                let mut ids = integers(&case, &format!("block{layer}.{what}_sorted"));
                ids.sort_unstable();
                ids
            };
            assert_eq!(
                sorted_originals(block.sources(), &nodes),
                expected("src"),
                "{graph}/{parts}"
            );
            assert_eq!(sorted_originals(block.destinations(), &nodes), expected("dst"));
            assert_eq!(sorted_originals(block.edges(), &edges), expected("edge_ids"));
        }
        assert_eq!(batch.blocks[0].destinations(), batch.blocks[1].sources());
    }
}

#[test]
fn blocks_of_all_neighbours_are_dgls() {
    let Some(folder) = common::shared("golden") else { return };
    for (graph, parts) in
        [("karate", "p2"), ("karate", "p2_hops2"), ("randdir", "p3"), ("randdir", "p4_random")]
    {
        check(&folder, graph, parts);
    }
}

/// The ends of all edges of a directory, by edge id.
fn edges(json: &Path) -> HashMap<u64, (u64, u64)> {
    let config = PartitionConfig::open(json).unwrap();
    let mut ends = HashMap::new();
    for part in 0..config.parts().len() {
        let partition = Partition::open(&config, part).unwrap();
        let insert = |edge: InnerEdge| {
            ends.insert(edge.id, (edge.src, edge.dst));
            Ok(())
        };
        partition.each_edge(insert).unwrap();
    }
    ends
}

/// Checks that every edge of a block is an edge of the graph, between the nodes that the block names.
fn check_edges(block: &Block, ends: &HashMap<u64, (u64, u64)>) {
    for (i, &row) in block.by_dst().rows().iter().enumerate() {
        let first = block.by_dst().indptr()[i] as usize;
        for (place, &column) in block.by_dst().columns(i).iter().enumerate() {
            let edge = block.edges()[first + place];
            let told = (block.sources()[column as usize], block.sources()[row as usize]);
            assert_eq!(ends[&edge], told, "edge {edge}");
        }
    }
}

#[test]
fn sampled_edges_are_edges_of_the_graph_at_most_as_many_as_asked_for() {
    let files = ["data/karate/karate.json", "tests/fixtures/hetero/g.json"];
    for json in files.map(common::repository) {
        let opened = open(&json, &IndexConfig::default());
        let book = opened.graph.book();
        let ends = edges(&json);
        let seeds: Vec<u64> = (0..book.num_nodes()).rev().collect();
        let in_degrees = opened.graph.in_degrees(&seeds).unwrap();
        for (replace, fanout) in [(false, 2), (true, 3)] {
            let sampler = DistNeighborSampler::new(vec![Fanout::Total(fanout); 2]).unwrap();
            let sampler = sampler.replace(replace);
            let batch = sampler.sample(&*opened.graph, &seeds, key(3)).unwrap();
            batch.blocks.iter().for_each(|block| check_edges(block, &ends));
            let last = &batch.blocks[1];
            let mut counts = vec![0; seeds.len()];
            for (i, &row) in last.by_dst().rows().iter().enumerate() {
                counts[row as usize] = last.by_dst().columns(i).len() as u64;
            }
            for (count, degree) in counts.iter().zip(&in_degrees) {
                let due = match replace {
                    true if *degree > 0 => fanout as u64,
                    true => 0,
                    false => (fanout as u64).min(*degree),
                };
                assert_eq!(*count, due);
            }
        }
    }
}

#[test]
fn each_edge_type_has_its_fan_out() {
    let json = common::repository("tests/fixtures/hetero/g.json");
    let opened = open(&json, &IndexConfig::default());
    let book = opened.graph.book().clone();
    let all: Vec<u64> = (0..book.num_nodes()).collect();
    let every = opened.graph.in_subgraph(&all).unwrap();
    let fanouts: Vec<i64> =
        (0..book.etypes().len() as i64).map(|t| [1, -1, 0][t as usize % 3]).collect();
    let sampler = DistNeighborSampler::new(vec![Fanout::PerEtype(fanouts.clone())]).unwrap();
    let block = &sampler.sample(&*opened.graph, &all, key(1)).unwrap().blocks[0];
    let count = |edges: &[u64], counts: &mut dyn Iterator<Item = u32>| {
        // By node and type.
        let mut table = vec![vec![0_i64; fanouts.len()]; all.len()];
        let mut edges = edges.iter();
        for row in &mut table {
            for _ in 0..counts.next().unwrap() {
                row[book.edge_type(*edges.next().unwrap()).unwrap()] += 1;
            }
        }
        table
    };
    let mut drawn_counts = vec![0; all.len()];
    for (i, &row) in block.by_dst().rows().iter().enumerate() {
        drawn_counts[row as usize] = block.by_dst().columns(i).len() as u32;
    }
    let there = count(&every.edges, &mut every.counts.iter().copied());
    let drawn = count(block.edges(), &mut drawn_counts.into_iter());
    assert!(there.iter().flatten().any(|n| *n > 1));
    for (there, drawn) in there.iter().zip(&drawn) {
        for ((there, drawn), fanout) in there.iter().zip(drawn).zip(&fanouts) {
            assert_eq!(*drawn, if *fanout < 0 { *there } else { (*there).min(*fanout) });
        }
    }
}
