//! Files that would hang the program, fill its memory, or silently become part of a graph.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Output};

use flate2::Compression;
use flate2::write::GzEncoder;

/// Cuts a graph; a command that hangs is killed.
fn partition(folder: &Path, words: &str) -> Output {
    let mut command = Command::new("timeout");
    command.arg("60").arg(env!("CARGO_BIN_EXE_sar-single")).arg("partition");
    command.args(words.split_whitespace()).args(["--num-parts", "2", "--out", "out"]);
    command.current_dir(folder).output().unwrap()
}

fn assert_refused(output: &Output, texts: &[&str]) {
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{stderr}");
    for text in texts {
        assert!(stderr.contains(text), "{text} is not in: {stderr}");
    }
}

fn graph(folder: &Path) {
    fs::write(folder.join("edges.csv"), "0,1\n1,2\n2,3\n3,0\n").unwrap();
    fs::write(folder.join("feat.csv"), "1,2\n3,4\n5,6\n7,8\n").unwrap();
}

#[test]
fn data_that_is_given_twice_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    graph(folder.path());
    fs::write(folder.path().join("w.csv"), "1\n2\n3\n4\n").unwrap();
    fs::write(folder.path().join("train.csv"), "0\n1\n").unwrap();
    for (flag, data) in [
        ("--node-data", "feat=feat.csv"),
        ("--edge-data", "w=w.csv"),
        ("--split", "train=train.csv"),
    ] {
        let words = format!("--edges edges.csv {flag} {data} {flag} {data}");
        let named = format!("{flag}: {} is given twice", data.split_once('=').unwrap().0);
        assert_refused(&partition(folder.path(), &words), &[&named]);
        assert!(!folder.path().join("out").exists());
    }
}

#[test]
fn a_byte_order_mark_is_no_part_of_a_name_or_a_number() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
    file("edges.csv", "\u{feff}a,b\nb,a\na,b\n");
    let count = |words: &str, key: &str| {
        let output = partition(folder.path(), words);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let text = fs::read_to_string(folder.path().join("out/g.json")).unwrap();
        fs::remove_dir_all(folder.path().join("out")).unwrap();
        let json: serde_json::Value = serde_json::from_str(&text).unwrap();
        json[key].as_u64().unwrap()
    };
    assert_eq!(count("--edges edges.csv --node-ids string", "num_nodes"), 2);
    file("numbers.csv", "\u{feff}0,1\n1,2\n");
    file("feat.csv", "\u{feff}1,2\n3,4\n5,6\n");
    assert_eq!(count("--edges numbers.csv --node-data feat=feat.csv", "num_edges"), 2);
}

#[test]
fn a_fifo_is_refused_at_once() {
    let folder = tempfile::tempdir().unwrap();
    graph(folder.path());
    let fifo = |name: &str| {
        let made = Command::new("mkfifo").arg(folder.path().join(name)).status().unwrap();
        assert!(made.success());
    };
    for name in ["fifo", "fifo.npy", "fifo.graph"] {
        fifo(name);
        let words = format!("--edges {name}");
        assert_refused(&partition(folder.path(), &words), &[name, "not a regular file"]);
        let words = format!("--edges edges.csv --node-data feat={name}");
        assert_refused(&partition(folder.path(), &words), &[name, "not a regular file"]);
    }
    fifo("g.json");
    for words in ["--part-json g.json", "--chunked g.json"] {
        assert_refused(&partition(folder.path(), words), &["g.json", "not a regular file"]);
    }
    let words = "--edges edges.csv --node-data feat=feat.csv";
    assert!(partition(folder.path(), words).status.success());
    for name in ["graph.dgl", "node_feat.dgl", "edge_feat.dgl"] {
        let path = folder.path().join("out/part1").join(name);
        fs::rename(&path, path.with_extension("kept")).unwrap();
        fifo(path.strip_prefix(folder.path()).unwrap().to_str().unwrap());
        let trains = cfg!(feature = "torch").then_some("--part-json");
        for command in ["inspect", "inspect --verify"].into_iter().chain(trains) {
            let mut run = Command::new("timeout");
            run.arg("60").arg(env!("CARGO_BIN_EXE_sar-single")).args(command.split(' '));
            let output = run.arg("out/g.json").current_dir(folder.path()).output().unwrap();
            assert_refused(&output, &[]);
        }
        fs::remove_file(&path).unwrap();
        fs::rename(path.with_extension("kept"), &path).unwrap();
    }
}

