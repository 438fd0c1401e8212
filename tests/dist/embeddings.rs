//! Guards against: updates that differ from DGL's (fixtures/sparse_optim.py), gradients that are lost between ranks, and
//! damaged saved state that goes unnoticed.

use std::path::Path;

use sar::engine::comm::{FileGroup, NoHooks, Ranks};
use sar::sampling::stores::{
    Adagrad, Adam, DistEmbedding, SparseAdagrad, SparseAdam, SparseOptimizer, SparseRule,
};
use sar::testing::on_ranks;
use serde::Deserialize;

use crate::common;
use crate::support::{book, config};

#[derive(Deserialize)]
struct Case {
    optimizer: String,
    start: Vec<f32>,
    steps: Vec<Step>,
}

#[derive(Deserialize)]
struct Step {
    ids: Vec<u64>,
    grads: Vec<f32>,
    rows: Vec<f32>,
}

fn cases() -> Vec<Case> {
    let path = common::repository("tests/fixtures/sparse_optim.json");
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

/// Follows a case on several ranks, each of which has some of the gradients; returns the rows after each step.
fn follow<R: SparseRule + Copy + Sync>(case: &Case, ranks: usize, rule: R) -> Vec<Vec<f32>> {
    let folder = tempfile::tempdir().unwrap();
    let book = book();
    let work = |context: sar::testing::RankContext| {
        let (group, hooks) = (&*context.group, &NoHooks);
        let config = config(folder.path(), "e", &[3]);
        let fill = |first: u64, rows: &mut [f32]| {
            rows.copy_from_slice(&case.start[first as usize * 3..][..rows.len()]);
        };
        let made = (context.rank == 0).then(|| DistEmbedding::create(&book, &config, fill));
        sar::engine::comm::barrier(group, hooks)?;
        let embedding = made.unwrap_or_else(|| DistEmbedding::open(&book, &config))?;
        let mut optimizer = SparseOptimizer::new(vec![embedding], rule, Ranks { group, hooks })?;
        let mut rows = Vec::new();
        for step in &case.steps {
            let own = |i: &usize| i % ranks == context.rank;
            let place: Vec<usize> = (0..step.ids.len()).filter(own).collect();
            let ids: Vec<u64> = place.iter().map(|i| step.ids[*i]).collect();
            let grads: Vec<f32> =
                place.iter().flat_map(|i| step.grads[3 * i..3 * i + 3].to_vec()).collect();
            optimizer.embeddings_mut()[0].accumulate(&ids, &grads)?;
            optimizer.step(Ranks { group, hooks })?;
            rows.push(optimizer.embeddings()[0].lookup(&[0, 1, 2, 3, 4, 5, 6])?);
            sar::engine::comm::barrier(group, hooks)?;
        }
        Ok(rows)
    };
    let mut seen = on_ranks(ranks, ranks, work).unwrap();
    assert!(seen.iter().all(|rows| *rows == seen[0]));
    assert_eq!(
        std::fs::read_dir(folder.path()).unwrap().count(),
        0,
        "state goes with the optimizer"
    );
    seen.remove(0)
}

#[test]
fn updates_are_dgls_on_one_rank_and_on_several() {
    for case in cases() {
        for ranks in [1, 2, 3] {
            let ours = match case.optimizer.as_str() {
                "SparseAdagrad" => follow(&case, ranks, Adagrad::new(0.05)),
                _ => follow(&case, ranks, Adam::new(0.05)),
            };
            for (ours, step) in ours.iter().zip(&case.steps) {
                for (a, b) in ours.iter().zip(&step.rows) {
                    assert!((a - b).abs() <= 1e-6, "{} on {ranks} ranks: {a}, {b}", case.optimizer);
                }
            }
        }
    }
}

fn alone<R: SparseRule>(folder: &Path, rule: R) -> sar::Result<SparseOptimizer<R>> {
    let control = std::sync::Arc::new(sar::engine::turns::Control::in_memory(1, 1)?);
    let group = sar::engine::comm::FileGroup::in_memory(&control).remove(0);
    let fill = |first: u64, rows: &mut [f32]| rows.fill(first as f32 + 1.0);
    let embedding = DistEmbedding::create(&book(), &config(folder, "e", &[2]), fill)?;
    SparseOptimizer::new(vec![embedding], rule, Ranks { group: &group, hooks: &NoHooks })
}

fn one_step<R: SparseRule>(optimizer: &mut SparseOptimizer<R>) {
    let control = std::sync::Arc::new(sar::engine::turns::Control::in_memory(1, 1).unwrap());
    let group = sar::engine::comm::FileGroup::in_memory(&control).remove(0);
    optimizer.embeddings_mut()[0].accumulate(&[1, 4, 1], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]).unwrap();
    optimizer.step(Ranks { group: &group, hooks: &NoHooks }).unwrap();
}

