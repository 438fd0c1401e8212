//! A user's crate that depends on this one, with the code of the guide "Your own model in Rust": it builds and runs.
#![cfg(feature = "torch")]
#![allow(clippy::unwrap_used)]

mod common;

use std::fs;
use std::process::Command;

use common::repository;

/// The indented block of the guide that follows a line with this name of a file.
fn block(guide: &str, file: &str) -> String {
    let after = guide.split_once(&format!("`{file}`")).unwrap_or_else(|| panic!("{file}")).1;
    let block = after.split("```").nth(1).unwrap();
    block.split_once('\n').unwrap().1.to_owned()
}

/// The profiles of this package, so that dependencies that are compiled for one serve the other. Only this package is compiled
/// again, so it is not optimised.
fn profiles() -> String {
    let manifest = fs::read_to_string(repository("Cargo.toml")).unwrap();
    let from = manifest.find("[profile.release.").unwrap();
    let to = manifest.find("[lints]").unwrap();
    let profiles = &manifest[from..to];
    format!("{profiles}[profile.release.package.sar-single]\nopt-level = 0\ndebug = false\n")
}

#[test]
#[ignore = "compiles the library once more; `make campaign` runs it"]
fn a_crate_with_the_lines_of_the_guide_builds_and_runs() {
    let guide = fs::read_to_string(repository("docs/src/guides/own-model.md")).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    fs::create_dir(path("src")).unwrap();
    let here = repository("").canonicalize().unwrap();
    let dependency =
        block(&guide, "Cargo.toml").replace("/path/to/sar-single", here.to_str().unwrap());
    let package = "[package]\nname = \"mine\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n";
    fs::write(path("Cargo.toml"), format!("{package}{dependency}\n{}", profiles())).unwrap();
    fs::write(path("build.rs"), block(&guide, "build.rs")).unwrap();
    fs::write(path("src/main.rs"), block(&guide, "src/main.rs")).unwrap();
    fs::copy(repository("Cargo.lock"), path("Cargo.lock")).unwrap();
    let target = repository(env!("CARGO_TARGET_TMPDIR")).parent().unwrap().to_owned();

    let mut cargo = Command::new(env!("CARGO"));
    cargo.current_dir(&folder).args(["run", "--release", "--offline", "--quiet", "--"]);
    cargo.arg(repository("data/karate/karate.json").canonicalize().unwrap());
    cargo.env("CARGO_TARGET_DIR", target).env_remove("LD_LIBRARY_PATH");
    if let Some(libtorch) = option_env!("LIBTORCH") {
        cargo.env("LIBTORCH", libtorch);
    }
    let output = cargo.output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    assert!(text.contains("nodes by partition: [17, 17]"), "{text}");
}