#[test]
fn a_line_of_any_length_takes_bounded_memory() {
    let folder = tempfile::tempdir().unwrap();
    let mut file = GzEncoder::new(
        fs::File::create(folder.path().join("long.gz")).unwrap(),
        Compression::fast(),
    );
    file.write_all(b"0 1\n").unwrap();
    let block = vec![b'1'; 1 << 20];
    // Three times the largest size of a line; the memory below would not hold it.
    for _ in 0..192 {
        file.write_all(&block).unwrap();
    }
    file.finish().unwrap();
    let output = Command::new("sh")
        .arg("-c")
        .arg("ulimit -v 1500000; exec timeout 60 \"$0\" partition --edges long.gz --num-parts 1 --out out")
        .arg(env!("CARGO_BIN_EXE_sar-single"))
        .current_dir(folder.path())
        .output();
    assert_refused(&output.unwrap(), &["long.gz: line 2: is longer than 64 MiB"]);
}

#[test]
fn an_id_far_beyond_the_number_of_edges_is_named_by_file_line_and_value() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("edges.csv"), "0,1\n1,549755813887\n2,0\n").unwrap();
    let named = ["edges.csv: line 2: node id 549755813887 implies", "3 edges", "--num-nodes"];
    assert_refused(&partition(folder.path(), "--edges edges.csv"), &named);
}

#[test]
fn a_path_that_leads_out_of_the_folder_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    graph(folder.path());
    assert!(partition(folder.path(), "--edges edges.csv").status.success());
    let json = folder.path().join("out/g.json");
    let text = fs::read_to_string(&json).unwrap();
    fs::copy(folder.path().join("out/part1/graph.dgl"), folder.path().join("outside.dgl")).unwrap();
    fs::write(&json, text.replace("part1/graph.dgl", "../outside.dgl")).unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_sar-single")).arg("inspect").arg(&json).output();
    assert_refused(&output.unwrap(), &["part-1.part_graph: ", "leads out of the folder"]);
}

#[test]
fn names_from_files_reach_neither_the_terminal_nor_other_folders_as_they_are() {
    let folder = tempfile::tempdir().unwrap();
    graph(folder.path());
    let words = "--edges edges.csv --node-data feat=feat.csv";
    assert!(partition(folder.path(), words).status.success());
    let json = folder.path().join("out/g.json");
    let text = fs::read_to_string(&json).unwrap();
    let name = "../../x\\u001b[2J\\u202e";
    fs::write(&json, text.replace("\"graph_name\": \"g\"", &format!("\"graph_name\": \"{name}\"")))
        .unwrap();
    let run = |words: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_sar-single"));
        command.args(words).arg("out/g.json").current_dir(folder.path()).output().unwrap()
    };
    let outputs = [run(&["inspect"]), run(&["--epochs", "1", "--part-json"])];
    for output in outputs {
        let shown = [output.stdout, output.stderr].concat();
        let shown = String::from_utf8(shown).unwrap();
        assert!(!shown.contains('\u{1b}') && !shown.contains('\u{202e}'), "{shown:?}");
    }
    fs::write(&json, text.replace("part1/graph.dgl", "\\u001b[31mpart1/graph.dgl")).unwrap();
    let output = run(&["inspect"]);
    assert!(!output.stderr.contains(&0x1b) && !output.stdout.contains(&0x1b));
}
