//! A long training with checkpoints: memory, file descriptors and disk stay flat, and kills at random moments change nothing.
//!
//! `SAR_SOAK_EPOCHS` sets the length (`make soak`: 10,000), `SAR_SEED` the kills.
#![cfg(feature = "torch")]
#![allow(clippy::unwrap_used)]

#[path = "../common/mod.rs"]
mod common;
mod footprint;
mod training;

use std::collections::HashSet;
use std::fs;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use tempfile::TempDir;

use footprint::{Footprint, assert_flat};
use training::Training;

const QUARTERS: u64 = 4;

fn number(variable: &str, default: u64) -> u64 {
    std::env::var(variable).map_or(default, |text| text.parse().unwrap())
}

fn names(folder: &std::path::Path) -> HashSet<String> {
    let entries = fs::read_dir(folder).unwrap();
    entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

#[test]
fn a_long_run_stays_flat_and_kills_do_not_change_it() {
    let epochs = number("SAR_SOAK_EPOCHS", 200);
    let seed = number("SAR_SEED", u64::from(std::process::id()));
    println!("SAR_SEED={seed} SAR_SOAK_EPOCHS={epochs}");
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let folder = TempDir::new().unwrap();

    let calm = folder.path().join("calm");
    let mut training = Training::start(&calm, epochs);
    let quarters: Vec<Footprint> = (0..QUARTERS)
        .map(|quarter| training.largest_footprint(epochs * (quarter + 1) / QUARTERS))
        .collect();
    assert_eq!(training.wait(), Some(0));
    println!("by quarters: {quarters:?}");
    assert_flat(&quarters);

    let killed = folder.path().join("killed");
    let mut training = Training::start(&killed, epochs);
    let mut kills = Vec::new();
    let mut at = 0;
    loop {
        at += random.random_range(1..=epochs / 10);
        if at >= epochs || !training.reaches(at) {
            break;
        }
        kills.push(training.kill_one(&mut random));
        training = Training::resume(&killed, epochs);
    }
    assert_eq!(training.wait(), Some(0));
    println!("{} kills: {kills:?}", kills.len());
    assert!(kills.len() > 4);
    assert_eq!(names(&killed), names(&calm));
    let weights = |run: &std::path::Path| fs::read(run.join("model.safetensors")).unwrap();
    assert_eq!(weights(&killed), weights(&calm));
    assert_eq!(training::losses(&killed), training::losses(&calm));
    // The folder itself may stay: whoever made it was killed.
    let spill = training::spill_folder(&killed);
    assert!(!spill.exists() || names(&spill).is_empty(), "{:?}", names(&spill));
}
