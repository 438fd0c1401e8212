//! A first run as a new user sees it: short lines, what comes next, and messages that lead on.

use std::path::Path;
use std::process::Command;

use predicates::prelude::PredicateBooleanExt;
use predicates::str::contains;

use super::common::repository;
use super::program::Program;

fn sar(folder: &Path, line: &str) -> Program {
    let mut command = Program::new();
    command.args(line.split_whitespace()).current_dir(folder);
    command.env("TMPDIR", folder);
    command
}

#[test]
fn lines_of_a_run_fit_80_columns_and_name_commands_that_run() {
    let folder = tempfile::tempdir().unwrap();
    let graph = repository("data/karate/karate.json");
    let train =
        format!("--part-json {} --epochs 4 --hidden 8 --out run --eval-every 2", graph.display());
    let output = sar(folder.path(), &train).output().unwrap();
    let lines = String::from_utf8(output.stderr).unwrap();
    for line in lines.lines().filter(|line| line.starts_with("epoch ")) {
        assert!(line.len() <= 80 && line.contains(", val ") && !line.contains("turns"), "{line}");
    }
    let end = lines.lines().find(|line| line.starts_with("took ")).unwrap();
    assert!(end.contains(" memory, best val ") && end.contains(" % in epoch "), "{end}");
    let next =
        lines.lines().filter_map(|line| line[line.len().min(6)..].strip_prefix("sar-single "));
    let next: Vec<&str> = next.collect();
    assert_eq!(next.len(), 2, "{lines}");
    for command in next {
        sar(folder.path(), command).assert().success();
    }
    sar(folder.path(), &format!("{train} --overwrite --verbose"))
        .assert()
        .success()
        .stderr(contains(" turns, ").and(contains(" written, ")));
}

#[test]
fn links_imply_samples_and_partners_are_found_of_one_node() {
    let folder = tempfile::tempdir().unwrap();
    let graph = repository("data/karate/karate.json");
    let shape = "--epochs 1 --layers 2 --hidden 8 --batch-size 32 --out run";
    let train = format!("--part-json {} --task link {shape}", graph.display());
    sar(folder.path(), &train).assert().success().stderr(contains(", val mrr "));
    sar(folder.path(), "predict --run run --top-k 2 --of 3 --out one.csv").assert().success();
    let one = std::fs::read_to_string(folder.path().join("one.csv")).unwrap();
    assert_eq!(one.lines().filter(|line| line.starts_with("3,")).count(), 2, "{one}");
    assert_eq!(one.lines().count(), 3, "{one}");
    sar(folder.path(), "predict --run run --top-k 2 --of erna --out two.csv")
        .assert()
        .code(1)
        .stderr(contains("--of: no file has this name, and \"erna\" is not a node id"));
    sar(folder.path(), "predict --run run --out x.npy --orig-ids paper=")
        .assert()
        .code(1)
        .stderr(contains("error: paper=: cannot be read"));
}

#[test]
fn a_graph_without_masks_is_refused_with_both_remedies() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("edges.csv"), "0,1\n1,2\n2,0\n").unwrap();
    std::fs::write(folder.path().join("label.csv"), "0\n1\n0\n").unwrap();
    std::fs::write(folder.path().join("feat.csv"), "0.5\n1.5\n0.1\n").unwrap();
    let partition = "partition --edges edges.csv --node-data label=label.csv --node-data feat=feat.csv --num-parts 1 --out g";
    sar(folder.path(), partition).assert().success();
    sar(folder.path(), "--part-json g/g.json --epochs 1 --out run")
        .assert()
        .code(1)
        .stderr(contains("train_mask: is missing"))
        .stderr(
            contains("with --split random:0.8,0.1,0.1 when").and(contains("--train-mask-key KEY")),
        );
}

/// On a terminal, which `script` makes, and through one pipe.
#[test]
fn errors_have_colours_on_a_terminal_and_lines_stay_in_order_in_a_pipe() {
    let folder = tempfile::tempdir().unwrap();
    let program = env!("CARGO_BIN_EXE_sar-single");
    let shown = |line: &str, no_color: &str| {
        let mut script = Command::new("script");
        script.args(["-qec", line, "/dev/null"]).env("NO_COLOR", no_color).env("TERM", "xterm");
        String::from_utf8(script.current_dir(&folder).output().unwrap().stdout).unwrap()
    };
    let inspect = format!("{program} inspect nowhere.json");
    assert!(shown(&inspect, "").starts_with("\u{1b}[1m\u{1b}[31merror:\u{1b}[0m nowhere.json"));
    assert!(shown(&inspect, "1").starts_with("error: nowhere.json"));
    let generate = format!("{program} generate --nodes 100 --edges 300 --out g 2>&1 | cat");
    let piped = Command::new("sh").args(["-c", &generate]).current_dir(&folder).output().unwrap();
    let piped = String::from_utf8(piped.stdout).unwrap();
    assert!(piped.starts_with("generated g") && piped.ends_with("\ng/g.json\n"), "{piped}");
}
