//! `examples/own_model.rs`: the same curve whatever the budget, and after a kill.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use super::common::{metrics, repository};

/// An example. Cargo builds the examples before it runs all tests, into a folder next to that of the tests.
pub(crate) fn example(name: &str) -> Command {
    let tests = std::env::current_exe().unwrap();
    let program = tests.parent().unwrap().with_file_name("examples").join(name);
    assert!(program.exists(), "build the examples first: {} is missing", program.display());
    let mut command = Command::new(program);
    command.current_dir(repository("")).stdin(Stdio::null());
    command
}

fn own_model() -> Command {
    let mut command = example("own_model");
    command.stdout(Stdio::null());
    command
}

/// Epoch, loss and accuracy of each line of the metrics, as they stand there.
fn curve(out: &Path) -> Vec<[String; 3]> {
    let lines = metrics(out);
    lines.iter().map(|line| ["epoch", "loss", "val_acc"].map(|key| line[key].to_string())).collect()
}

fn out(folder: &Path, name: &str) -> [String; 2] {
    ["--out".to_owned(), folder.join(name).to_str().unwrap().to_owned()]
}

pub(crate) fn killed_and_resumed() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let at_budget = |name: &str, budget: &str| -> PathBuf {
        let mut command = own_model();
        command.args(out(folder, name)).args(["--memory-budget", budget]);
        let output = command.stderr(Stdio::piped()).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        folder.join(name)
    };
    let undisturbed = curve(&at_budget("memory", "4GiB"));
    assert!(undisturbed.len() > 10, "{undisturbed:?}");
    assert_eq!(curve(&at_budget("disk", "min")), undisturbed);

    let mut command = own_model();
    let mut run =
        command.args(out(folder, "killed")).args(["--memory-budget", "min"]).spawn().unwrap();
    let killed = folder.join("killed");
    let begin = Instant::now();
    while !killed.join("checkpoint.safetensors").exists() {
        assert!(begin.elapsed() < Duration::from_secs(60), "no state is saved");
        std::thread::sleep(Duration::from_millis(1));
    }
    run.kill().unwrap();
    run.wait().unwrap();
    let before = curve(&killed).len();
    let mut command = own_model();
    command.args(out(folder, "killed")).args(["--memory-budget", "min", "--resume"]);
    let output = command.stderr(Stdio::piped()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(curve(&killed), undisturbed, "killed after {before} epochs");

    // Without --resume the results of an earlier run stay.
    let refused = own_model().args(out(folder, "killed")).stderr(Stdio::piped()).output().unwrap();
    assert!(!refused.status.success());
    assert_eq!(curve(&killed), undisturbed);
}
