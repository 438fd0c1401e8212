//! No dependency is compiled twice: those of the program, of its tests and of the Python package have the same features.

use std::collections::BTreeSet;
use std::process::Command;

/// Dependencies on the paths that `edges` names, each with its version and features.
fn dependencies(edges: &str, features: &[&str]) -> BTreeSet<(String, String)> {
    let mut tree = Command::new(env!("CARGO"));
    tree.current_dir(env!("CARGO_MANIFEST_DIR")).args(["tree", "--locked", "--offline"]);
    tree.args(["--prefix", "none", "--edges", edges, "--format", "{p}|{f}|"]).args(features);
    let output = tree.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    let packages = text.lines().map(|line| {
        let mut parts = line.split('|').map(str::to_owned);
        (parts.next().unwrap(), parts.next().unwrap())
    });
    packages.collect()
}

#[test]
fn a_build_and_the_tests_have_the_same_dependencies() {
    for features in [&[][..], &["--no-default-features"]] {
        let build = dependencies("normal,build", features);
        let tests = dependencies("normal,build,dev", features);
        assert!(build.len() > 100, "{build:?}");
        let lost: Vec<_> = build.difference(&tests).collect();
        assert!(
            lost.is_empty(),
            "tests add features to these; Cargo.toml says what to do: {lost:#?}"
        );
    }
}

#[test]
fn the_python_package_is_linked_with_dependencies_of_the_program() {
    let program = dependencies("normal,build", &[]);
    let package = dependencies("normal,build", &["--package", "sar-single-python"]);
    let is_shared = |name: &str| {
        let versions = |(other, _): &&(String, String)| other == name;
        !name.starts_with("sar-single ") && program.iter().find(versions).is_some()
    };
    let again: Vec<_> = package.difference(&program).filter(|(name, _)| is_shared(name)).collect();
    assert!(package.len() > 100, "{package:?}");
    assert!(
        again.is_empty(),
        "the package adds features to these; both Cargo.toml say what to do: {again:#?}"
    );
}
