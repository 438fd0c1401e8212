//! `clean`, and the start of a run, remove only what killed runs have left.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use sar::engine::turns::Control;

#[cfg(feature = "torch")]
use super::common::repository;

fn clean(spill: &Path) -> Output {
    let program = env!("CARGO_BIN_EXE_sar-single");
    Command::new(program).args(["clean", "--spill-dir"]).arg(spill).output().unwrap()
}

/// Folders of a user with unfortunate names.
fn strangers(spill: &Path) -> Vec<PathBuf> {
    let folder = |name: &str| {
        let path = spill.join(name);
        fs::create_dir_all(&path).unwrap();
        fs::write(path.join("thesis.tex"), "years of work").unwrap();
        path
    };
    let controlled = folder("sar-single-experiments");
    fs::write(controlled.join("control"), "group A is the control group").unwrap();
    let piped = folder("sar-single-pipes");
    rustix::fs::mkfifoat(rustix::fs::CWD, piped.join("control"), rustix::fs::Mode::RWXU).unwrap();
    vec![controlled, piped, folder("sar-single-notes")]
}

fn killed(spill: &Path) -> PathBuf {
    let path = spill.join("sar-single-killed");
    fs::create_dir(&path).unwrap();
    Control::create(&path.join("control"), 2, 1).unwrap();
    fs::write(path.join("0.spill"), [0; 4096]).unwrap();
    path
}

#[test]
fn folders_of_others_are_reported_and_stay() {
    let spill = tempfile::tempdir().unwrap();
    let strangers = strangers(spill.path());
    let killed = killed(spill.path());
    let output = clean(spill.path());
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(0), "{text}");
    assert!(text.starts_with(&format!("removed {}\n", killed.display())), "{text}");
    assert!(!killed.exists());
    let whys = [
        "its control file is not from sar-single",
        "its control file is not a regular file",
        "it has no control file",
    ];
    for (path, why) in strangers.iter().zip(whys) {
        assert!(path.join("thesis.tex").exists(), "{text}");
        let line = text.lines().find(|line| line.contains(path.to_str().unwrap())).unwrap();
        assert!(line.starts_with("left alone ") && line.ends_with(why), "{line}");
        assert!(line.contains(" KiB)"), "{line}");
    }
    let again = String::from_utf8(clean(spill.path()).stdout).unwrap();
    assert!(again.starts_with("nothing to remove in "), "{again}");
}

#[cfg(feature = "torch")]
#[test]
fn a_start_removes_folders_of_killed_runs_only() {
    let folder = tempfile::tempdir().unwrap();
    let spill = folder.path().join("spill");
    let strangers = strangers(&spill);
    let killed = killed(&spill);
    let output = Command::new(env!("CARGO_BIN_EXE_sar-single"))
        .arg("--part-json")
        .arg(repository("data/karate/karate.json"))
        .args(["--epochs", "1", "--hidden", "4", "--out"])
        .arg(folder.path().join("out"))
        .arg("--spill-dir")
        .arg(&spill)
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(!killed.exists());
    assert!(strangers.iter().all(|path| path.join("thesis.tex").exists()));
    assert_eq!(fs::read_dir(&spill).unwrap().count(), strangers.len());
}

#[test]
fn a_spill_folder_that_cannot_be_read_is_an_error() {
    let file = tempfile::NamedTempFile::new().unwrap();
    for path in [file.path(), &file.path().with_extension("nope")] {
        let output = clean(path);
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{stderr}");
        let begin = format!("error: {}: cannot be read: ", path.display());
        assert!(stderr.starts_with(&begin), "{stderr}");
    }
}
