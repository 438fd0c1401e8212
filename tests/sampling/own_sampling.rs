//! Guards against: a program's own frontiers and batches that lose seeds, depend on threads, or are used unchecked.

use std::sync::Arc;

use sar::engine::comm::{NoHooks, Ranks};
use sar::graph::InEdges;
use sar::sampling::loaders::{
    DataLoader, DataLoaderConfig, DistEdgeDataLoader, DistNeighborSampler, Exclude, Loader,
};
use sar::sampling::stores::{DistGraph, GraphSource, IndexConfig, SampleKey};
use sar::testing::on_ranks;
use sar::{ErrorKind, Result};

use crate::common;
use crate::support::{Opened, open};

fn karate() -> Opened {
    let keys = IndexConfig { ends: true, ..IndexConfig::default() };
    open(&common::repository("data/karate/karate.json"), &keys)
}

/// The in-edges from the two sources with the largest ids, which no sampler of the library draws.
fn largest(graph: &dyn GraphSource, nodes: &[u64]) -> Result<InEdges> {
    let all = graph.in_subgraph(nodes)?;
    let mut drawn = InEdges::default();
    let mut rest = all.sources.iter().copied().zip(all.edges.iter().copied());
    for count in all.counts {
        let mut own: Vec<(u64, u64)> = rest.by_ref().take(count as usize).collect();
        own.sort_unstable();
        let kept = &own[own.len().saturating_sub(2)..];
        drawn.counts.push(kept.len() as u32);
        drawn.sources.extend(kept.iter().map(|(source, _)| source));
        drawn.edges.extend(kept.iter().map(|(_, edge)| edge));
    }
    Ok(drawn)
}

fn config(sampler_threads: usize) -> DataLoaderConfig {
    DataLoaderConfig { batch_size: 5, sampler_threads, ..DataLoaderConfig::default() }
}

#[test]
fn a_frontier_of_the_programs_own_makes_the_blocks() {
    let Opened { graph, .. } = &karate();
    let batches = |threads| {
        let batches = on_ranks(1, 1, |context| {
            let ranks = Ranks { group: &*context.group, hooks: &NoHooks };
            let sampler =
                DistNeighborSampler::with_frontier(2, |graph, _, nodes, _| largest(graph, nodes))?
                    .input_node_feature("x", graph.ndata("features")?);
            let seeds = (0..34).collect();
            let loader = DataLoader::new(graph.clone(), seeds, sampler, config(threads), ranks)?;
            loader.epoch(1).collect::<Result<Vec<_>>>()
        });
        batches.unwrap().remove(0)
    };
    let alone = batches(0);
    let mut seeds: Vec<u64> = alone.iter().flat_map(|batch| batch.seeds().to_vec()).collect();
    seeds.sort_unstable();
    assert_eq!(seeds, (0..34).collect::<Vec<u64>>());
    for batch in &alone {
        for block in &batch.blocks {
            assert_eq!(block.edges(), largest(&**graph, block.destinations()).unwrap().edges);
        }
        assert_eq!(batch.blocks[0].destinations(), batch.blocks[1].sources());
        let rows = graph.ndata("features").unwrap().read(batch.input_nodes()).unwrap();
        assert_eq!(batch.input("x").unwrap(), &rows);
    }
    for threads in [1, 3] {
        assert!(batches(threads).iter().zip(&alone).all(|(a, b)| a.blocks == b.blocks));
    }
}

#[test]
fn edges_are_excluded_from_a_frontier_of_the_programs_own() {
    let Opened { graph, .. } = &karate();
    let left = on_ranks(1, 1, |context| {
        let ranks = Ranks { group: &*context.group, hooks: &NoHooks };
        let sampler =
            DistNeighborSampler::with_frontier(1, |graph, _, nodes, _| largest(graph, nodes))?;
        let edges = (0..graph.num_edges(None)?).collect();
        let loader = DistEdgeDataLoader::new(
            graph.clone(),
            edges,
            sampler,
            Exclude::Batch,
            None,
            config(0),
            ranks,
        )?;
        let mut left = 0;
        for batch in loader.epoch(1) {
            let batch = batch?;
            let block = &batch.neighbourhood.blocks[0];
            assert!(block.edges().iter().all(|edge| !batch.edges.contains(edge)));
            left += block.num_edges();
        }
        Ok(left)
    });
    assert!(left.unwrap()[0] > 0);
}

/// Makes drawn edges wrong.
type Change = fn(&mut InEdges);

#[test]
fn a_frontier_that_does_not_match_its_nodes_is_refused() {
    let Opened { graph, .. } = &karate();
    let cases: [(Change, &str); 4] = [
        (|drawn| drawn.counts.push(0), "layer 0: 3 counts of in-edges for 2 nodes"),
        (|drawn| drawn.sources.truncate(1), "1 sources for"),
        (|drawn| drawn.weights.push(1.0), "1 weights for"),
        (|drawn| drawn.sources[0] = 34, "there is no node 34; ids are below 34"),
    ];
    for (change, problem) in cases {
        let sampler = DistNeighborSampler::with_frontier(1, move |graph, _, nodes, _| {
            let mut drawn = largest(graph, nodes)?;
            change(&mut drawn);
            Ok(drawn)
        });
        let key = SampleKey { seed: 0, epoch: 1, batch: 0, layer: 0 };
        let Err(error) = sampler.unwrap().sample(&**graph, &[0, 5], key) else {
            panic!("{problem}: no error");
        };
        assert_eq!(error.kind(), ErrorKind::Config);
        assert!(error.to_string().starts_with("sample_frontier: layer 0: "), "{error}");
        assert!(error.to_string().contains(problem), "{error}");
    }
    assert!(
        DistNeighborSampler::with_frontier(0, |graph, _, nodes, _| largest(graph, nodes)).is_err()
    );
}

/// In-degrees of a batch's seeds, through a loader that knows nothing of blocks.
fn degrees(graph: &Arc<DistGraph>, threads: usize, seeds: &[Vec<u64>]) -> Vec<Vec<Vec<u64>>> {
    let all = on_ranks(seeds.len(), seeds.len(), |context| {
        let ranks = Ranks { group: &*context.group, hooks: &NoHooks };
        let own = seeds[context.rank].clone();
        let collate =
            |graph: &dyn GraphSource, seeds: &[u64], _: SampleKey| graph.in_degrees(seeds);
        let loader = Loader::with_collate_fn(graph.clone(), own, config(threads), ranks, collate)?;
        assert_eq!(loader.len(), 4);
        loader.epoch(1).collect::<Result<Vec<_>>>()
    });
    all.unwrap()
}

#[test]
fn a_collate_fn_of_the_programs_own_makes_the_batches() {
    let Opened { graph, .. } = &karate();
    let seeds = [(0..20).collect::<Vec<u64>>(), (20..34).collect()];
    let alone = degrees(graph, 0, &seeds);
    for (batches, seeds) in alone.iter().zip(&seeds) {
        let mut all: Vec<u64> =
            batches[..seeds.len().div_ceil(5)].iter().flatten().copied().collect();
        let mut expected = graph.in_degrees(seeds).unwrap();
        all.sort_unstable();
        expected.sort_unstable();
        assert_eq!(all, expected);
    }
    assert_eq!(degrees(graph, 2, &seeds), alone);
}
