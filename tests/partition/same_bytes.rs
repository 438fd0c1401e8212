//! Guards against: results that depend on memory, threads or the run.

use assert_cmd::Command;
use sar::prepare::partition::{Method, PartitionRequest};

use super::common::files;
use super::support::{edges, partition, request, scattered, write};

#[test]
fn the_same_request_gives_the_same_bytes_whatever_the_memory_and_threads() {
    let folder = tempfile::tempdir().unwrap();
    // More nodes than clusters can have, so that every stage has work; every edge four times, so that sorting does not fit in
    // memory although METIS does.
    let path = write(folder.path(), "e.txt", &scattered(70_000, 300_000).repeat(4));
    let run = |name: &str, memory: u64, threads: usize| {
        let out = folder.path().join(name);
        let request = PartitionRequest { memory, ..request(5) };
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| partition(edges(&path), &request, &out)).unwrap();
        files(&out)
    };
    let first = run("a", 8 << 30, 1);
    assert!(first == run("b", 8 << 30, 3));
    // As little memory as the command takes: sorting goes to disk.
    let command = |memory: &str| {
        let mut command = Command::cargo_bin("sar-single").unwrap();
        command.args(["partition", "--num-parts", "5", "--memory", memory, "--edges"]);
        command.arg(&path).arg("--out").arg(folder.path().join("c")).assert()
    };
    let refused = command("1MiB").code(1).get_output().stderr.clone();
    let refused = String::from_utf8(refused).unwrap();
    let (_, least) = refused.split_once("pass --memory ").unwrap();
    let least: u64 = least.split_once("MiB").unwrap().0.parse().unwrap();
    command(&format!("{}MiB", least + 16)).success();
    assert!(first == files(&folder.path().join("c")));
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
