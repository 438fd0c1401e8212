//! Guards against: a model that sees the edges it is to predict, and negative pairs that are edges.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use sar::engine::comm::{NoHooks, Ranks};
use sar::formats::dgl::config::PartitionConfig;
use sar::formats::dgl::{InnerEdge, Partition};
use sar::load::{EdgeSplit, EdgeUse, TargetEdges};
use sar::sampling::loaders::{
    DataLoaderConfig, DistEdgeDataLoader, DistNeighborSampler, EdgeMiniBatch, Exclude,
    NegativeSampler, Pairs,
};
use sar::sampling::stores::{Fanout, GraphSource, IndexConfig};
use sar::testing::on_ranks;

use crate::common;
use crate::support::{Opened, open};

fn opened(json: &str) -> Opened {
    open(&common::repository(json), &IndexConfig { ends: true, ..IndexConfig::default() })
}

fn batches(
    opened: &Opened,
    (exclude, negatives): (Exclude, Option<NegativeSampler>),
    sampler_threads: usize,
) -> Vec<EdgeMiniBatch> {
    let graph = &opened.graph;
    let work = |context: sar::testing::RankContext| {
        let sampler = DistNeighborSampler::new(vec![Fanout::ALL; 2])?;
        let config = DataLoaderConfig { batch_size: 16, sampler_threads, ..Default::default() };
        let edges = (0..graph.num_edges(None)?).collect();
        let ranks = Ranks { group: &*context.group, hooks: &NoHooks };
        let exclude = exclude.clone();
        let loader = DistEdgeDataLoader::new(
            graph.clone(),
            edges,
            sampler,
            exclude,
            negatives,
            config,
            ranks,
        )?;
        loader.epoch(1).collect()
    };
    on_ranks(1, 1, work).unwrap().remove(0)
}

/// The nodes of pairs.
fn ends(batch: &EdgeMiniBatch, pairs: &Pairs) -> Vec<(u64, u64)> {
    let node = |row: &i64| batch.neighbourhood.seeds()[*row as usize];
    let pairs = pairs.sources.iter().zip(&pairs.destinations);
    pairs.map(|(source, destination)| (node(source), node(destination))).collect()
}

const UNEVEN: &str = "tests/fixtures/hetero_uneven/g.json";
const UNIFORM: NegativeSampler = NegativeSampler::PerSourceUniform(3);

#[test]
fn every_edge_comes_once_with_its_ends_whatever_the_number_of_threads() {
    let opened = opened("data/karate/karate.json");
    let how = || (Exclude::Nothing, Some(UNIFORM));
    let all = batches(&opened, how(), 0);
    let mut seen: Vec<u64> = all.iter().flat_map(|batch| batch.edges.clone()).collect();
    seen.sort_unstable();
    assert!(seen.into_iter().eq(0..190));
    for (batch, other) in all.iter().zip(batches(&opened, how(), 3)) {
        let (sources, destinations) = opened.graph.find_edges(&batch.edges).unwrap();
        let expected: Vec<_> = sources.into_iter().zip(destinations).collect();
        assert_eq!(ends(batch, &batch.positive), expected);
        assert_eq!((&batch.edges, &batch.negative), (&other.edges, &other.negative));
        assert_eq!(batch.neighbourhood.blocks, other.neighbourhood.blocks);
    }
}

#[test]
fn excluded_edges_are_in_no_block() {
    let opened = opened("data/karate/karate.json");
    // The graph is bidirected: every edge has a reverse.
    let (sources, destinations) = opened.graph.find_edges(&(0..190).collect::<Vec<_>>()).unwrap();
    let of = move |edge: u64| (sources[edge as usize], destinations[edge as usize]);
    let ids: std::collections::HashMap<_, u64> = (0..190).map(|edge| (of(edge), edge)).collect();
    let reverse = move |edge: u64| ids[&(of(edge).1, of(edge).0)];
    let in_blocks = |batch: &EdgeMiniBatch| -> HashSet<u64> {
        batch.neighbourhood.blocks.iter().flat_map(|block| block.edges().to_vec()).collect()
    };
    let with_reverse = Exclude::WithReverse(Arc::new(reverse.clone()));
    for batch in batches(&opened, (Exclude::Nothing, None), 1) {
        assert!(batch.edges.iter().all(|edge| in_blocks(&batch).contains(edge)));
        assert_eq!(batch.negative, Pairs::default());
    }
    for batch in batches(&opened, (Exclude::Batch, None), 1) {
        let there = in_blocks(&batch);
        assert!(!there.is_empty() && batch.edges.iter().all(|edge| !there.contains(edge)));
    }
    for batch in batches(&opened, (with_reverse, None), 1) {
        let there = in_blocks(&batch);
        let hidden = |edge: &u64| !there.contains(edge) && !there.contains(&reverse(*edge));
        assert!(batch.edges.iter().all(hidden));
    }
}

