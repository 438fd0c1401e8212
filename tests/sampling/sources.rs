//! Guards against: samples that depend on whether a partition is read or its owner is asked, and ranks that wait for ever.

use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;

use sar::engine::comm::{FileGroup, NoHooks, ProcessGroup, Ranks};
use sar::engine::turns::Control;
use sar::formats::dgl::config::PartitionConfig;
use sar::io::{DiskStorage, IoCounters};
use sar::load::{EdgeFeatures, NodeColumn, Normalize, Reachable};
use sar::sampling::loaders::{
    DataLoader, DataLoaderConfig, DistEdgeDataLoader, DistNeighborSampler, EdgeMiniBatch, Exclude,
    MiniBatch, NegativeSampler, SampledGraph,
};
use sar::sampling::stores::{CollectiveGraph, Fanout, IndexConfig};
use tempfile::TempDir;

use crate::common;
use crate::support::{Opened, open};

/// Runs `work` on two ranks, with messages in memory and on disk.
fn on_every_backend(work: impl Fn(Rc<dyn ProcessGroup>) + Sync) {
    let control = Arc::new(Control::in_memory(2, 2).unwrap());
    run(FileGroup::in_memory(&control), &work);
    let folder = tempfile::tempdir().unwrap();
    let control = Arc::new(Control::create(&folder.path().join("control"), 2, 2).unwrap());
    let group = |rank| {
        let storage = Arc::new(DiskStorage::default());
        FileGroup::new(control.clone(), rank, folder.path(), storage, IoCounters::default())
    };
    run((0..2).map(group).collect(), &work);
}

fn run<G: ProcessGroup + Send + 'static>(
    groups: Vec<G>,
    work: &(impl Fn(Rc<dyn ProcessGroup>) + Sync),
) {
    std::thread::scope(|scope| {
        for group in groups {
            scope.spawn(move || work(Rc::new(group)));
        }
    });
}

/// A partition directory for each rank, with the files of its own partition only.
fn own_disks(json: &Path) -> (TempDir, [PathBuf; 2]) {
    let folder = tempfile::tempdir().unwrap();
    let (from, name) = (json.parent().unwrap(), json.file_name().unwrap());
    let jsons = [0, 1].map(|rank| {
        let disk = folder.path().join(rank.to_string());
        let part = format!("part{rank}");
        std::fs::create_dir_all(disk.join(&part)).unwrap();
        for entry in std::fs::read_dir(from.join(&part)).unwrap() {
            let entry = entry.unwrap();
            std::fs::copy(entry.path(), disk.join(&part).join(entry.file_name())).unwrap();
        }
        std::fs::copy(json, disk.join(name)).unwrap();
        disk.join(name)
    });
    (folder, jsons)
}

/// The graph as a rank with its own disk sees it.
fn asked(
    json: &Path,
    keys: &IndexConfig,
    group: &Rc<dyn ProcessGroup>,
) -> (Rc<CollectiveGraph>, TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let config = PartitionConfig::open(json).unwrap();
    let hooks = Rc::new(NoHooks);
    let graph = CollectiveGraph::create(&config, keys, folder.path(), group.clone(), hooks);
    (Rc::new(graph.unwrap()), folder)
}

fn sampler(fanouts: &[Fanout], features: Reachable<'_>) -> DistNeighborSampler {
    let counters = IoCounters::default();
    let column = |key| NodeColumn::named(features.clone(), key, counters.clone()).unwrap();
    let x = NodeColumn::features(features.clone(), None, Normalize::Row, counters.clone()).unwrap();
    let sampler = DistNeighborSampler::new(fanouts.to_vec()).unwrap();
    let edges = EdgeFeatures::find(features.clone(), "weight", counters.clone()).unwrap();
    let sampler = sampler.input_node_feature("x", x).edge_feature("w", edges);
    sampler.output_node_feature("y", column("labels")).output_node_feature("z", column("features"))
}

fn config(batch_size: usize) -> DataLoaderConfig {
    DataLoaderConfig { batch_size, seed: 3, ..DataLoaderConfig::default() }
}

fn assert_same(a: &MiniBatch, b: &MiniBatch) {
    assert_eq!(a.blocks, b.blocks);
    assert_eq!(a.out_degrees, b.out_degrees);
    let columns = [(&a.srcdata, &b.srcdata), (&a.dstdata, &b.dstdata)].into_iter();
    for (ours, theirs) in columns.chain(a.edata.iter().zip(&b.edata)) {
        assert!(ours.keys().eq(theirs.keys()));
        for (ours, theirs) in ours.values().zip(theirs.values()) {
            assert_eq!(ours.kind(), theirs.kind());
            assert!(ours.size() == theirs.size() && ours.equal(theirs));
        }
    }
}

