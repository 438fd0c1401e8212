//! The promise that a run keeps its memory budget: models, modes and budgets drawn at random, in a control group of the kernel where
//! the machine has one.
//!
//! A case is run once with `--memory-budget min`, which shows how little memory it can do with, and then with budgets above that.
//! The peak is the larger of what the run reports (`peak_memory_bytes`) and, in a control group, what the kernel has counted.
#![cfg(feature = "torch")]
#![allow(clippy::unwrap_used)]

mod case;
mod evaluation;
mod first_epoch;
mod graphs;
mod group;
mod plan;
mod updates;

use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};

use case::{BUDGETS, Case};
use graphs::divided;
use group::Group;

/// How many cases are drawn; `SAR_BUDGET_CASES` is another number.
const CASES: usize = 1;

/// Memory of a control group beyond the budget: code of the program and of libtorch, which the kernel counts and can drop.
const CODE: u64 = 64 << 20;

fn program() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sar-single"));
    command.stdin(Stdio::null());
    command
}

/// The models of `--model`, which the program itself lists.
fn models() -> Vec<String> {
    let refused = program().args(["--part-json", "g.json", "--model", "?"]).output().unwrap();
    let text = String::from_utf8(refused.stderr).unwrap();
    let names = text.split("[possible values: ").nth(1).unwrap_or_else(|| panic!("{text}"));
    names.split(']').next().unwrap().split(", ").map(str::to_owned).collect()
}

fn graph(folder: &Path, case: &Case) -> String {
    let name = format!("{:?}{}-{}", case.division, case.parts, case.graph.concat());
    divided(&folder.join(name), case.division, &case.graph, case.parts)
}

/// The tests run one after the other: processes count less of libraries that they share with those of another test.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The largest memory that a run reports; 0 if it reports none.
fn largest_peak(out: &Path) -> u64 {
    let metrics = fs::read_to_string(out.join("metrics.jsonl")).unwrap_or_default();
    let peaks = metrics.lines().filter_map(|line| {
        let line: serde_json::Value = serde_json::from_str(line).unwrap();
        line["peak_memory_bytes"].as_u64()
    });
    peaks.max().unwrap_or(0)
}

/// Trains, and gives what the program said and the peak of memory that it reports.
fn train(folder: &Path, case: &Case, budget: &str, group: Option<&Group>) -> (Output, u64) {
    let (out, spill) = (folder.join("out"), folder.join("spill"));
    fs::remove_dir_all(&out).ok();
    let mut command = program();
    command.args(["--part-json", &graph(folder, case)]).args(&case.flags);
    command.args(["--epochs", "3", "--memory-budget", budget]);
    command.arg("--out").arg(&out).arg("--spill-dir").arg(&spill);
    if let Some(group) = group {
        group.take_in(&mut command);
    }
    let output = command.output().unwrap();
    (output, largest_peak(&out))
}

/// Predicts with the weights of the last training run.
fn predict(folder: &Path, budget: &str, group: Option<&Group>) -> Output {
    let mut command = program();
    command.arg("predict").arg("--run").arg(folder.join("out"));
    command.args(["--memory-budget", budget, "--output", "logits", "--overwrite", "--out"]);
    command.arg(folder.join("logits.npy")).arg("--spill-dir").arg(folder.join("spill"));
    if let Some(group) = group {
        group.take_in(&mut command);
    }
    command.output().unwrap()
}

#[test]
fn memory_stays_within_the_budget() {
    let _alone = alone();
    let number = |name: &str| std::env::var(name).ok().map(|text| text.parse::<u64>().unwrap());
    let cases = number("SAR_BUDGET_CASES").map_or(CASES, |cases| cases as usize);
    let seed = number("SAR_SEED").unwrap_or(1);
    let folder = tempfile::tempdir().unwrap();
    let models = models();
    let (mut runs, mut refused, mut largest, mut failures) = (0, 0, 0.0_f64, Vec::new());
    let drawn = (seed..).map(|seed| Case::draw(seed, &models));
    let mut done = 0;
    for case in drawn {
        if done == cases {
            break;
        }
        let (least, peak) = train(folder.path(), &case, "min", None);
        if !least.status.success() {
            // Combinations that a model cannot have: an error of the command line, not of the run.
            let text = String::from_utf8_lossy(&least.stderr).into_owned();
            assert!(matches!(least.status.code(), Some(1 | 2)), "{case}: {text}");
            refused += 1;
            continue;
        }
        done += 1;
        for times in BUDGETS {
            let budget = (peak as f64 * times) as u64;
            let group = Group::make(budget + CODE);
            let (output, reported) =
                train(folder.path(), &case, &budget.to_string(), group.as_ref());
            let text = String::from_utf8_lossy(&output.stderr);
            runs += 1;
            let counted = group.as_ref().map_or(0, Group::most_memory);
            let part = reported.max(counted) as f64 / budget as f64;
            largest = largest.max(part);
            println!(
                "{case} --memory-budget {budget} ({times} x min): reported {reported}, counted {counted}, {part:.2}"
            );
            if !output.status.success() {
                failures.push(format!("{case} --memory-budget {budget} ({times} x min): {text}"));
                continue;
            } else if part > 1.0 {
                failures.push(format!("{case} --memory-budget {budget}: {part:.3} of the budget"));
            }
            if case.predicts_edges() {
                continue;
            }
            let group = Group::make(budget + CODE);
            let output = predict(folder.path(), &budget.to_string(), group.as_ref());
            let counted = group.as_ref().map_or(0, Group::most_memory);
            let text = String::from_utf8_lossy(&output.stderr);
            // Predicting on the full graph may take more than training on samples.
            let is_refused = output.status.code() == Some(4) && case.samples();
            if counted > budget || !(output.status.success() || is_refused) {
                failures.push(format!("{case}, predict within {budget}: {counted} bytes, {text}"));
            }
        }
    }
    println!(
        "{runs} runs of {done} cases, {refused} combinations refused; the largest share of a budget: {largest:.3}"
    );
    assert!(failures.is_empty(), "{failures:#?}");
}
