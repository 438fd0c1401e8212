//! Guards against: a cut or damaged file that causes a panic, takes memory beyond its own size, or passes for a sound one.
#![allow(clippy::unwrap_used)]

mod common;

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use sar::formats::dgl::config::PartitionConfig;
use sar::formats::dgl::fused_csc::FusedCsc;
use sar::formats::dgl::graph_file::GraphFile;
use sar::formats::dgl::graph_record::Frame;
use sar::formats::dgl::npy::open_npy;
use sar::formats::dgl::tensor_file::TensorFile;
use sar::formats::dgl::{ArrayRef, Partition, verify};
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::collections::HashSet;
use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::FileExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// Bytes that reading may allocate at once beyond the size of the file, for buffers of a fixed size.
const SLACK: usize = 24 << 10;
/// The same limit for archives, where crate zip takes up to 64 KiB for fields with 16-bit lengths.
const ARCHIVE_SLACK: usize = 72 << 10;
/// Size of files, in bytes, up to which every byte is cut and flipped.
const SMALL: usize = 8 << 10;
/// Number of places that are tried in larger files.
const PLACES: usize = 512;

struct Counting;

thread_local! {
    /// The largest allocation of this thread. It has no destructor and needs no memory of its own.
    static LARGEST: Cell<usize> = const { Cell::new(0) };
}

fn count(size: usize) {
    let _ = LARGEST.try_with(|largest| largest.set(largest.get().max(size)));
}

// SAFETY: every call is passed on to the system's allocator; counting does not touch the memory.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size());
        // SAFETY: the caller's promise about `layout` is the system allocator's.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, ptr: *mut u8, layout: Layout) {
        // SAFETY: `ptr` came from `alloc` or `realloc` above with this layout.
        unsafe { System.dealloc(ptr, layout) }
    }

    unsafe fn realloc(&self, ptr: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count(size);
        // SAFETY: `ptr` came from `alloc` or `realloc` above with this layout; `size` is the caller's promise.
        unsafe { System.realloc(ptr, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

#[test]
fn damaged_files_give_errors_and_take_no_memory_beyond_their_size() {
    let mut roots = vec![common::repository("tests/fixtures"), common::repository("data")];
    roots.extend(common::shared("dgl-samples"));
    let mut files = Vec::new();
    for root in &roots {
        collect(root, &mut files);
    }
    let kinds = [Kind::Json, Kind::Graph, Kind::Tensors, Kind::GraphBolt, Kind::Numpy];
    let jobs =
        kinds.iter().flat_map(|&kind| distinct(&files, kind).into_iter().map(move |f| (f, kind)));
    let jobs: Vec<(PathBuf, Kind)> = jobs.collect();
    let (next, tried) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let work = || {
        while let Some((path, kind)) = jobs.get(next.fetch_add(1, Ordering::Relaxed)) {
            let cases = match kind {
                Kind::Json => damage_directory(path),
                _ => damage_file(path, *kind),
            };
            tried.fetch_add(cases, Ordering::Relaxed);
        }
    };
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(work);
        }
    });
    let tried = tried.into_inner();
    println!("{tried} damaged files");
    assert!(tried > 10_000, "only {tried} damaged files were tried");
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Graph,
    Tensors,
    GraphBolt,
    Numpy,
    Json,
}

impl Kind {
    fn of(path: &Path) -> Option<Self> {
        let name = path.file_name()?.to_str()?;
        Some(match name.rsplit_once('.')? {
            (_, "npy") if name.ends_with("_map.npy") => Kind::Numpy,
            ("fused_csc_sampling_graph", "pt") => Kind::GraphBolt,
            (_, "dgl") if name.ends_with("graph.dgl") => Kind::Graph,
            (_, "dgl") => Kind::Tensors,
            (_, "json") if path.with_file_name("part0").is_dir() => Kind::Json,
            _ => return None,
        })
    }

    /// Reads everything in a file, a little at a time. The error, if any, comes from opening it.
    fn read(self, path: &Path) -> sar::Result<()> {
        match self {
            Kind::Graph => {
                for graph in GraphFile::open(path)?.graphs() {
                    let frames = graph.node_frames.iter().chain(&graph.edge_frames);
                    frames.flat_map(Frame::columns).for_each(|(_, array)| read_all(array));
                }
            }
            Kind::Tensors => {
                TensorFile::open(path)?.entries().iter().for_each(|(_, a)| read_all(a));
            }
            Kind::GraphBolt => {
                let graph = FusedCsc::open(path)?;
                graph
                    .node_attributes
                    .values()
                    .chain(graph.edge_attributes.values())
                    .for_each(read_all);
                graph.verify_checksums()?;
            }
            Kind::Numpy => read_all(&open_npy(path)?),
            Kind::Json => return read_directory(path),
        }
        Ok(())
    }
}