#[test]
fn batches_of_nodes_are_the_same_bit_for_bit() {
    let json = common::repository("data/karate/karate.json");
    let weight = Some("weight".to_owned());
    let keys = IndexConfig { weight: weight.clone(), probability: weight, ..Default::default() };
    let (_disks, jsons) = own_disks(&json);
    let opened: Opened = open(&json, &keys);
    // Seeds of both partitions on both ranks, in different numbers; then a rank without any.
    let seeds = [(0..29).rev().collect::<Vec<u64>>(), vec![30, 2, 33]];
    on_every_backend(|group| {
        let rank = group.rank();
        let (graph, _folder) = asked(&jsons[rank], &keys, &group);
        let hows: [fn(DistNeighborSampler) -> DistNeighborSampler; 3] =
            [|s| s, |s| s.replace(true), |s| s.weighted(true).out_degrees(false)];
        for (how, own) in hows.iter().flat_map(|how| [(how, rank), (how, 2 * rank)]) {
            let seeds = seeds.get(own).cloned().unwrap_or_default();
            let batches = |graph: SampledGraph, features| -> Vec<MiniBatch> {
                let sampler = how(sampler(&[Fanout::Total(3), Fanout::Total(2)], features));
                let ranks = Ranks { group: &*group, hooks: &NoHooks };
                let loader = DataLoader::new(graph, seeds.clone(), sampler, config(4), ranks);
                let loader = loader.unwrap();
                (1..3).flat_map(|epoch| loader.epoch(epoch)).collect::<Result<_, _>>().unwrap()
            };
            let files = batches(opened.graph.clone().into(), opened.graph.config().into());
            let collectives = batches(graph.clone().into(), graph.reachable());
            assert!(files.len() == 16 && collectives.len() == 16);
            assert!(rank == 1 || files.iter().any(|batch| batch.blocks[0].num_edges() > 10));
            files.iter().zip(&collectives).for_each(|(a, b)| assert_same(a, b));
        }
    });
}

#[test]
fn batches_of_edges_are_the_same_bit_for_bit() {
    let json = common::repository("tests/fixtures/hetero/g.json");
    let keys = IndexConfig { ends: true, ..Default::default() };
    let (_disks, jsons) = own_disks(&json);
    let opened = open(&json, &keys);
    let book = opened.graph.book().clone();
    let fanouts = vec![2, -1, 1].into_iter().cycle().take(book.etypes().len()).collect();
    let fanouts = [Fanout::PerEtype(fanouts), Fanout::ALL];
    let (exclude_self_loops, replace) = (true, false);
    let negatives = [
        NegativeSampler::PerSourceUniform(2),
        NegativeSampler::GlobalUniform { per_edge: 2, exclude_self_loops, replace },
    ];
    on_every_backend(|group| {
        let rank = group.rank();
        let (graph, _folder) = asked(&jsons[rank], &keys, &group);
        for negatives in negatives {
            let batches = |graph: SampledGraph| -> Vec<EdgeMiniBatch> {
                let edges = if rank == 0 { book.edge_range(0).collect() } else { vec![1, 20] };
                let sampler = DistNeighborSampler::new(fanouts.to_vec()).unwrap();
                let ranks = Ranks { group: &*group, hooks: &NoHooks };
                let loader = DistEdgeDataLoader::new(
                    graph,
                    edges,
                    sampler,
                    Exclude::BetweenEnds,
                    Some(negatives),
                    config(5),
                    ranks,
                );
                loader.unwrap().epoch(1).collect::<Result<_, _>>().unwrap()
            };
            let (files, asked) =
                (batches(opened.graph.clone().into()), batches(graph.clone().into()));
            assert!(files.len() > 2 && files.len() == asked.len());
            for (a, b) in files.iter().zip(&asked) {
                assert_eq!(
                    (&a.edges, &a.positive, &a.negative),
                    (&b.edges, &b.positive, &b.negative)
                );
                assert_same(&a.neighbourhood, &b.neighbourhood);
            }
        }
    });
}

#[test]
fn rows_of_others_are_asked_for_and_not_read() {
    let json = common::repository("data/karate/karate.json");
    let (_disks, jsons) = own_disks(&json);
    on_every_backend(|group| {
        let (graph, _folder) = asked(&jsons[group.rank()], &IndexConfig::default(), &group);
        let column = graph.ndata("features").unwrap();
        let foreign = if group.rank() == 0 { 33 } else { 0 };
        let error = column.read(&[foreign]).unwrap_err().to_string();
        assert!(error.contains("are not reachable"), "{error}");
    });
    let control = Arc::new(Control::in_memory(1, 1).unwrap());
    let alone: Rc<dyn ProcessGroup> = Rc::new(FileGroup::in_memory(&control).remove(0));
    let partitions = PartitionConfig::open(&json).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let (keys, hooks) = (IndexConfig::default(), Rc::new(NoHooks));
    let made = CollectiveGraph::create(&partitions, &keys, folder.path(), alone, hooks);
    assert!(made.err().unwrap().to_string().contains("1 for 2 partitions"));
}
