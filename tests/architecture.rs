//! The house rules that a compiler does not hold: layers, file sizes, where unsafe code and libtorch may be.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::{Path, PathBuf};

/// Lower may not use higher. ARCHITECTURE.md says what each is for.
const LAYERS: [&str; 24] = [
    "error",
    "signals",
    "io",
    "ipc",
    "graph",
    "kernels",
    "tensor",
    "event",
    "spill",
    "comm",
    "data",
    "imports",
    "partition",
    "datasets",
    "dist",
    "loader",
    "tape",
    "nn",
    "train",
    "testing",
    "worker",
    "launcher",
    "cli",
    "main",
];

/// Nothing here knows libtorch.
const WITHOUT_TORCH: [&str; 8] =
    ["io", "ipc", "graph", "kernels", "data/dgl", "imports", "partition", "datasets"];

/// Each says at its top why.
const UNSAFE: [&str; 9] = [
    "src/ipc/control.rs",
    "src/ipc/fork.rs",
    "src/kernels/bf16_tile.rs",
    "src/kernels/matmul.rs",
    "src/kernels/simd.rs",
    "src/main.rs",
    "src/signals.rs",
    "src/spill/heap.rs",
    "src/tensor.rs",
];

/// What writes to standard output and standard error. All else goes through them: `print` and `show_status` say what
/// happens when nobody reads. (Clippy's `print_stdout` and `print_stderr` refuse the macros, see `lib.rs`.)
const PRINTING: [&str; 2] = ["src/cli/output.rs", "src/event/stderr.rs"];

const MAX_LINES: usize = 500;

/// The Rust files below a folder of the repository: path from the root, and content.
fn files(folder: &str) -> Vec<(String, String)> {
    fn collect(folder: &Path, found: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(folder).into_iter().flatten() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                collect(&path, found);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                found.push(path);
            }
        }
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut found = Vec::new();
    collect(&root.join(folder), &mut found);
    found.sort();
    let relative = |path: &PathBuf| path.strip_prefix(root).unwrap().to_str().unwrap().to_owned();
    found.iter().map(|path| (relative(path), fs::read_to_string(path).unwrap())).collect()
}

/// The layer a source file belongs to; `None` for the crate's root, which names them all.
fn layer_of(path: &str) -> Option<usize> {
    let inside = path.strip_prefix("src/").unwrap();
    let name = inside.split(['/', '.']).next().unwrap();
    (name != "lib").then(|| {
        let place = LAYERS.iter().position(|layer| *layer == name);
        place.unwrap_or_else(|| panic!("{path} belongs to no layer"))
    })
}

/// Lines of code, with line comments cut off.
fn code(content: &str) -> impl Iterator<Item = (usize, &str)> {
    let lines = content.lines().map(|line| line.split("//").next().unwrap());
    lines.enumerate().map(|(i, line)| (i + 1, line))
}

#[test]
fn lower_layers_do_not_use_higher_ones() {
    let mut wrong = Vec::new();
    for (path, content) in files("src") {
        let Some(own) = layer_of(&path) else { continue };
        for (number, line) in code(&content) {
            for used in line.split("crate::").skip(1) {
                let name: String =
                    used.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
                let used = LAYERS.iter().position(|layer| *layer == name);
                if used.is_some_and(|used| used > own) {
                    wrong.push(format!("{path}:{number} uses {name}"));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn libtorch_stays_out_of_the_low_layers() {
    for folder in WITHOUT_TORCH {
        for (path, content) in files(&format!("src/{folder}")) {
            for (number, line) in code(&content) {
                assert!(!line.contains("tch::"), "{path}:{number} uses tch");
                assert!(!line.contains("crate::tensor"), "{path}:{number} uses the tensor bridge");
            }
        }
    }
}

#[test]
fn unsafe_code_is_in_the_files_that_need_it() {
    for (path, content) in files("src") {
        let has = content.contains("allow(unsafe_code)");
        assert_eq!(has, UNSAFE.contains(&path.as_str()), "{path}");
    }
}

#[test]
fn output_goes_through_the_files_that_know_what_a_failed_write_means() {
    for (path, content) in files("src").into_iter().filter(|(p, _)| !PRINTING.contains(&&**p)) {
        // Tests may print.
        let program = content.split("#[cfg(test)]").next().unwrap();
        for (number, line) in code(program) {
            for way in ["stdout()", "stderr()", "print!(", "println!(", "ProgressDrawTarget"] {
                assert!(!line.contains(way), "{path}:{number} writes by {way}");
            }
        }
    }
}

#[test]
fn files_stay_small_and_mod_files_hold_no_logic() {
    for folder in ["src", "tests", "examples"] {
        for (path, content) in files(folder) {
            let lines = content.lines().count();
            assert!(lines <= MAX_LINES, "{path} has {lines} lines; {MAX_LINES} are enough");
            if path.starts_with("src/") && path.ends_with("/mod.rs") {
                let logic = code(&content).find(|(_, line)| {
                    line.contains("fn ") || line.contains("impl ") || line.contains("struct ")
                });
                assert!(logic.is_none(), "{path}: {logic:?}");
            }
        }
    }
}

#[test]
fn architecture_md_names_every_layer() {
    let text = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("ARCHITECTURE.md"));
    let text = text.unwrap();
    for layer in LAYERS {
        assert!(text.contains(&format!("`{layer}`")), "ARCHITECTURE.md does not tell of {layer}");
    }
}