#[test]
fn of_some_edge_types_all_edges_between_the_ends_are_left_out_and_of_others_none() {
    let opened = opened(UNEVEN);
    let book = opened.graph.book().clone();
    let [writes, links] = ["writes", "paper:links:author"].map(|e| book.get_etype_id(e).unwrap());
    let last = |batch: &EdgeMiniBatch| batch.neighbourhood.blocks[1].edges().to_vec();
    let all = batches(&opened, (Exclude::Nothing, None), 1);
    let some = batches(&opened, (Exclude::BetweenEndsOf(vec![writes, links]), None), 1);
    let (mut kept, mut left_out) = (0, 0);
    for (all, some) in all.iter().zip(&some) {
        let between = |(a, b): (u64, u64)| (a.min(b), a.max(b));
        let asked: HashSet<_> = ends(all, &all.positive).into_iter().map(between).collect();
        let candidates = last(all);
        let (sources, destinations) = opened.graph.find_edges(&candidates).unwrap();
        let ends = sources.into_iter().zip(destinations).map(between);
        let expected = candidates.iter().zip(ends).filter(|(edge, ends)| {
            let etype = book.edge_type(**edge).unwrap();
            let inside = asked.contains(ends);
            kept += usize::from(inside && ![writes, links].contains(&etype));
            left_out += usize::from(inside && [writes, links].contains(&etype));
            !(inside && [writes, links].contains(&etype))
        });
        assert_eq!(last(some), expected.map(|(edge, _)| *edge).collect::<Vec<_>>());
    }
    assert!(kept > 0 && left_out > 0);
}

#[test]
fn edges_of_the_predicted_type_are_kept_back_with_their_reverses_and_others_carry_messages() {
    let config = PartitionConfig::open(&common::repository(UNEVEN)).unwrap();
    let book = config.book();
    let target = TargetEdges::find(book, "writes", Some("paper:links:author")).unwrap();
    let split = EdgeSplit::Fractions { val: 0.25, test: 0.25 };
    let mut by_pair: HashMap<(u64, u64), HashSet<&str>> = HashMap::new();
    let mut counts = [0; 4];
    for part in 0..book.num_parts() {
        let partition = Partition::open(&config, part).unwrap();
        let uses = split.uses(&partition, Some(target), false, 3).unwrap();
        let without = split.uses(&partition, None, false, 3).unwrap();
        let first = book.edge_range(part).start;
        let check = |InnerEdge { src, dst, etype, id, .. }| {
            let place = (id - first) as usize;
            let found = uses[place];
            if etype == target.etype {
                assert_eq!(found, without[place]);
                counts[found as usize] += 1;
            } else if Some(etype) != target.reverse {
                assert_eq!(found, EdgeUse::Message);
                return Ok(());
            }
            let carries = matches!(found, EdgeUse::Train | EdgeUse::Message);
            let side = if carries { "messages" } else { "none" };
            let ends = (src.min(dst), src.max(dst));
            by_pair.entry(ends).or_default().insert(side);
            Ok(())
        };
        partition.each_edge(check).unwrap();
    }
    assert!(by_pair.values().all(|sides| sides.len() == 1), "{by_pair:?}");
    let [train, message, val, test] = counts;
    assert!(train > 5 && val > 0 && test > 0 && message == 0, "{counts:?}");
    let masks = EdgeSplit::Masks { train: "weight".to_owned(), val: None, test: None };
    let uses = masks.uses(&Partition::open(&config, 0).unwrap(), Some(target), true, 3).unwrap();
    assert!(uses.contains(&EdgeUse::Train) && uses.contains(&EdgeUse::Message));
}

#[test]
fn negatives_keep_the_source_or_are_no_edges() {
    for json in ["data/karate/karate.json", "tests/fixtures/hetero/g.json"] {
        let opened = opened(json);
        let book = opened.graph.book().clone();
        for batch in batches(&opened, (Exclude::Nothing, Some(UNIFORM)), 1) {
            let (positive, negative) =
                (ends(&batch, &batch.positive), ends(&batch, &batch.negative));
            assert_eq!(negative.len(), 3 * positive.len());
            for (i, (source, destination)) in negative.iter().enumerate() {
                assert_eq!(*source, positive[i / 3].0);
                assert_eq!(book.node_type(*destination), book.node_type(positive[i / 3].1));
            }
        }
        let all: Vec<u64> = (0..book.num_edges()).collect();
        let (sources, destinations) = opened.graph.find_edges(&all).unwrap();
        let edges: HashSet<_> = sources.into_iter().zip(destinations).collect();
        let (exclude_self_loops, replace) = (true, false);
        let global = NegativeSampler::GlobalUniform { per_edge: 2, exclude_self_loops, replace };
        for batch in batches(&opened, (Exclude::Nothing, Some(global)), 1) {
            let negative = ends(&batch, &batch.negative);
            assert!(!negative.is_empty() && negative.len() <= 2 * batch.edges.len());
            assert!(negative.iter().all(|pair| pair.0 != pair.1 && !edges.contains(pair)));
            assert_eq!(negative.iter().collect::<HashSet<_>>().len(), negative.len());
        }
    }
}
