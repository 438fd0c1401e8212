//! Batches of nodes with many common neighbours.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::io::AtomicFile;
use crate::platform::{free_memory, give_memory_back, resident_bytes};
use crate::prepare::partition::metis::WeightedGraph;
use crate::words::error::{Error, ErrorKind, Result};
use crate::words::size::size;

const VERSION: u32 = 1;

/// Inputs of a cached cut.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Key {
    version: u32,
    batch_size: usize,
    seed: u64,
    /// CRC-32 of the seeds.
    nodes: u32,
    /// CRC-32 of their partitions' edges.
    graph: u32,
}

/// Seeds to divide into batches that share neighbours.
#[derive(Debug, Clone, Copy)]
pub struct SeedGroups<'a> {
    /// The seeds, without repetition.
    pub seeds: &'a [u64],
    /// Largest number of seeds per batch.
    pub batch_size: usize,
    /// Number of batches.
    pub num_batches: usize,
    /// Seed of METIS.
    pub seed: u64,
    /// Bytes to which this process may grow. METIS may take half of the free memory.
    pub memory: u64,
}

impl SeedGroups<'_> {
    /// Batches of at most the batch size, each in ascending order, possibly empty: METIS's cut of the seeds'
    /// partitions, whose nodes are `own`, with `counts` in-edges from `sources`. Batches are read from the cache if it
    /// exists, and otherwise stored there.
    ///
    /// # Errors
    /// If METIS needs more memory than it may take, or the cache was made for another graph, other seeds, or
    /// another batch size or seed.
    pub fn batches(
        &self,
        own: &[u64],
        counts: &[u32],
        sources: impl AsRef<[u64]>,
        cache: Option<&Path>,
    ) -> Result<Vec<Vec<u64>>> {
        let neighbours = Neighbours::of(own, counts, sources.as_ref());
        drop(sources);
        let SeedGroups { batch_size, seed, .. } = *self;
        let nodes = crc32fast::hash(bytemuck::cast_slice(self.seeds));
        let key = Key { version: VERSION, batch_size, seed, nodes, graph: neighbours.checksum };
        if let Some(path) = cache.filter(|path| path.exists()) {
            return load(path, &key);
        }
        let batches = self.cut(&neighbours)?;
        cache.map_or(Ok(()), |path| save(path, &key, &batches))?;
        Ok(batches)
    }

    fn cut(&self, neighbours: &Neighbours) -> Result<Vec<Vec<u64>>> {
        let mut batches = vec![Vec::new(); self.num_batches];
        if self.seeds.len() <= self.num_batches {
            self.seeds.iter().zip(&mut batches).for_each(|(seed, batch)| batch.push(*seed));
            return Ok(batches);
        }
        if self.num_batches > usize::from(u16::MAX) {
            let problem =
                format!("{} batches, but METIS cuts into 65535 at most", self.num_batches);
            return Err(Error::config("sampling.batch_size", problem)
                .with_hint("draw larger batches, or leave ‹sampling.optimized_batches› out"));
        }
        let mut seeds = self.seeds.to_vec();
        seeds.sort_unstable();
        give_memory_back();
        let room = self.memory.saturating_sub(resident_bytes().unwrap_or(0));
        let mut graph = WeightedGraph::new(1);
        let mut pairs = &neighbours.pairs[..];
        for (node, id) in neighbours.nodes.iter().enumerate() {
            let own = pairs.partition_point(|[from, _]| *from as usize <= node);
            graph.neighbours.extend(pairs[..own].iter().map(|[_, to]| *to as i32));
            pairs = &pairs[own..];
            graph.end_node(&[u64::from(seeds.binary_search(id).is_ok())]);
        }
        let left = room.min(free_memory().unwrap_or(u64::MAX) / 2);
        let needed = graph.needed_memory();
        if needed > left {
            let problem = format!(
                "METIS may need {} to group nodes into batches, but {} are left",
                size(needed),
                size(left)
            );
            return Err(Error::new(ErrorKind::OutOfMemory, problem).with_hint(
                "raise ‹memory_budget›, leave ‹sampling.optimized_batches› out, or cut the graph into more partitions",
            ));
        }
        let parts = graph.partition(self.num_batches, self.seed)?;
        for seed in seeds {
            let node = neighbours.nodes.binary_search(&seed).unwrap_or_default();
            batches[usize::from(parts[node])].push(seed);
        }
        self.even(&mut batches);
        Ok(batches)
    }

    /// Evens out METIS's cut: moves seeds from batches that are too large to batches with room.
    fn even(&self, batches: &mut [Vec<u64>]) {
        let size = self.batch_size.max(self.seeds.len().div_ceil(self.num_batches));
        let too_much = batches.iter_mut().flat_map(|batch| batch.split_off(size.min(batch.len())));
        let mut surplus = too_much.collect::<Vec<_>>().into_iter();
        for batch in batches {
            batch.extend(surplus.by_ref().take(size - batch.len()));
            batch.sort_unstable();
        }
    }
}

