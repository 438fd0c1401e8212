//! The program that was built without libtorch.

use assert_cmd::Command;
use predicates::prelude::PredicateBooleanExt;
use predicates::str::{contains, starts_with};

fn sar() -> Command {
    Command::cargo_bin("sar-single").unwrap()
}

#[test]
fn commands_that_need_libtorch_say_how_to_get_them() {
    let asked: [(&[&str], &str); 7] = [
        (&["train", "edges.csv"], "`train`"),
        (&["plan", "--part-json", "g.json"], "`plan`"),
        (&["predict", "--run", "r"], "`predict`"),
        (&["correct-and-smooth", "--run", "r"], "`correct-and-smooth`"),
        (&["help", "plan"], "`plan`"),
        (&["--part-json", "g.json", "--epochs", "3"], "training (`--part-json`)"),
        (&["--resume", "runs/g-1"], "training (`--resume`)"),
    ];
    for (arguments, what) in asked {
        let refused = sar().args(arguments).assert().code(2).stdout("");
        let sentence =
            format!("error: {what} needs libtorch, but this program was built without it");
        refused.stderr(starts_with(sentence)).stderr(contains("make build"));
    }
}

#[test]
fn the_help_lists_what_there_is() {
    let help = sar().arg("--help").assert().success();
    let help = help.stdout(contains("without libtorch")).stdout(contains("--part-json").not());
    for command in ["generate", "partition", "inspect", "export", "clean"] {
        sar().args([command, "--help"]).assert().success();
    }
    for command in ["plan", "predict"] {
        assert!(!String::from_utf8_lossy(&help.get_output().stdout).contains(command));
    }
    sar().arg("--version").assert().success().stdout(starts_with("sar-single "));
    sar().assert().code(2).stderr(starts_with("sar-single prepares"));
}

#[test]
fn a_graph_is_made_partitioned_and_shown() {
    let folder = tempfile::tempdir().unwrap();
    let (graph, parts) = (folder.path().join("g"), folder.path().join("p"));
    let generate = ["generate", "--nodes", "300", "--edges", "2000", "--num-parts", "1", "--out"];
    sar().args(generate).arg(&graph).assert().success();
    let mut partition = sar();
    partition.arg("partition").arg("--part-json").arg(graph.join("g.json"));
    partition.args(["--num-parts", "3", "--out"]).arg(&parts).assert().success();
    let mut auto = sar();
    auto.arg("partition").arg("--part-json").arg(graph.join("g.json")).arg("--out").arg(&graph);
    auto.args(["--num-parts", "auto", "--memory-budget", "1GiB"]);
    auto.assert().code(1).stderr(contains("auto needs libtorch")).stderr(contains("--num-parts 8"));
    let json = parts.join("g.json");
    sar().arg("inspect").arg(json).arg("--verify").assert().success().stdout(contains("verified"));
}

/// The loader lists the libraries that the program needs.
#[test]
#[cfg(target_os = "linux")]
fn no_library_of_libtorch_is_linked() {
    let program = assert_cmd::cargo::cargo_bin("sar-single");
    let libraries = std::process::Command::new("ldd").arg(program).output().unwrap();
    let libraries = String::from_utf8(libraries.stdout).unwrap();
    assert!(libraries.contains("libc.so"), "{libraries}");
    for library in ["libtorch", "libc10", "libgomp"] {
        assert!(!libraries.contains(library), "{libraries}");
    }
}
