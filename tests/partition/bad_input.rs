//! Guards against: a wrong line, number or flag that is swallowed, or an error that does not name it.

use std::path::Path;

use predicates::str::contains;

use super::program::Program;
use super::support::{lines, write};

/// The command's message about wrong input.
fn complaint(folder: &Path, arguments: &[&str]) -> String {
    let out = folder.join("out");
    let output = Program::new()
        .current_dir(folder)
        .args(["partition", "--num-parts", "2", "--out", "out"])
        .args(arguments)
        .assert()
        .code(1)
        .get_output()
        .stderr
        .clone();
    assert!(!out.exists(), "{arguments:?} left {}", out.display());
    String::from_utf8(output).unwrap()
}

/// The memory that a hint asks for is enough, if not at once: the graph itself is only known when the names have room.
#[test]
fn memory_that_is_too_little_for_names_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let rows = 400_000;
    let name = |i: usize| format!("a node with a name that is rather long - number {i}");
    let nodes = lines((0..rows).map(|i| format!("{},{}", name(i), i % 5)));
    write(folder.path(), "nodes.csv", &format!("id,x\n{nodes}"));
    let edges = lines((0..rows).map(|i| format!("{},{}", name(i), name(i / 2))));
    write(folder.path(), "edges.csv", &edges);
    for nodes in [&["--node-table", "nodes.csv", "--id", "id"][..], &["--node-ids", "string"]] {
        let mut memory = "1MiB".to_owned();
        let mut messages = Vec::new();
        while messages.len() < 5 {
            let mut command = Program::new();
            command.current_dir(folder.path()).args(["partition", "--edges", "edges.csv"]);
            command.args(["--num-parts", "2", "--method", "random", "--out", "out", "--memory"]);
            let output = command.arg(&memory).args(nodes).output().unwrap();
            if output.status.success() {
                break;
            }
            let text = String::from_utf8(output.stderr).unwrap();
            let (_, hint) = text.split_once("hint: pass --memory ").unwrap();
            memory = hint.split([' ', '\n']).next().unwrap().to_owned();
            messages.push(text);
        }
        assert!(messages.iter().any(|text| text.contains("the names of nodes take ")));
        assert!(messages.len() < 4, "{messages:?}");
        std::fs::remove_dir_all(folder.path().join("out")).unwrap();
    }
}

#[test]
fn a_wrong_line_of_edges_is_named_with_its_file() {
    let folder = tempfile::tempdir().unwrap();
    let cases = [
        ("0 1\n1 x\n", "line 2: \"x\" is not a node id"),
        ("0 1\n1\n", "line 2: has 1 column, but the lines before have 2"),
        ("0 1\n\n# note\n-1 0\n", "line 4: \"-1\" is not a node id"),
        ("0,1\n1,0,3\n", "line 2: has 3 columns, but the lines before have 2"),
        ("0 1\n1 1.5\n", "line 2: \"1.5\" is not a node id"),
        ("0 1\n1 99999999999999999999999\n", "line 2"),
        ("0 1\n1 1099511627776\n", "line 2: node 1099511627776 is beyond 2^40 nodes"),
        ("0 1 5\n1 2 x\n", "line 1: holds 3 columns"),
    ];
    for (text, due) in cases {
        write(folder.path(), "e.txt", text);
        let said = complaint(folder.path(), &["--edges", "e.txt"]);
        assert!(said.contains("e.txt: ") && said.contains(due), "{text:?}: {said}");
    }
    write(folder.path(), "e.txt", "0 1 5\n1 2 x\n");
    let said = complaint(folder.path(), &["--edges", "e.txt", "--edge-columns", "w"]);
    assert!(said.contains("line 2: column w: \"x\" is not a number"), "{said}");
    let said = complaint(folder.path(), &["--edges", "e.txt", "--edge-columns", "w,v"]);
    assert!(said.contains("line 1: has no column v"), "{said}");
}