/// Reads an array in pieces of a few elements; errors about wrong values do not matter here.
fn read_all(array: &ArrayRef) {
    let width = array.row_len();
    if array.num_rows() == 0 || !(1..=64).contains(&width) {
        return;
    }
    let (mut floats, mut integers) = ([0.0; 64], [0; 64]);
    let end = array.num_rows().min(1 << 20);
    for row in (0..end).step_by((64 / width) as usize) {
        let rows = row..end.min(row + 64 / width);
        let len = ((rows.end - rows.start) * width) as usize;
        let _ = array.read_f32(rows.clone(), &mut floats[..len]);
        let _ = array.read_u64(rows, &mut integers[..len]);
    }
    let last = end - 1..end;
    let _ = array.read_f32(last.clone(), &mut floats[..width as usize]);
    let _ = array.read_u64(last, &mut integers[..width as usize]);
}

/// Reads all partitions of a directory.
fn read_directory(json: &Path) -> sar::Result<()> {
    let config = PartitionConfig::open(json)?;
    let mut block = Vec::new();
    for part in 0..config.parts().len() {
        let partition = Partition::open(&config, part)?;
        partition.node_features().features().iter().for_each(|f| read_all(f.array()));
        partition.edge_features().features().iter().for_each(|f| read_all(f.array()));
        let mut edges = partition.edges(8)?;
        while edges.next_block(&mut block)? {}
        for ty in 0..3 {
            let _ = (partition.orig_node_ids(ty)?, partition.orig_edge_ids(ty)?);
        }
    }
    verify(&config).into_iter().next().map_or(Ok(()), Err)
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    for path in paths {
        if path.is_dir() {
            collect(&path, files);
        } else {
            files.push(path);
        }
    }
}

/// Files of a kind, without those that repeat another one's content.
fn distinct(files: &[PathBuf], kind: Kind) -> Vec<PathBuf> {
    let mut seen = HashSet::new();
    let of_kind = files.iter().filter(|path| Kind::of(path) == Some(kind));
    let fresh = of_kind.filter(|path| {
        let mut content = fs::read(path).unwrap();
        if kind == Kind::Graph {
            content[32..4096].fill(0);
        }
        kind == Kind::Json || seen.insert(content)
    });
    fresh.cloned().collect()
}

/// Cuts and flips one file, opened alone. Returns the number of cases.
fn damage_file(path: &Path, kind: Kind) -> usize {
    let content = fs::read(path).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let copy = folder.path().join(path.file_name().unwrap());
    fs::write(&copy, &content).unwrap();
    let file = OpenOptions::new().write(true).open(&copy).unwrap();
    let slack = if kind == Kind::GraphBolt { ARCHIVE_SLACK } else { SLACK };
    let budget = content.len() + slack;
    let (cuts, mut flips) = (places(content.len(), 1), places(content.len(), 2));
    if kind == Kind::Graph {
        // For the header's unspecified bytes, a few are enough.
        flips.retain(|&at| !(32..4096).contains(&at) || at % 512 == 0);
    }
    for &at in &flips {
        let wrong = content[at] ^ flip_of(at);
        file.write_all_at(&[wrong], at as u64).unwrap();
        let result = within(budget, &copy, at, || kind.read(&copy));
        file.write_all_at(&content[at..=at], at as u64).unwrap();
        // If this hits a count or a size, it becomes absurd.
        let huge = &(1u64 << (20 + at % 44)).to_le_bytes()[..8.min(content.len() - at)];
        file.write_all_at(huge, at as u64).unwrap();
        let _ = within(budget, &copy, at, || kind.read(&copy));
        file.write_all_at(&content[at..at + huge.len()], at as u64).unwrap();
        if kind == Kind::GraphBolt && is_inside_member(&content, at) {
            assert!(result.is_err(), "{}: byte {at} was changed unnoticed", path.display());
        }
    }
    assert!(kind.read(&copy).is_ok(), "{} is not sound to begin with", path.display());
    for &len in cuts.iter().rev() {
        file.set_len(len as u64).unwrap();
        let result = within(budget, &copy, len, || kind.read(&copy));
        assert!(result.is_err(), "{} cut to {len} bytes passes", path.display());
    }
    cuts.len() + 2 * flips.len()
}

