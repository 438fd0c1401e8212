//! The house rules that the compiler does not check: layers, file sizes, and the places of unsafe code and libtorch.
#![allow(clippy::unwrap_used)]

#[path = "architecture/cycles.rs"]
mod cycles;
#[path = "architecture/features.rs"]
mod features;
#[path = "architecture/names.rs"]
mod names;
#[path = "architecture/parameters.rs"]
mod parameters;
#[path = "architecture/python.rs"]
mod python;
#[path = "architecture/source.rs"]
mod source;

use std::fs;
use std::path::Path;

use source::{code, files};

/// The order of rooms: lower ones may not use higher ones. ARCHITECTURE.md describes each.
const ROOMS: [&str; 35] = [
    "words",
    "platform",
    "io",
    "graph",
    "kernels",
    "event",
    "engine::turns",
    "engine::launch",
    "engine::spill_dir",
    "engine::array",
    "engine::tensor",
    "engine::packed",
    "engine::spill",
    "engine::comm",
    "engine::tape",
    "formats",
    "load",
    "prepare::import",
    "prepare::partition",
    "prepare::export",
    "prepare::statistics",
    "prepare::generate",
    "sampling::stores",
    "sampling::loaders",
    "nn",
    "train",
    "testing",
    "run::config",
    "run::rank",
    "run::launch",
    "run::plan",
    "run",
    "report",
    "cli",
    "main",
];

/// Folders and files that build without libtorch.
const WITHOUT_TORCH: [&str; 17] = [
    "words",
    "platform",
    "io",
    "graph",
    "kernels",
    "event",
    "engine/turns",
    "engine/launch",
    "engine/spill_dir",
    "engine/array",
    "engine/packed.rs",
    "engine/spill",
    "engine/comm",
    "formats",
    "load",
    "prepare",
    "main.rs",
];

/// Files and folders below these that need it all the same; they are declared behind the cargo feature `torch`.
const BRIDGES: [&str; 4] = [
    "src/engine/comm/tensor.rs",
    "src/engine/spill/tensor.rs",
    "src/engine/spill/tracked_tensor.rs",
    "src/load/tensors",
];

/// Files with unsafe code. The top of each says why.
const UNSAFE: [&str; 17] = [
    "python/src/memory.rs",
    "python/src/serve.rs",
    "python/src/sleep/backing.rs",
    "src/engine/comm/machines/mpi.rs",
    "src/engine/tensor.rs",
    "src/engine/turns/control.rs",
    "src/kernels/bf16_tile.rs",
    "src/kernels/matmul.rs",
    "src/kernels/simd.rs",
    "src/main.rs",
    "src/platform/blocks/allocator.rs",
    "src/platform/blocks/hook.rs",
    "src/platform/end.rs",
    "src/platform/fork.rs",
    "src/platform/heap.rs",
    "src/platform/signals.rs",
    "src/platform/write_back.rs",
];

/// Files that know standard output and standard error. All others go through them: `print` and `show_status` define what
/// happens without a reader. (Clippy's `print_stdout` and `print_stderr` refuse the macros, see `lib.rs`.)
/// Files that write to the standard streams. Those of `io` write a result where the user says so, which may be standard output.
const PRINTING: [&str; 5] = [
    "src/cli/show/output.rs",
    "src/event/screen.rs",
    "src/event/stream.rs",
    "src/io/destination.rs",
    "src/io/result_file.rs",
];

const MAX_LINES: usize = 500;

/// The place in `ROOMS` of the longest entry that a module path begins with.
fn place_of(module: &str) -> Option<usize> {
    let begins = |room: &str| {
        module.strip_prefix(room).is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
    };
    let found = ROOMS.iter().enumerate().filter(|(_, room)| begins(room));
    found.max_by_key(|(_, room)| room.len()).map(|(place, _)| place)
}