#[test]
fn nodes_beyond_their_number_are_named() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "e.txt", "0 1\n1 5\n");
    let said = complaint(folder.path(), &["--edges", "e.txt", "--num-nodes", "5"]);
    assert!(said.contains("line 2: node 5 is beyond the 5 nodes"), "{said}");
    write(folder.path(), "x.csv", "1\n2\n3\n");
    let with_data = ["--edges", "e.txt", "--node-data", "x=x.csv"];
    let said = complaint(folder.path(), &with_data);
    assert!(
        said.contains("line 2: node 5 is beyond the 3 nodes of type _N that --node-data x"),
        "{said}"
    );
    let said = complaint(folder.path(), &[&with_data[..], &["--num-nodes", "6"]].concat());
    assert!(
        said.contains("--node-data x: states 3 nodes of type _N, but --num-nodes states 6"),
        "{said}"
    );
    write(folder.path(), "train.txt", "1\n6\n");
    let said = complaint(folder.path(), &["--edges", "e.txt", "--split", "train=train.txt"]);
    assert!(said.contains("train.txt: line 2: node 6 is beyond the 6 nodes"), "{said}");
}

#[test]
fn tables_of_the_wrong_form_are_named() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "e.txt", "0 1\n1 2\n");
    write(folder.path(), "x.csv", "a,b\n1,2\n3,4\n5\n");
    let said = complaint(folder.path(), &["--edges", "e.txt", "--node-data", "x=x.csv"]);
    assert!(said.contains("x.csv: line 4: has 1 column, but the first line names 2"), "{said}");
    write(folder.path(), "x.csv", "1,2\n3,four\n5,6\n");
    let said = complaint(folder.path(), &["--edges", "e.txt", "--node-data", "x=x.csv"]);
    assert!(said.contains("x.csv: line 2: column 2: \"four\" is not a number"), "{said}");
    write(folder.path(), "w.csv", "1\n2\n3\n");
    let said = complaint(folder.path(), &["--edges", "e.txt", "--edge-data", "w=w.csv"]);
    assert!(said.contains("w.csv: has 3 rows, but there are 2 edges"), "{said}");
    write(folder.path(), "x.npy", "no numpy file");
    let said = complaint(folder.path(), &["--edges", "e.txt", "--node-data", "x=x.npy"]);
    assert!(said.contains("x.npy") && said.contains("not a numpy file"), "{said}");
    let said = complaint(folder.path(), &["--edges", "missing.npy"]);
    assert!(said.contains("missing.npy: cannot be read"), "{said}");
    std::fs::write(folder.path().join("e.gz"), [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3, 7, 7]).unwrap();
    let said = complaint(folder.path(), &["--edges", "e.gz"]);
    assert!(said.contains("e.gz: cannot be read"), "{said}");
}

#[test]
fn flags_that_do_not_fit_are_named() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "e.txt", "0 1\n1 2\n");
    let edges = ["--edges", "e.txt"];
    let with = |more: &[&str]| complaint(folder.path(), &[&edges[..], more].concat());
    for (flags, due) in [
        (&["--num-nodes", "many"][..], "\"many\" is not a number"),
        (&["--split", "paper/train=e.txt"], "no edge joins nodes of type \"paper\""),
        (&["--node-data", "paper/x=x.csv"], "x.csv: cannot be read"),
        (&["--edge-data", "a:b/w=w.csv"], "is not an edge type"),
        (&["--node-data", "x"], "does not have the form NAME=FILE"),
        (&["--method", "file"], "--assignment: is missing"),
        (&["--assignment", "e.txt"], "--assignment has no effect with --method stream"),
        (&["--memory", "1MiB"], "is too little for this graph"),
        (&["--name", "../g"], "--name: cannot name a file"),
        (&["--edge-columns", "w,w"], "is given twice"),
        (&["--node-ids", "string", "--num-nodes", "3"], "isolated nodes cannot be stated"),
        (&["--method", "file", "--assignment", "a=x", "--assignment", "a=y"], "two files, x and y"),
        (&["--split-by", "t:0.9,0.2,0.1"], "--split-by: \"0.9,0.2,0.1\" holds shares"),
    ] {
        let said = with(flags);
        assert!(said.contains(due), "{flags:?}: {said}");
    }
    for parts in ["0", "65536"] {
        let mut command = Program::new();
        command.current_dir(folder.path()).args(["partition", "e.txt", "--num-parts", parts]);
        command.args(["--out", "out"]).assert().code(1).stderr(contains("--num-parts: is "));
    }
    write(folder.path(), "parts", "0\n1\n2\n");
    let said = with(&["--method", "file", "--assignment", "parts"]);
    assert!(said.contains("parts: line 3: \"2\" is not one of the 2 partitions"), "{said}");
    write(folder.path(), "parts", "0\n1\n");
    let said = with(&["--method", "file", "--assignment", "parts"]);
    assert!(said.contains("assigns 2 nodes, but there are 3"), "{said}");
    let typed = ["--edges", "a:r:b=e.txt", "--undirected"];
    let said = complaint(folder.path(), &typed);
    assert!(said.contains("the reverse of a:r:b is not an edge of that type"), "{said}");
}

