//! Guards against: batches that depend on threads, seeds that are lost, ranks that wait for each other for ever.

use std::sync::Arc;

use sar::engine::comm::{NoHooks, Ranks};
use sar::io::IoCounters;
use sar::load::{NodeColumn, Normalize};
use sar::sampling::loaders::{DataLoader, DataLoaderConfig, DistNeighborSampler, MiniBatch};
use sar::sampling::stores::{Fanout, GraphSource, IndexConfig};
use sar::testing::on_ranks;

use crate::common;
use crate::support::{Opened, open};

fn karate() -> Opened {
    open(&common::repository("data/karate/karate.json"), &IndexConfig::default())
}

/// The batches of two epochs on each rank.
fn batches(seeds: &[Vec<u64>], config: DataLoaderConfig) -> Vec<Vec<MiniBatch>> {
    let opened = karate();
    let graph = opened.graph.clone();
    on_ranks(seeds.len(), seeds.len(), |context| {
        let sampler = DistNeighborSampler::new(vec![Fanout::Total(3), Fanout::Total(2)])?;
        let key = (graph.config(), IoCounters::default());
        let features = NodeColumn::features(key.0, None, Normalize::None, key.1.clone())?;
        let labels = NodeColumn::labels(key.0, None, key.1)?;
        let sampler = sampler.input_node_feature("x", features).output_node_feature("y", labels);
        let seeds = seeds[context.rank].clone();
        let ranks = Ranks { group: &*context.group, hooks: &NoHooks };
        let loader = DataLoader::new(graph.clone(), seeds, sampler, config, ranks)?;
        (1..3).flat_map(|epoch| loader.epoch(epoch)).collect()
    })
    .unwrap()
}

fn config(batch_size: usize) -> DataLoaderConfig {
    DataLoaderConfig { batch_size, seed: 5, ..DataLoaderConfig::default() }
}

fn same(a: &MiniBatch, b: &MiniBatch) -> bool {
    let rows = |batch: &MiniBatch| -> Vec<f32> {
        Vec::try_from(batch.input("x").unwrap().flatten(0, -1)).unwrap()
    };
    let labels =
        |batch: &MiniBatch| -> Vec<i64> { Vec::try_from(batch.output("y").unwrap()).unwrap() };
    a.blocks == b.blocks && rows(a) == rows(b) && labels(a) == labels(b)
}

#[test]
fn batches_do_not_depend_on_the_number_of_threads() {
    let seeds = vec![(0..34).collect::<Vec<u64>>()];
    let alone = batches(&seeds, DataLoaderConfig { sampler_threads: 0, ..config(4) });
    assert_eq!(alone[0].len(), 18);
    for sampler_threads in [1, 2, 5, 30] {
        let together = batches(&seeds, DataLoaderConfig { sampler_threads, ..config(4) });
        assert_eq!(together[0].len(), alone[0].len());
        assert!(alone[0].iter().zip(&together[0]).all(|(a, b)| same(a, b)));
    }
    let other = batches(&seeds, DataLoaderConfig { seed: 6, ..config(4) });
    assert!(!same(&alone[0][0], &other[0][0]));
}

#[test]
fn an_epoch_visits_every_seed_once_in_an_order_of_its_own() {
    let seeds = vec![(0..34).collect::<Vec<u64>>()];
    let all = batches(&seeds, config(5));
    let orders: Vec<Vec<u64>> = all[0]
        .chunks(7)
        .map(|epoch| epoch.iter().flat_map(|batch| batch.seeds().to_vec()).collect())
        .collect();
    assert_ne!(orders[0], orders[1]);
    for mut order in orders {
        order.sort_unstable();
        assert_eq!(order, seeds[0]);
    }
    let dropped = batches(&seeds, DataLoaderConfig { drop_last: true, ..config(5) });
    assert!(dropped[0].len() == 12 && dropped[0].iter().all(|batch| batch.seeds().len() == 5));
    let plain = batches(&seeds, DataLoaderConfig { shuffle: false, ..config(5) });
    assert_eq!(plain[0][0].seeds(), [0, 1, 2, 3, 4]);
}

#[test]
fn ranks_with_fewer_seeds_repeat_theirs() {
    let seeds = vec![(0..20).collect::<Vec<u64>>(), vec![20, 21, 22, 23, 24, 25], vec![]];
    let all = batches(&seeds, config(4));
    assert!(all.iter().all(|batches| batches.len() == 10), "five steps in each of two epochs");
    let sizes = |rank: usize| -> Vec<usize> {
        all[rank][..5].iter().map(|batch| batch.seeds().len()).collect()
    };
    assert_eq!(sizes(0), [4; 5]);
    assert_eq!(sizes(1), [4, 2, 4, 2, 4]);
    assert_eq!(sizes(2), [0; 5]);
    assert_eq!(all[1][0].seeds(), all[1][2].seeds());
    assert!(all[1][0].blocks != all[1][2].blocks, "a repeated batch draws other neighbours");
}

#[test]
fn even_batches_visit_every_seed_once_in_as_many_steps() {
    let seeds = vec![(0..20).collect::<Vec<u64>>(), vec![20, 21, 22, 23, 24, 25], vec![]];
    let all = batches(&seeds, DataLoaderConfig { even: true, ..config(4) });
    let steps: Vec<usize> = all.iter().map(Vec::len).collect();
    assert_eq!(steps, [10; 3], "five steps in each of two epochs");
    for (seeds, batches) in seeds.iter().zip(&all) {
        let sizes = batches.iter().map(|batch| batch.seeds().len());
        assert!(sizes.clone().max().unwrap() - sizes.min().unwrap() <= 1);
        let mut seen: Vec<u64> =
            batches[..5].iter().flat_map(|batch| batch.seeds().to_vec()).collect();
        seen.sort_unstable();
        assert_eq!(seen, *seeds);
    }
}

#[test]
fn rows_belong_to_their_nodes() {
    let opened = karate();
    let all: Vec<u64> = (0..34).collect();
    let column = opened.graph.ndata("features").unwrap();
    let mut whole = vec![0.0; 34 * column.width()];
    column.read_f32(&all, &mut whole).unwrap();
    let nodes = [33, 0, 17, 17, 2, 33];
    let mut rows = vec![0.0; nodes.len() * column.width()];
    column.read_f32(&nodes, &mut rows).unwrap();
    for (row, node) in rows.chunks(column.width()).zip(nodes) {
        assert_eq!(row, &whole[node as usize * column.width()..][..column.width()]);
    }
    assert!(column.read_f32(&[34], &mut vec![0.0; column.width()]).is_err());
    // The degrees that blocks carry belong to the whole graph.
    let edges = opened.graph.in_subgraph(&all).unwrap();
    let mut out_degrees = vec![0; 34];
    edges.sources.iter().for_each(|source| out_degrees[*source as usize] += 1);
    assert_eq!(opened.graph.out_degrees(&all).unwrap(), out_degrees);
    assert_eq!(Arc::strong_count(&opened.graph), 1);
}

#[test]
fn a_missing_node_or_a_seed_named_twice_is_an_error() {
    let opened = karate();
    let sampler = DistNeighborSampler::new(vec![Fanout::ALL]).unwrap();
    let sample = |seeds: &[u64]| sampler.sample(&*opened.graph, seeds, crate::support::key(0));
    let text = |seeds: &[u64]| sample(seeds).err().unwrap().to_string();
    assert!(text(&[34]).contains("no node 34"));
    assert!(text(&[3, 3]).contains("node 3 occurs twice"));
    assert!(sample(&[3]).unwrap().input("x").is_err());
    assert!(DistNeighborSampler::new(vec![]).is_err());
}