fn rows<R: SparseRule>(optimizer: &SparseOptimizer<R>) -> Vec<f32> {
    optimizer.embeddings()[0].lookup(&[0, 1, 2, 3, 4, 5, 6]).unwrap()
}

#[test]
fn what_is_saved_goes_on_as_if_nothing_had_happened() {
    let (first, second, saved) =
        (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let mut original: SparseAdam = alone(first.path(), Adam::new(0.1)).unwrap();
    one_step(&mut original);
    original.save(saved.path()).unwrap();
    one_step(&mut original);
    // A second save replaces the first.
    original.save(saved.path()).unwrap();
    assert_eq!(std::fs::read_dir(saved.path()).unwrap().count(), 5);
    let mut resumed: SparseAdam = alone(second.path(), Adam::new(0.1)).unwrap();
    resumed.load(saved.path()).unwrap();
    assert_eq!(rows(&resumed), rows(&original));
    one_step(&mut original);
    one_step(&mut resumed);
    assert_eq!(rows(&resumed), rows(&original));
}

#[test]
fn what_is_missing_damaged_or_of_another_optimizer_is_refused_and_changes_nothing() {
    let (folder, saved) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let mut adam: SparseAdam = alone(folder.path(), Adam::new(0.1)).unwrap();
    assert_eq!(adam.load(saved.path()).unwrap_err().exit_code(), 1, "there is nothing");
    one_step(&mut adam);
    adam.save(saved.path()).unwrap();
    one_step(&mut adam);
    let before = rows(&adam);
    let other = tempfile::tempdir().unwrap();
    let adagrad: SparseAdagrad = alone(other.path(), Adagrad::new(0.1)).unwrap();
    assert!(adagrad.load(saved.path()).unwrap_err().to_string().contains("SparseAdam"));
    let power = std::fs::read_dir(saved.path()).unwrap().map(|entry| entry.unwrap().path());
    let power = power.into_iter().find(|path| path.to_string_lossy().contains("e_power-")).unwrap();
    let mut bytes = std::fs::read(&power).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    std::fs::write(&power, &bytes).unwrap();
    assert!(adam.load(saved.path()).unwrap_err().to_string().contains("checksum"));
    std::fs::write(&power, &bytes[..bytes.len() - 8]).unwrap();
    assert!(adam.load(saved.path()).is_err());
    std::fs::remove_file(&power).unwrap();
    assert!(adam.load(saved.path()).is_err());
    assert_eq!(rows(&adam), before);
}

#[test]
fn gradients_of_the_wrong_rows_or_number_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let mut adam: SparseAdam = alone(folder.path(), Adam::new(0.1)).unwrap();
    let embedding = &mut adam.embeddings_mut()[0];
    assert!(embedding.accumulate(&[7], &[1.0, 1.0]).is_err());
    assert!(embedding.accumulate(&[1], &[1.0]).is_err());
    embedding.accumulate(&[1], &[1.0, 1.0]).unwrap();
    embedding.zero_grad();
    let before = rows(&adam);
    let control = std::sync::Arc::new(sar::engine::turns::Control::in_memory(1, 1).unwrap());
    let group = FileGroup::in_memory(&control).remove(0);
    adam.step(Ranks { group: &group, hooks: &NoHooks }).unwrap();
    assert_eq!(rows(&adam), before);
}
