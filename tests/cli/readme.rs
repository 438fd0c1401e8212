//! The README's commands do what the README says: every `sh` block is run, line by line, in an empty folder.

use std::process::Command;

use super::common::repository;

#[test]
fn the_readmes_commands_work_in_an_empty_folder() {
    let readme = std::fs::read_to_string(repository("README.md")).unwrap();
    let blocks: Vec<&str> =
        readme.split("```sh\n").skip(1).map(|rest| rest.split("```").next().unwrap()).collect();
    assert!(!blocks.is_empty());
    let binary = std::path::Path::new(env!("CARGO_BIN_EXE_sar-single"));
    let path = format!("{}:{}", binary.parent().unwrap().display(), std::env::var("PATH").unwrap());
    for block in blocks {
        let folder = tempfile::tempdir().unwrap();
        let output = Command::new("sh")
            .args(["-e", "-c", block])
            .current_dir(folder.path())
            .env("PATH", &path)
            .env("TMPDIR", folder.path())
            .output()
            .unwrap();
        assert!(output.status.success(), "{block}\n{}", String::from_utf8_lossy(&output.stderr));
    }
}
