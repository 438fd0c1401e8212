//! A worker that meets an error: one message, the right exit code, no file left behind, results of earlier runs kept.

use std::fs;
use std::path::{Path, PathBuf};

use super::common::{copy_folder, repository};
use super::run::Run;
use super::small_disk::SmallDisk;

/// A copy of the karate partitions that a test may damage.
pub(crate) fn copy(folder: &Path) -> PathBuf {
    copy_folder(&repository("data/karate"), folder);
    folder.join("karate.json")
}

pub(crate) fn truncate(path: &Path, keep: u64) {
    fs::OpenOptions::new().write(true).open(path).unwrap().set_len(keep).unwrap();
}

#[test]
fn a_truncated_partition_is_bad_input_named_with_its_file() {
    let folder = tempfile::tempdir().unwrap();
    let json = copy(folder.path());
    truncate(&folder.path().join("part1/node_feat.dgl"), 1000);
    let ended = Run::start(&json, &[]).end();
    assert_eq!(ended.code, Some(1));
    let error = ended.error();
    // Before there are workers.
    assert!(error.starts_with("error: ") && !error.contains("rank"), "{error}");
    assert!(error.contains("part1/node_feat.dgl"), "{error}");
    ended.assert_no_spill_files();
}

#[test]
fn weights_of_another_model_are_bad_input() {
    let folder = tempfile::tempdir().unwrap();
    let weights = folder.path().join("weights.safetensors");
    fs::copy(repository("tests/fixtures/karate_steps/gcn_both.safetensors"), &weights).unwrap();
    let json = repository("data/karate/karate.json");
    let ended = Run::start(&json, &["--init-params", weights.to_str().unwrap()]).end();
    assert_eq!(ended.code, Some(1));
    assert!(ended.error().contains("convs.2.fc_neigh.weight"), "{}", ended.error());
    assert!(ended.stderr.contains("hint: pass the options"), "{}", ended.stderr);
    ended.assert_no_spill_files();
}

#[test]
fn a_disk_that_fills_up_is_one_error_with_exit_code_4() {
    on_a_small_disk(&[]);
}

/// Trains with the flags `more` on a disk without room for spilled files.
pub(crate) fn on_a_small_disk(more: &[&str]) {
    // In 64 KiB, samples train whenever neither rank has to spill.
    let Some(disk) = SmallDisk::mount(36 << 10) else { return };
    let json = repository("data/karate/karate.json");
    let flags = [&["--spill-dir", disk.path().to_str().unwrap()], more].concat();
    let ended = Run::start(&json, &flags).end();
    assert_eq!(ended.code, Some(4), "{}", ended.stderr);
    assert!(ended.error().contains("No space left on device"), "{}", ended.error());
    assert!(ended.stderr.contains("--spill-dir"), "{}", ended.stderr);
    assert_eq!(disk.entries(), 0);
}

#[test]
fn a_run_that_cannot_start_leaves_earlier_results_alone() {
    let folder = tempfile::tempdir().unwrap();
    let json = copy(folder.path());
    let out = folder.path().join("results");
    fs::create_dir(&out).unwrap();
    fs::write(out.join("metrics.jsonl"), "earlier").unwrap();
    fs::write(out.join("model.safetensors"), "earlier").unwrap();
    truncate(&folder.path().join("part0/graph.dgl"), 5000);
    let ended = Run::start(&json, &["--overwrite", "--out", out.to_str().unwrap()]).end();
    assert_eq!(ended.code, Some(1));
    for file in ["metrics.jsonl", "model.safetensors"] {
        assert_eq!(fs::read_to_string(out.join(file)).unwrap(), "earlier");
    }
    assert_eq!(fs::read_dir(&out).unwrap().count(), 2);
}