#[test]
fn the_likeliest_mistakes_get_a_hint() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "named.csv", "u122,u7\nu7,u9\n");
    write(folder.path(), "mixed.csv", "0,1\n1,u9\n");
    write(folder.path(), "decimal.csv", "0,1.0\n1,17.0\n");
    write(folder.path(), "decimals.csv", "id,x\n0.0,1\n1.0,2\n2.0,4\n3.0,9\n");
    write(folder.path(), "header.csv", "who,whom,weight\nann,bob,1\nbob,eve,2\neve,ann,0.5\n");
    write(folder.path(), "e.csv", "0,1\n1,2\n2,3\n");
    write(folder.path(), "train.txt", "0\n3\n");
    write(folder.path(), "who.txt", "ann\nbob\n");
    write(folder.path(), "kinds.txt", "0\n1\n0\n1\n");
    write(folder.path(), "one.csv", "1,2\n2,3\n3,4\n");
    for (flags, problem, hint) in [
        ("--edges mixed.csv", "\"u9\" is not a node id", "pass --node-ids string"),
        ("--edges decimal.csv", "line 1: \"1.0\" is not a node id", "without decimals"),
        (
            "--edges e.csv --node-table decimals.csv --id id",
            "line 1: \"0\" is not the name of a node",
            "decimals.csv lists \"0.0\"; write ids without decimals",
        ),
        (
            "--edges header.csv --node-ids string",
            "header.csv: has the columns who, whom, weight",
            "--source-column NAME, --target-column NAME",
        ),
        (
            "--edges named.csv --node-names who.txt",
            "line 1: \"u122\" is not the name of a node",
            "pass --header",
        ),
        (
            "--edges one.csv --node-data kind=kinds.txt",
            "line 3: node 4 is beyond the 4 nodes",
            "if ids count from 1, list them in the order of the rows with --node-names FILE",
        ),
        (
            "--edges e.csv --node-data train_mask=train.txt",
            "e.csv: line 2: node 2 is beyond the 2 nodes of type _N that --node-data train_mask states",
            "--split train=FILE",
        ),
        (
            "--edges e.csv --num-nodes 4 --node-data train_mask=train.txt",
            "--node-data train_mask: states 2 nodes of type _N, but --num-nodes states 4",
            "--split train=FILE",
        ),
        (
            "--edges e.csv --node-data train_mask=who.txt",
            "line 1: column 1: \"ann\" is not a number",
            "--split train=FILE",
        ),
        (
            "--edges e.csv --node-data kind=kinds.txt --balance-ntypes knid",
            "no type of nodes has the data `knid`",
            "did you mean kind?",
        ),
        (
            "--edges author:writes:paper=e.csv --method file --assignment autor=kinds.txt",
            "the graph has no nodes of type autor",
            "did you mean author?",
        ),
    ] {
        let said = complaint(folder.path(), &flags.split(' ').collect::<Vec<_>>());
        assert!(said.contains(problem), "{flags}: {said}");
        assert!(said.contains("hint: ") && said.contains(hint), "{flags}: {said}");
    }
    let mut count = Program::new();
    count.current_dir(folder.path()).args(["partition", "--num-parts", "1", "--out", "out"]);
    count.args(["--edges", "named.csv", "--node-ids", "string"]).assert().success();
}

#[test]
fn a_folder_that_holds_something_is_not_written_to() {
    let folder = tempfile::tempdir().unwrap();
    let path = write(folder.path(), "e.txt", "0 1\n1 2\n");
    let partition = || {
        let mut command = Program::new();
        command.args(["partition", "--num-parts", "2", "--edges"]).arg(&path).arg("--out");
        command
    };
    let said = "is not empty: it holds e.txt";
    partition().arg(folder.path()).assert().code(1).stderr(contains(said));
    // Only names that the program gives are removed.
    std::fs::create_dir_all(folder.path().join("parts/.unfinished-abc")).unwrap();
    let said = "is not empty: it holds .unfinished-abc";
    partition().arg(folder.path().join("parts")).assert().code(1).stderr(contains(said));
}