/// The room of a source file; `None` for `lib.rs` and for a `mod.rs` that lists rooms, which name them all.
fn room_of(path: &str) -> Option<usize> {
    let inside = path.strip_prefix("src/").unwrap().strip_suffix(".rs").unwrap();
    let module = inside.strip_suffix("/mod").unwrap_or(inside).replace('/', "::");
    let place = place_of(&module);
    let lists_rooms =
        module == "lib" || ROOMS.iter().any(|room| room.starts_with(&format!("{module}::")));
    assert!(place.is_some() || lists_rooms, "{path} belongs to no room");
    place
}

#[test]
fn lower_rooms_do_not_use_higher_ones() {
    let mut wrong = Vec::new();
    for (path, content) in files("src") {
        let Some(own) = room_of(&path) else { continue };
        for (number, line) in code(&content) {
            for used in line.replace("pub(in crate::", "").split("crate::").skip(1) {
                let is_path = |c: &char| c.is_alphanumeric() || matches!(c, '_' | ':');
                let module: String = used.chars().take_while(is_path).collect();
                if place_of(&module).is_some_and(|used| used > own) {
                    wrong.push(format!("{path}:{number} uses {module}"));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// A compiler holds this only where the feature is off.
#[test]
fn libtorch_stays_in_the_files_behind_the_feature() {
    let behind = "#[cfg(feature = \"torch\")]";
    for path in BRIDGES {
        let (folder, file) = path.rsplit_once('/').unwrap();
        let module = file.strip_suffix(".rs").unwrap_or(file);
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let list = fs::read_to_string(root.join(folder).join("mod.rs")).unwrap();
        assert!(list.contains(&format!("{behind}\nmod {module};")), "{path} is not behind it");
    }
    for (path, content) in files("src") {
        let inside = path.strip_prefix("src/").unwrap();
        let without = WITHOUT_TORCH.iter().any(|place| inside.starts_with(place));
        if !without || BRIDGES.iter().any(|bridge| path.starts_with(bridge)) {
            continue;
        }
        let lines: Vec<_> = code(&content).collect();
        for (i, (number, line)) in lines.iter().enumerate() {
            let is_behind = i > 0 && lines[i - 1].1.trim() == behind;
            for word in ["tch::", "engine::tensor"] {
                // `StallWatch::` is another word.
                let mut found = line.match_indices(word);
                let uses = found.any(|(at, _)| !line[..at].ends_with(char::is_alphabetic));
                assert!(is_behind || !uses, "{path}:{number} uses {word}");
            }
        }
    }
}

/// Command lines are parsed in one room, which alone knows the names of flags.
#[test]
fn flags_are_named_by_the_command_line_alone() {
    let mut offenders = Vec::new();
    for (path, content) in files("src") {
        if path.starts_with("src/cli/") {
            continue;
        }
        for (number, line) in code(&content) {
            // `--` in code is followed by a space; in styles it begins the names of properties.
            let is_flag = |part: &str| {
                part.starts_with(|c: char| c.is_ascii_lowercase()) && !line.contains("style=")
            };
            if line.contains("clap") || line.split("--").skip(1).any(is_flag) {
                offenders.push(format!("{path}:{number}: {}", line.trim()));
            }
        }
    }
    assert!(offenders.is_empty(), "{offenders:#?}");
}

#[test]
fn unsafe_code_is_in_the_files_that_need_it() {
    for (path, content) in files("src").into_iter().chain(files("python/src")) {
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
    for folder in ["src", "tests", "examples", "python/src"] {
        for (path, content) in files(folder) {
            let lines = content.lines().count();
            assert!(lines <= MAX_LINES, "{path} has {lines} lines; {MAX_LINES} are enough");
            if path.contains("src/") && path.ends_with("/mod.rs") {
                let logic = code(&content).find(|(_, line)| {
                    line.contains("fn ") || line.contains("impl ") || line.contains("struct ")
                });
                assert!(logic.is_none(), "{path}: {logic:?}");
            }
        }
    }
}

#[test]
fn architecture_md_names_every_room() {
    let text = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("ARCHITECTURE.md"));
    let text = text.unwrap();
    for room in ROOMS {
        assert!(text.contains(&format!("`{room}`")), "ARCHITECTURE.md does not describe {room}");
    }
}
