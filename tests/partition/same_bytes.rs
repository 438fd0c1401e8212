//! Guards against: results that depend on memory, threads or the run.

use sar::partition::{Method, PartitionRequest};

use super::support::{edges, files, partition, request, scattered, write};

#[test]
fn the_same_request_gives_the_same_bytes_whatever_the_memory_and_threads() {
    let folder = tempfile::tempdir().unwrap();
    // More nodes than clusters can have, so that every stage has work.
    let path = write(folder.path(), "e.txt", &scattered(70_000, 300_000));
    let run = |name: &str, memory: u64, threads: usize| {
        let out = folder.path().join(name);
        let request = PartitionRequest { memory, ..request(5) };
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| partition(edges(&path), &request, &out)).unwrap();
        files(&out)
    };
    let first = run("a", 8 << 30, 1);
    assert!(first == run("b", 8 << 30, 3));
    assert!(first == run("c", 400 << 20, 2));
}

#[test]
fn the_seed_matters_to_random_partitions() {
    let folder = tempfile::tempdir().unwrap();
    let path = write(folder.path(), "e.txt", &scattered(100, 300));
    let run = |name: &str, seed: u64| {
        let out = folder.path().join(name);
        let request = PartitionRequest { method: Method::Random, seed, ..request(2) };
        partition(edges(&path), &request, &out).unwrap();
        files(&out)
    };
    assert!(run("a", 1) == run("b", 1));
    assert!(run("c", 1) != run("d", 2));
}
