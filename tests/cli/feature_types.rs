//! Rows of features travel between ranks in the type that they have in the files, and nothing else changes.

use std::fs;
use std::path::{Path, PathBuf};

use half::f16;

use super::common::metrics;
use super::program::Program;

const NODES: u32 = 300;
const WIDTH: usize = 20;
const PARTS: u32 = 3;

/// An element type of features, as numpy writes it, and the bytes of a small whole number in it.
struct Elements {
    descr: &'static str,
    bytes: fn(u8) -> Vec<u8>,
}

const SINGLE: Elements = Elements { descr: "<f4", bytes: |v| f32::from(v).to_le_bytes().into() };
const HALF: Elements = Elements { descr: "<f2", bytes: |v| f16::from(v).to_le_bytes().into() };
const BYTE: Elements = Elements { descr: "|u1", bytes: |v| vec![v] };
const SHORT: Elements = Elements { descr: "<i2", bytes: |v| i16::from(v).to_le_bytes().into() };

fn write_npy(path: &Path, elements: &Elements) {
    let shape = format!("({NODES}, {WIDTH})");
    let header =
        format!("{{'descr': '{}', 'fortran_order': False, 'shape': {shape}, }}", elements.descr);
    let mut npy = b"\x93NUMPY\x01\x00\x76\x00".to_vec();
    npy.extend(format!("{header:<117}\n").as_bytes());
    let values = (0..NODES * WIDTH as u32).map(|i| (i * 7 % 11) as u8);
    npy.extend(values.flat_map(elements.bytes));
    fs::write(path, npy).unwrap();
}

/// A partitioned graph with two node types, whose features have these types.
fn graph(folder: &Path, name: &str, features: [&Elements; 2]) -> PathBuf {
    let path = |name: &str| folder.join(name);
    let lines =
        |of_node: &dyn Fn(u32) -> String| (0..NODES).map(|i| of_node(i) + "\n").collect::<String>();
    // No two edges have an end in common, so that sums of sources would not be fewer rows than sources.
    let cited = |i: u32| (i * 7 + 1) % NODES;
    let edges = |kept: &dyn Fn(u32) -> bool, edge: &dyn Fn(u32) -> [u32; 2]| -> String {
        let edges = (0..NODES).filter(|i| kept(*i)).map(edge);
        edges.map(|[src, dst]| format!("{src} {dst}\n")).collect::<Vec<_>>().concat()
    };
    let cites = |i: u32| i < NODES / 3;
    let is_cited = |node: u32| (0..NODES / 3).any(|i| cited(i) == node);
    fs::write(path("near"), edges(&cites, &|i| [i, cited(i)])).unwrap();
    fs::write(path("has"), edges(&|i| !cites(i), &|i| [i, cited(i)])).unwrap();
    fs::write(path("far"), edges(&|i| !is_cited(i), &|i| [(i * 7 + 3) % NODES, i])).unwrap();
    fs::write(path("label"), lines(&|i| (i % 3).to_string())).unwrap();
    fs::write(path("train"), lines(&|i| i.to_string())).unwrap();
    fs::write(path("parts"), lines(&|i| (i % PARTS).to_string())).unwrap();
    let mut command = Program::new();
    command.args(["partition", "--method", "file", "--num-parts", &PARTS.to_string()]);
    for (relation, file) in [("a:cites:a", "near"), ("b:is_by:a", "far"), ("a:has:b", "has")] {
        command.arg("--edges").arg(format!("{relation}={}", path(file).display()));
    }
    for (ntype, elements) in ["a", "b"].into_iter().zip(features) {
        write_npy(&path(&format!("{ntype}.npy")), elements);
        let file = path(&format!("{ntype}.npy"));
        command.arg("--node-data").arg(format!("{ntype}/feat={}", file.display()));
        command.arg("--assignment").arg(format!("{ntype}={}", path("parts").display()));
    }
    command.arg("--node-data").arg(format!("a/label={}", path("label").display()));
    command.arg("--split").arg(format!("a/train={}", path("train").display()));
    command.arg("--name").arg("g").arg("--out").arg(path(name)).assert().success();
    path(name).join("g.json")
}

/// The weights of a run, and the bytes that its first epoch writes: messages, as nothing else leaves memory.
fn run(json: &Path, mode: &[&str]) -> (Vec<u8>, i64) {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    let mut command = Program::new();
    command
        .arg("--part-json")
        .arg(json)
        .arg("--out")
        .arg(&out)
        .arg("--spill-dir")
        .arg(folder.path());
    command.args(["--layers", "2", "--hidden", "32", "--epochs", "2"]);
    command.args(["--memory-budget", "4GiB"]).args(mode).assert().success();
    let written = metrics(&out)[0]["bytes_written"].as_i64().unwrap();
    (fs::read(out.join("model.safetensors")).unwrap(), written)
}

#[test]
fn features_have_the_type_of_the_files_in_messages() {
    let folder = tempfile::tempdir().unwrap();
    let graph = |name, elements| graph(folder.path(), name, [elements; 2]);
    let single = graph("single", &SINGLE);
    let two_bytes = [graph("half", &HALF), graph("short", &SHORT)];
    let byte = graph("byte", &BYTE);
    let modes: [&[&str]; 7] = [
        &[],
        &["--mfg"],
        &["--one-shot"],
        &["--model", "gin"],
        &["--model", "rgcn"],
        &["--aggregator", "pool"],
        &["--spill-dtype", "bf16"],
    ];
    for mode in modes {
        let (single, byte) = (run(&single, mode), run(&byte, mode));
        let saved = |narrow: &(Vec<u8>, i64)| single.1 - narrow.1;
        // Rows that are multiplied before they are sent are single-precision ones.
        assert_eq!(saved(&byte) > 0, mode != ["--aggregator", "pool"], "{mode:?}");
        assert!(single.0 == byte.0, "{mode:?}: other weights");
        for json in &two_bytes {
            let two = run(json, mode);
            if mode == ["--spill-dtype", "bf16"] {
                assert_eq!(saved(&two), 0, "bfloat16s are as long");
            } else {
                assert_eq!(3 * saved(&two), 2 * saved(&byte), "{mode:?}");
            }
            assert!(single.0 == two.0, "{mode:?}: other weights");
        }
    }
}

#[test]
fn features_of_several_types_are_sent_in_single_precision() {
    let folder = tempfile::tempdir().unwrap();
    let graph = |name, features| graph(folder.path(), name, features);
    let single = graph("single", [&SINGLE, &SINGLE]);
    let byte = graph("byte", [&BYTE, &BYTE]);
    let expected = run(&single, &[]);
    assert!(run(&graph("mixed", [&BYTE, &HALF]), &[]) == expected);
    // Rows that are divided by their sums are fractions.
    let normalised = ["--normalize-features", "row"];
    assert!(run(&byte, &normalised) == run(&single, &normalised));
    let features = |json: &Path| json.parent().unwrap().join("part1/node_feat.dgl");
    fs::copy(features(&single), features(&byte)).unwrap();
    assert!(run(&byte, &[]) == expected);
}
