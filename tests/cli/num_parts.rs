//! `--num-parts auto`: a run on as many partitions keeps its memory budget.

use std::fmt::Write;
use std::fs;
use std::path::Path;

use assert_cmd::Command;
use predicates::prelude::PredicateBooleanExt;
use predicates::str::contains;

use super::common::metrics;

const MIB: f64 = (1 << 20) as f64;

fn sar(folder: &Path, words: &str) -> Command {
    let mut command = Command::cargo_bin("sar-single").unwrap();
    command.current_dir(folder).env("TMPDIR", folder).args(words.split_whitespace());
    command
}

/// The number of partitions that was chosen, and the least memory of a run in MiB.
fn chosen(folder: &Path, words: &str) -> (u64, f64) {
    let output = sar(folder, words).output().unwrap();
    let text = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{words}: {text}");
    let line = text.lines().find_map(|line| line.strip_prefix("--num-parts auto: "));
    let words: Vec<&str> = line.unwrap_or_else(|| panic!("{text}")).split([' ', ',']).collect();
    let at = words.iter().position(|word| *word == "about").unwrap();
    let unit = match words[at + 2] {
        "MiB" => 1.0,
        "GiB" => 1024.0,
        other => panic!("{other}"),
    };
    (words[0].parse().unwrap(), words[at + 1].parse::<f64>().unwrap() * unit)
}

/// Trains in a budget, and returns the peak of memory in MiB.
fn peak(folder: &Path, json: &str, budget: f64, flags: &str) -> f64 {
    let run = format!(
        "--part-json {json} --memory-budget {budget}MiB {flags} --epochs 3 --out run --overwrite"
    );
    sar(folder, &run).assert().success();
    let lines = metrics(&folder.join("run"));
    lines.iter().filter_map(|line| line["peak_memory_bytes"].as_f64()).fold(0.0, f64::max) / MIB
}

#[test]
fn runs_fit_and_a_larger_budget_never_gives_more_partitions() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    let flags = "--hidden 64 --model sage";
    let graph = "generate --nodes 60000 --edges 600000 --features 64 --num-parts";
    let of_budget = |budget: f64, out: &str| {
        let words = format!("{graph} auto --memory-budget {budget}MiB {flags} --out {out}");
        chosen(here, &words)
    };
    let (one, whole) = of_budget(4096.0, "all");
    assert_eq!(one, 1);
    let budgets = [1.3, 1.0, 0.85].map(|share| (share * whole).round());
    let mut parts = vec![one];
    for (at, budget) in budgets.into_iter().enumerate() {
        let out = format!("g{at}");
        let (number, least) = of_budget(budget, &out);
        assert!(least <= budget, "{least} of {budget}");
        let peak = peak(here, &format!("{out}/g.json"), budget, flags);
        assert!(peak <= budget, "{number} partitions: {peak} of {budget} MiB");
        parts.push(number);
    }
    assert!(parts.is_sorted() && parts[3] > 1, "{parts:?}");
    // No file of the measurements stays.
    let left = fs::read_dir(here).unwrap().flatten().map(|entry| entry.file_name());
    let left: Vec<_> = left.filter(|name| name.to_string_lossy().starts_with("sar")).collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn graphs_of_every_source_are_cut() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    sar(here, "generate --nodes 300 --edges 2000 --num-parts 2 --out g").assert().success();
    let edges: Vec<String> =
        (0..900).map(|i| format!("{},{}", i % 90, (i * 7 + i / 90) % 90)).collect();
    fs::write(here.join("edges.csv"), edges.join("\n")).unwrap();
    let rows: Vec<String> =
        (0..90).map(|i| format!("{i},{}.5,{},{}", i % 9, i % 3, i % 2)).collect();
    fs::write(here.join("nodes.csv"), format!("id,x,topic,train_mask\n{}", rows.join("\n")))
        .unwrap();
    fs::write(here.join("feat.txt"), "1 2\n".repeat(90)).unwrap();
    let sources = [
        "--part-json g/g.json",
        "--edges edges.csv --undirected",
        "--edges edges.csv --node-data feat=feat.txt --method random --dedup --self-loops add",
        "--edges edges.csv --node-table nodes.csv --id id --label topic",
        "--edges author:writes:paper=edges.csv --node-table paper=nodes.csv --id id --label topic --reverse-edges",
    ];
    for (at, source) in sources.into_iter().enumerate() {
        let words = format!(
            "partition {source} --num-parts auto --memory-budget 4GiB --model sage --layers 2 --mfg --out p{at}"
        );
        assert_eq!(chosen(here, &words).0, 1, "{source}");
        assert!(here.join(format!("p{at}/g.json")).exists());
    }
    // The last graph has nodes without features, and a layer per edge type.
    let budget = 1024.0;
    assert!(peak(here, "p4/g.json", budget, "--hidden 16 --layers 2 --model sage") <= budget);
    // The run that will be made may be described by another's configuration.
    let config = "--memory-budget 1GiB --layers 2 --mfg --out first --epochs 1";
    sar(here, &format!("--part-json g/g.json {config}")).assert().success();
    let words =
        "partition --part-json g/g.json --num-parts auto --config first/config.toml --out again";
    sar(here, words).assert().success().stderr(contains("--memory-budget is 1.00 GiB"));
}

