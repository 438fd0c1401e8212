//! Guards against: seeds that optimized batches lose, batches that share no more neighbours than random ones, stale caches.

use std::path::Path;

use sar::Result;
use sar::engine::comm::{NoHooks, Ranks};
use sar::sampling::loaders::{DataLoader, DataLoaderConfig, DistNeighborSampler, MiniBatch};
use sar::sampling::stores::{Fanout, IndexConfig};
use sar::testing::on_ranks;
use sar::words::error::ErrorKind;

use crate::common;
use crate::support::{Opened, open, write_graph};

/// How seeds are grouped into batches.
enum How<'a> {
    Drawn,
    Optimized(Option<&'a Path>),
    /// Grouped if METIS needs no more than this number of bytes.
    InMemory(u64),
}

/// The batches of an epoch on each rank, grouped beforehand or drawn.
fn batches(
    opened: &Opened,
    seeds: &[Vec<u64>],
    config: DataLoaderConfig,
    how: How<'_>,
) -> Result<Vec<Vec<MiniBatch>>> {
    on_ranks(seeds.len(), seeds.len(), |context| {
        let sampler = DistNeighborSampler::new(vec![Fanout::ALL])?;
        let ranks = Ranks { group: &*context.group, hooks: &NoHooks };
        let seeds = seeds[context.rank].clone();
        let loader = DataLoader::new(opened.graph.clone(), seeds, sampler, config, ranks)?;
        let loader = match how {
            How::Drawn => loader,
            How::Optimized(cache) => loader.precompute_optimized_batches(cache, u64::MAX)?,
            How::InMemory(bytes) => loader.precompute_optimized_batches(None, bytes)?,
        };
        loader.epoch(1).collect()
    })
}

fn config(batch_size: usize) -> DataLoaderConfig {
    DataLoaderConfig { batch_size, seed: 5, ..DataLoaderConfig::default() }
}

fn seeds_of(batches: &[MiniBatch]) -> Vec<Vec<u64>> {
    batches.iter().map(|batch| batch.seeds().to_vec()).collect()
}

/// Twelve groups of ten nodes, each a ring with chords, whose nodes are numbered in turns.
fn groups(folder: &Path) -> Opened {
    let node = |group: u64, i: u64| (i % 10) * 12 + group;
    let edges = (0..12).flat_map(|group| {
        (0..10).flat_map(move |i| [1, 3, 9].map(|far| (node(group, i + far), node(group, i))))
    });
    write_graph(folder, 120, &edges.collect::<Vec<_>>(), &[]);
    open(&folder.join("g.json"), &IndexConfig::default())
}

#[test]
fn seeds_with_common_neighbours_come_together() {
    let folder = tempfile::tempdir().unwrap();
    let opened = groups(folder.path());
    let seeds = [(0..120).rev().collect::<Vec<u64>>()];
    let run = |how| batches(&opened, &seeds, config(10), how).unwrap().remove(0);
    let (drawn, optimized) = (run(How::Drawn), run(How::Optimized(None)));
    assert_eq!((drawn.len(), optimized.len()), (12, 12));
    let mut all = seeds_of(&optimized).concat();
    all.sort_unstable();
    assert!(all.into_iter().eq(0..120), "each seed once");
    assert!(optimized.iter().all(|batch| batch.seeds().len() == 10));
    let inputs = |batches: &[MiniBatch]| -> usize {
        batches.iter().map(|batch| batch.input_nodes().len()).sum()
    };
    // A batch that is one of the groups needs its ten nodes; a random one also needs most others' neighbours.
    assert!(inputs(&optimized) < 160, "{}", inputs(&optimized));
    assert!(inputs(&drawn) > 350, "{}", inputs(&drawn));
    // The same again, and in the same order without shuffling.
    assert_eq!(seeds_of(&run(How::Optimized(None))), seeds_of(&optimized));
    let plain = DataLoaderConfig { shuffle: false, ..config(10) };
    let plain = batches(&opened, &seeds, plain, How::Optimized(None)).unwrap().remove(0);
    assert_ne!(seeds_of(&plain), seeds_of(&optimized));
    let sorted = |batches: &[MiniBatch]| {
        let mut seeds = seeds_of(batches);
        seeds.sort();
        seeds
    };
    assert_eq!(sorted(&plain), sorted(&optimized));
    let error = batches(&opened, &seeds, config(10), How::InMemory(1 << 10)).err().unwrap();
    assert_eq!(error.kind(), ErrorKind::OutOfMemory, "{error}");
}

#[test]
fn ranks_have_as_many_batches_whatever_their_seeds() {
    let opened = open(&common::repository("data/karate/karate.json"), &IndexConfig::default());
    let seeds = [(0..20).collect::<Vec<u64>>(), vec![30, 29, 33], vec![]];
    let all = batches(&opened, &seeds, config(4), How::Optimized(None)).unwrap();
    for (batches, seeds) in all.iter().zip(&seeds) {
        assert_eq!(batches.len(), 5);
        assert!(batches.iter().all(|batch| batch.seeds().len() <= 4));
        let mut found = seeds_of(batches).concat();
        found.sort_unstable();
        let mut expected = seeds.clone();
        expected.sort_unstable();
        assert_eq!(found, expected);
    }
}

#[test]
fn a_cache_is_used_again_and_refused_if_it_is_stale() {
    let folder = tempfile::tempdir().unwrap();
    let karate = open(&common::repository("data/karate/karate.json"), &IndexConfig::default());
    let seeds = [(0..16).collect::<Vec<u64>>()];
    let cache = folder.path().join("made/batches");
    let run = |opened: &Opened, seeds: &[Vec<u64>], config| {
        batches(opened, seeds, config, How::Optimized(Some(&cache))).map(|b| seeds_of(&b[0]))
    };
    let first = run(&karate, &seeds, config(4)).unwrap();
    let file = folder.path().join("made/batches_0_4");
    let bytes = std::fs::read(&file).unwrap();
    assert_eq!(run(&karate, &seeds, config(4)).unwrap(), first);
    assert_eq!(std::fs::read_dir(folder.path().join("made")).unwrap().count(), 1);

    // Batches do come from the file: here, two of them are swapped.
    let mut changed = bytes.clone();
    let start = bytes.iter().position(|b| *b == b'\n').unwrap() + 1;
    changed[start..start + 64].rotate_left(32);
    let end = changed.len() - 4;
    let checksum = crc32fast::hash(&changed[start..end]);
    changed[end..].copy_from_slice(&checksum.to_le_bytes());
    std::fs::write(&file, &changed).unwrap();
    assert_ne!(run(&karate, &seeds, config(4)).unwrap(), first);

    std::fs::write(&file, &bytes).unwrap();
    let refused = |opened: &Opened, seeds: &[Vec<u64>], config, why: &str| {
        let error = run(opened, seeds, config).unwrap_err().to_string();
        assert!(error.contains("batches_0_4") && error.contains(why), "{error}");
    };
    refused(&karate, &[(1..17).collect()], config(4), "for other seeds");
    refused(&karate, &seeds, DataLoaderConfig { seed: 6, ..config(4) }, "another seed");
    refused(&karate, &seeds, config(5), "another batch size");
    let other = groups(&folder.path().join("graph"));
    refused(&other, &seeds, config(4), "another graph");
    for (damage, why) in [(bytes.len() - 1, "is damaged"), (5, "holds no batches")] {
        std::fs::write(&file, &bytes[..damage]).unwrap();
        refused(&karate, &seeds, config(4), why);
    }
}