/// Flips bytes in every file of a partition directory and reads the directory.
fn damage_directory(json: &Path) -> usize {
    let folder = tempfile::tempdir().unwrap();
    let mut files = Vec::new();
    collect(json.parent().unwrap(), &mut files);
    let mut copies = Vec::new();
    for path in &files {
        let copy = folder.path().join(path.strip_prefix(json.parent().unwrap()).unwrap());
        fs::create_dir_all(copy.parent().unwrap()).unwrap();
        fs::copy(path, &copy).unwrap();
        writable(&copy);
        copies.push(copy);
    }
    let json = folder.path().join(json.file_name().unwrap());
    let mut tried = damage_copies(&json, &files, &copies);
    let archive = |path: &PathBuf| Kind::of(path) == Some(Kind::GraphBolt);
    if copies.iter().any(archive) {
        // From now on the archives are read.
        for copy in copies.iter().filter(|copy| copy.ends_with("graph.dgl")) {
            fs::remove_file(copy).unwrap();
        }
        copies.retain(archive);
        tried += damage_copies(&json, &files, &copies);
    }
    tried
}

fn damage_copies(json: &Path, files: &[PathBuf], copies: &[PathBuf]) -> usize {
    read_directory(json).unwrap();
    let largest = files.iter().map(|path| fs::metadata(path).unwrap().len()).max().unwrap();
    let mut tried = 0;
    for (number, copy) in copies.iter().enumerate() {
        let content = fs::read(copy).unwrap();
        let file = OpenOptions::new().write(true).open(copy).unwrap();
        let mut random = ChaCha8Rng::seed_from_u64(number as u64);
        let places = if Kind::of(copy) == Some(Kind::GraphBolt) { 400 } else { 40 };
        for _ in 0..places.min(content.len()) {
            let at = random.next_u64() as usize % content.len();
            let wrong = content[at] ^ flip_of(at);
            file.write_all_at(&[wrong], at as u64).unwrap();
            let _ = within(largest as usize + ARCHIVE_SLACK, copy, at, || read_directory(json));
            file.write_all_at(&content[at..=at], at as u64).unwrap();
            tried += 1;
        }
    }
    tried
}

fn writable(path: &Path) {
    let mut permissions = fs::metadata(path).unwrap().permissions();
    #[allow(clippy::permissions_set_readonly_false)]
    permissions.set_readonly(false);
    File::open(path).unwrap().set_permissions(permissions).unwrap();
}

/// Runs `read` and checks that it does not panic and allocates at most `budget` bytes at once.
fn within(
    budget: usize,
    path: &Path,
    at: usize,
    read: impl Fn() -> sar::Result<()>,
) -> sar::Result<()> {
    LARGEST.set(0);
    let result = catch_unwind(AssertUnwindSafe(read));
    let largest = LARGEST.get();
    let Ok(result) = result else { panic!("{} damaged at {at}: panic", path.display()) };
    assert!(largest <= budget, "{} damaged at {at}: {largest} bytes of {budget}", path.display());
    if let Err(error) = &result {
        assert!(error.kind() == sar::ErrorKind::Input, "{} at {at}: {error:?}", path.display());
        assert_eq!(error.exit_code(), sar::words::error::exit::BAD_INPUT);
    }
    result
}

/// All offsets of a small file, a sample of those of a large one.
fn places(len: usize, seed: u64) -> Vec<usize> {
    if len <= SMALL {
        return (0..len).collect();
    }
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut places: Vec<usize> = (0..PLACES).map(|_| random.next_u64() as usize % len).collect();
    places.sort_unstable();
    places.dedup();
    places
}

/// A change that differs from place to place: one bit, or all of them.
fn flip_of(at: usize) -> u8 {
    [0xff, 0x01, 0x80, 0x10, 0x7f, 0x02, 0x40][at % 7]
}

/// Whether a byte of an archive belongs to the content of a member, which has a checksum.
fn is_inside_member(archive: &[u8], at: usize) -> bool {
    let mut pos = 0;
    while archive[pos..].starts_with(b"PK\x03\x04") {
        let u16_at = |at: usize| usize::from(u16::from_le_bytes([archive[at], archive[at + 1]]));
        let start = pos + 30 + u16_at(pos + 26) + u16_at(pos + 28);
        // torch writes sizes into the descriptor that follows the content.
        let Some(len) = archive[start..].windows(4).position(|w| w == b"PK\x07\x08") else {
            return false;
        };
        if (start..start + len).contains(&at) {
            return true;
        }
        let Some(next) = archive[start + len..].windows(4).position(|w| w == b"PK\x03\x04") else {
            return false;
        };
        pos = start + len + next;
    }
    false
}