#[test]
fn features_of_few_words_take_less_memory_than_a_matrix() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    // The layout of the heap alone changes the least memory by up to 12 MiB.
    let (papers, columns) = (24_000, 800);
    let file = |per_paper: usize| {
        let mut text = format!(
            "%%MatrixMarket matrix coordinate real general\n{papers} {columns} {}\n",
            papers * per_paper
        );
        for entry in 0..papers * per_paper {
            let (paper, word) = (entry / per_paper, entry % per_paper);
            let column = (paper * 7 + word * (columns / per_paper)) % columns;
            writeln!(text, "{} {} 1", paper + 1, column + 1).unwrap();
        }
        text
    };
    let edges: Vec<_> = (0..papers).map(|i| format!("{i} {}", (i * 7 + 1) % papers)).collect();
    fs::write(here.join("edges.txt"), edges.join("\n")).unwrap();
    let least = [4, 80].map(|per_paper| {
        fs::write(here.join("words.mtx"), file(per_paper)).unwrap();
        let flags = "--hidden 16 --layers 2 --memory-budget 4GiB";
        let words = format!(
            "partition --edges edges.txt --node-data feat=words.mtx --num-parts auto {flags} --out p{per_paper}"
        );
        chosen(here, &words).1
    });
    let matrix = (papers * columns * 4) as f64 / MIB;
    assert!(least[0] + matrix / 2.0 < least[1], "{least:?} MiB, and the matrix {matrix}");
}

#[test]
fn a_file_alone_is_cut_into_a_folder_that_the_program_names() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    let edges: Vec<String> = (0..90).map(|i| format!("{i},{}", (i * 7 + 1) % 90)).collect();
    fs::write(here.join("edges.csv"), edges.join("\n")).unwrap();
    // Left by a command that was killed.
    fs::create_dir_all(here.join("graphs/edges-1/.unfinished-V45w13/part0")).unwrap();
    for (source, json) in [
        ("edges.csv edges.csv --memory-budget 4GiB", "graphs/edges-1/edges.json"),
        ("--edges edges.csv", "graphs/edges-2/edges.json"),
        ("--part-json graphs/edges-1/edges.json --num-parts 3", "graphs/edges-3/edges.json"),
        ("edges.csv --name h", "graphs/h-1/h.json"),
        ("edges.csv --out parts", "parts/g.json"),
    ] {
        let printed = sar(here, &format!("partition {source}")).assert().success();
        printed.stdout(format!("{json}\n"));
        assert!(here.join(json).exists());
    }
    let inspect = |json: &str| sar(here, &format!("inspect {json}")).assert().success();
    inspect("graphs/edges-1/edges.json").stdout(contains("edges       180"));
    inspect("graphs/edges-3/edges.json").stdout(contains("partitions  3"));
    let again = sar(here, "partition parts/g.json --num-parts 2").assert().code(1);
    again.stderr(contains("cut them again with --part-json parts/g.json"));
    let both = sar(here, "partition edges.csv --edges edges.csv").assert().code(2);
    both.stderr(contains("cannot be used with '--edges"));
}

#[test]
fn choices_that_cannot_be_made_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    sar(here, "generate --nodes 300 --edges 2000 --num-parts 2 --out g").assert().success();
    let refused = |words: &str, code: i32, problem: &str, hint: &str| {
        let words = format!("partition --part-json g/g.json {words} --out none");
        let assert = sar(here, &words).assert().code(code);
        assert.stderr(contains(problem).and(contains(hint)));
        assert!(!here.join("none").exists());
    };
    refused(
        "--num-parts 4 --memory-budget 1GiB",
        1,
        "--memory-budget has no effect without --num-parts auto",
        "",
    );
    refused("--num-parts four", 2, "pass a number, or auto", "");
    refused(
        "--num-parts auto --mode sample",
        1,
        "training on samples depends on batches",
        "--num-parts 8",
    );
    refused("--num-parts auto --memory-budget min", 1, "is min", "--memory-budget 4GiB");
    refused("--num-parts auto --model no", 1, "invalid value 'no' for '--model", "");
    refused("--num-parts auto --heads 2", 1, "--heads has no effect", "gat");
    refused("--num-parts auto --layers 0", 1, "must be 1 or more", "");
    refused(
        "--num-parts auto --method file --assignment x",
        1,
        "--assignment sets the partition of each node",
        "",
    );
    refused(
        "--num-parts auto --memory-budget 20MiB",
        4,
        "no number of partitions makes the run fit into 20.0 MiB",
        "raise --memory-budget",
    );
    let missing = "partition --edges none.csv --num-parts auto --out none";
    sar(here, missing).assert().code(1).stderr(contains("none.csv"));
}