/// Neighbours, in either direction, of some partitions' nodes.
struct Neighbours {
    /// The nodes and their sources, ascending.
    nodes: Vec<u64>,
    /// Pairs of indices in `nodes`, each once in both directions, ascending.
    pairs: Vec<[u32; 2]>,
    checksum: u32,
}

impl Neighbours {
    /// Neighbours of nodes with `counts` in-edges from `sources`.
    fn of(own: &[u64], counts: &[u32], sources: &[u64]) -> Self {
        let mut hasher = crc32fast::Hasher::new();
        hasher.update(bytemuck::cast_slice(own));
        hasher.update(bytemuck::cast_slice(counts));
        hasher.update(bytemuck::cast_slice(sources));
        let mut nodes = [own, sources].concat();
        nodes.sort_unstable();
        nodes.dedup();
        let place = |node: &u64| nodes.binary_search(node).unwrap_or_default() as u32;
        let destinations = own.iter().zip(counts);
        let destinations =
            destinations.flat_map(|(n, c)| std::iter::repeat_n(place(n), *c as usize));
        let ends = sources.iter().map(place).zip(destinations).filter(|(a, b)| a != b);
        let mut pairs: Vec<_> = ends.flat_map(|(a, b)| [[a, b], [b, a]]).collect();
        pairs.sort_unstable();
        pairs.dedup();
        Neighbours { nodes, pairs, checksum: hasher.finalize() }
    }
}

/// A rank's cache file, named as in SAR.
#[must_use]
pub fn seed_groups_file(prefix: &Path, rank: usize, num_batches: usize) -> PathBuf {
    let mut path = prefix.as_os_str().to_owned();
    path.push(format!("_{rank}_{num_batches}"));
    path.into()
}

/// Writes a line with the key and the batches' sizes, then the seeds of all batches as 64-bit numbers, then their
/// CRC-32.
fn save(path: &Path, key: &Key, batches: &[Vec<u64>]) -> Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).map_err(|e| Error::io("create", folder, e))?;
    }
    let sizes: Vec<usize> = batches.iter().map(Vec::len).collect();
    let mut bytes = serde_json::to_vec(&(key, sizes))
        .map_err(|e| Error::internal(format!("cannot encode batches: {e}")))?;
    bytes.push(b'\n');
    let seeds = batches.concat();
    let checksum = crc32fast::hash(bytemuck::cast_slice(&seeds));
    bytes.extend_from_slice(bytemuck::cast_slice(&seeds));
    bytes.extend_from_slice(bytemuck::bytes_of(&checksum));
    AtomicFile::write(path, &bytes)
}

fn load(path: &Path, expected: &Key) -> Result<Vec<Vec<u64>>> {
    let unreadable = |e| Error::unreadable(path, &e);
    let mut file = BufReader::new(File::open(path).map_err(unreadable)?);
    let (mut line, mut rest) = (Vec::new(), Vec::new());
    file.read_until(b'\n', &mut line).map_err(unreadable)?;
    file.read_to_end(&mut rest).map_err(unreadable)?;
    let stale = |problem: &str| {
        let hint = "remove it to compute it again, or name another optimized_batches_cache";
        Error::input(path, "", problem).with_hint(hint)
    };
    let header: std::result::Result<(Key, Vec<usize>), _> = serde_json::from_slice(&line);
    let (key, sizes) = header.map_err(|_| stale("holds no batches"))?;
    let differs = [
        (key.version != expected.version, "has another version"),
        (key.graph != expected.graph, "was made for another graph"),
        (key.nodes != expected.nodes, "was made for other seeds"),
        (key.batch_size != expected.batch_size, "was made for another batch size"),
        (key.seed != expected.seed, "was made with another seed"),
    ];
    if let Some((_, problem)) = differs.iter().find(|(differs, _)| *differs) {
        return Err(stale(problem));
    }
    let total = sizes.iter().try_fold(0_usize, |total, size| total.checked_add(*size));
    let whole = total
        .and_then(|total| rest.split_at_checked(total.checked_mul(size_of::<u64>())?))
        .filter(|(seeds, checksum)| *checksum == bytemuck::bytes_of(&crc32fast::hash(seeds)));
    let (seeds, _) = whole.ok_or_else(|| stale("is damaged"))?;
    let seeds = seeds.as_chunks::<{ size_of::<u64>() }>().0;
    let mut seeds = seeds.iter().map(|seed| bytemuck::pod_read_unaligned(seed));
    Ok(sizes.into_iter().map(|size| seeds.by_ref().take(size).collect()).collect())
}
