//! The log that `SAR_LOG` asks for.

use std::process::{Command, Output};

use super::common::repository;

/// A short run of four ranks on karate.
fn run(level: Option<&str>) -> Output {
    let folder = tempfile::tempdir().unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_sar-single"));
    command.arg("--part-json").arg(repository("data/karate/karate.json"));
    command.args(["--epochs", "2", "--hidden", "8", "--memory-budget", "min"]);
    command.arg("--out").arg(folder.path().join("out"));
    command.arg("--spill-dir").arg(folder.path().join("spill"));
    command.env_remove("SAR_LOG").envs(level.map(|level| ("SAR_LOG", level)));
    command.output().unwrap()
}

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

#[test]
fn whole_lines_say_which_rank_does_what() {
    let output = run(Some("debug"));
    let text = stderr(&output);
    assert_eq!(output.status.code(), Some(0), "{text}");
    let logged: Vec<&str> = text.lines().filter(|line| line.contains("DEBUG")).collect();
    for line in &logged {
        let process = line.split_once("DEBUG").unwrap().0;
        assert!(process.starts_with("rank ") || process.starts_with("launcher "), "{line}");
        assert_eq!(line.matches("DEBUG").count(), 1, "{line}");
    }
    for what in ["turn begins", "turn ends", "pause", "spilled", "posted", "complete"] {
        for rank in ["rank 0 ", "rank 1 "] {
            let found = logged.iter().any(|line| line.starts_with(rank) && line.contains(what));
            assert!(found, "{rank}{what}: {text}");
        }
    }
}

#[test]
fn nothing_is_logged_unless_it_is_asked_for() {
    assert!(!stderr(&run(None)).contains("DEBUG"));
    assert!(!stderr(&run(Some("sar::engine::comm=info"))).contains("DEBUG"));
    let refused = run(Some("loud=very"));
    assert_eq!(refused.status.code(), Some(1));
    assert!(stderr(&refused).contains("SAR_LOG"), "{}", stderr(&refused));
}
