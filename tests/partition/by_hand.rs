//! Guards against: files that are read as something else without a word. Each case is a few files, the flags that take them, and the
//! edges that they hold, or the words that refuse them.

use std::path::Path;

use predicates::str::contains;

use super::as_they_are::edges;
use super::columns::{refused, sar};
use super::support::write;

/// The right result.
enum Due {
    /// These edges, and these words on standard error.
    Edges(&'static [(u64, u64)], &'static str),
    Refused(&'static str),
}

use Due::{Edges, Refused};

/// Edges of three nodes.
const RING: &str = "0,1\n1,2\n2,0\n";

const EDGE_CASES: &[(&str, &str, Due)] = &[
    // Names of columns.
    ("dst,source\n0,1\n1,2\n", "", Edges(&[(1, 0), (2, 1)], "source is source, target is dst")),
    ("target,who\n0,1\n1,2\n", "", Edges(&[(1, 0), (2, 1)], "source is who, target is target")),
    ("src,dst,dst\n0,1,2\n1,2,0\n", "", Refused("has the columns src, dst, dst")),
    ("source,Source,target\n0,1,2\n", "", Refused("has the columns source, Source, target")),
    ("target,weight,who\n0,1,2\n", "", Refused("has the columns target, weight, who")),
    ("# target source\n0 1\n1 2\n", "", Edges(&[(1, 0), (2, 1)], "a comment names the columns")),
    ("\"\",\"source\",\"target\"\n\"1\",0,1\n", "", Edges(&[(0, 1)], "left out: a column without")),
    (
        "Source,Target,Type,Id\n0,1,Undirected,0\n",
        "",
        Edges(&[(0, 1)], "each edge stands for both directions"),
    ),
    (
        "Source,Target,Type\n0,1,Directed\n1,2,Undirected\n",
        "",
        Refused("line 3: the edge is \"Undirected\", unlike those before it"),
    ),
    // Headers and comments.
    (
        "3 3\n0 1\n1 2\n2 0\n",
        "",
        Edges(&[(0, 1), (1, 2), (2, 0), (3, 3)], "may be the numbers of nodes and edges"),
    ),
    ("3\n0 1\n1 2\n2 0\n", "", Refused("line 1: is the number of lines after it, not a row")),
    ("0 1 # first\n1 2\n", "", Refused("holds 4 columns")),
    ("// made by hand\n0 1\n1 2\n", "", Refused("has the columns //, made, by, hand")),
    ("\u{feff}\"source\",\"target\"\n\"0\",\"1\"\n", "", Edges(&[(0, 1)], "the first line names")),
    ("0,1\r1,2\r2,0\r", "", Refused("ends lines with carriage returns alone")),
    ("1e0 2e0\n0 1\n", "", Refused("\"1e0\" is not a node id")),
    // Values.
    ("source,target,w\n0,1,inf\n", "--edge-columns w", Refused("inf is not a finite number")),
    ("source;target;w\n0;1;1,5\n", "--edge-columns w", Refused("\"1,5\" is not a number")),
    ("source,target,w\n0,1,\n", "--edge-columns w", Refused("the value is missing")),
    ("source,target\n0.0,1.0\n", "", Refused("write ids without decimals")),
    ("source,target,\n0,1,\n", "", Edges(&[(0, 1)], "left out: a column without a name")),
    (",0,1\n0,4,5\n1,2,5\n", "", Edges(&[(2, 5), (4, 5)], "left out: a column without a name")),
    // Nodes that count from 1.
    (
        "% asym unweighted\n% 3 3 3\n1 2\n2 3\n3 1\n",
        "",
        Edges(&[(0, 1), (1, 2), (2, 0)], "nodes are counted from 1"),
    ),
    ("% asym unweighted\n% 2 4 4\n1 2\n2 4\n", "", Edges(&[(0, 1), (1, 3)], "from 1")),
    ("% asym unweighted\n% 2 3 3\n1 2\n2 4\n", "", Refused("node 4 is beyond the 3 nodes")),
    ("% asym unweighted\n1 2\n0 1\n", "", Refused("line 3: node 0 does not exist")),
    ("% asym unweighted\n1 2\n2 3\n", "--node-ids string", Edges(&[(0, 1), (1, 2)], "text")),
    ("% made by hand\n1 2\n2 1\n", "", Edges(&[(1, 2), (2, 1)], "text")),
    // Formats.
    (
        "{\"source\":0,\"target\":1,\"source\":5}\n{\"source\":1,\"target\":2}\n",
        "",
        Refused("line 1: key \"source\" occurs twice"),
    ),
    ("[{\"source\":0,\"target\":1}]", "", Edges(&[(0, 1)], "a JSON list")),
    (
        "{\"source\":12345678901234567890123,\"target\":\"-1\"}\n{\"source\":12345678901234567890124,\"target\":-1}\n",
        "--node-ids string",
        Edges(&[(0, 1), (2, 1)], "JSON Lines"),
    ),
    (
        "{\"source\":0,\"target\":1,\"w\":[0.5,2]}\n{\"source\":1,\"target\":2,\"w\":[1,2]}\n",
        "--edge-columns w",
        Refused("column w holds 2 values in each row"),
    ),
    (
        "{\"head\":0,\"tail\":1,\"rel\":[5,6]}\n{\"head\":1,\"tail\":2,\"rel\":[5,7]}\n",
        "--relation-column rel",
        Refused("column rel holds 2 values in each row"),
    ),
    (
        "version https://git-lfs.github.com/spec/v1\noid sha256:abc\nsize 12\n",
        "--node-ids string",
        Refused("is a pointer of Git LFS"),
    ),
    ("<!DOCTYPE html>\n<html></html>\n", "", Refused("is a web page")),
    ("1::1193::5\n1::661::3\n", "--edge-columns w", Refused("holds one column")),
];

/// A table of three nodes: its columns after that of ids, and the flags.
const TABLE_CASES: &[(&str, &str, Due)] = &[
    ("x\n1%\n2%\n50%\n", "", Refused("\"1%\" is not a number")),
    ("x\n$1\n$2\n$3\n", "", Refused("\"$1\" is not a number")),
    ("x\n0x1\n0x2\n0x3\n", "", Refused("\"0x1\" is not a number")),
    ("x\n12:30\n13:45\n9:05\n", "", Refused("\"12:30\" is not a number")),
    ("x\n01/02/2024\n02/03/2024\n5/6/2024\n", "", Refused("write dates as 2024-05-01")),
    ("x\n1.2.2024\n2.3.2024\n5.6.2024\n", "", Refused("write dates as 2024-05-01")),
    ("x\n\"1,000\"\n\"2,500,000\"\n7\n", "", Refused("\"1,000\" is not a number")),
    ("x\n\u{2212}1\n\u{2212}2\n\u{2212}3\n", "", Refused("write - before negative numbers")),
    ("x\n2024-02-30\n2024-03-01\n2024-03-02\n", "", Refused("\"2024-02-30\" is not a number")),
    ("x\n10-20\n20-30\n10-20\n", "", Edges(RING_EDGES, "x=10-20, x=20-30")),
    ("x\n1.2.3\n1.2.4\n1.2.3\n", "", Edges(RING_EDGES, "x=1.2.3, x=1.2.4")),
    ("x,Train_Mask\n1,1\n2,0\n3,0\n", "", Refused("masks are called train_mask")),
    ("x,valid_mask\n1,1\n2,0\n3,0\n", "", Refused("column valid_mask would become a feature")),
    ("x,is_train\n1,1\n2,0\n3,0\n", "", Refused("column is_train would become a feature")),
    ("x,train,val\n1,1,0\n2,0,1\n3,0,0\n", "", Refused("column train would become a feature")),
    ("x,test,val\n1,0,1\n2,1,0\n3,0,0\n", "", Refused("column test would become a feature")),
    ("x,test,val\n1,7,1\n2,8,0\n3,9,0\n", "--drop val", Edges(RING_EDGES, "(x, test)")),
    (
        "test,val,test_mask,val_mask\n7,1,1,0\n8,2,0,1\n9,3,0,0\n",
        "",
        Edges(RING_EDGES, "feat has 2 columns (test, val)"),
    ),
    ("x,Test\n1,true\n2,false\n3,false\n", "", Refused("column Test holds truth values")),
    ("x,test\n1,7\n2,8\n3,9\n", "", Edges(RING_EDGES, "feat has 2 columns (x, test)")),
    ("w\n\"3, 4\"\n\"4, 5\"\n3\n", "", Edges(RING_EDGES, "(w has 3, w has 4, w has 5)")),
    ("w\n\"2,7\"\n\"0,7,9\"\n9\n", "", Edges(RING_EDGES, "(w has 0, w has 2, w has 7, w has 9)")),
    ("w\n\"0,1,0\"\n\"1,1,0\"\n\"0,0,1\"\n", "", Edges(RING_EDGES, "(w[0], w[1], w[2])")),
    ("w\n\"1,5\"\n\"2,5\"\n\"0,7,9\"\n", "", Refused("write numbers with a decimal point")),
    ("y\n1\n2\n\"1, 2\"\n", "--label y", Refused("leave it empty, which means no label")),
    ("x,class\n1,1\n2,0\n3,0\n", "", Refused("--label class")),
    ("x,\n1,\n2,\n3,\n", "", Edges(RING_EDGES, "feat has 1 column (x)")),
    ("y,class\n1,1\n2,0\n3,0\n", "--label y", Edges(RING_EDGES, "feat has 1 column (class)")),
    ("x,node_id\n1,7\n2,8\n3,9\n", "--id id", Refused("column node_id would become a feature")),
];

const RING_EDGES: &[(u64, u64)] = &[(0, 1), (1, 2), (2, 0)];

/// A file besides the ring of edges, and the flag that takes it.
const FILE_CASES: &[(&str, &str, Due)] = &[
    ("2,1\n0,0\n1,1\n", "--node-data label=x", Refused("x: line 1: \"2\" in one of 2 columns")),
    ("1,0,1\n0,0,0\n1,1,0\n", "--node-data label=x", Edges(RING_EDGES, "x: text")),
    ("source,target,w\n2,0,5\n0,1,6\n1,2,7\n", "--edge-data w=x", Refused("--edge-columns NAME")),
    ("node,a\n1,10\n0,20\n2,30\n", "--node-data feat=x", Refused("--id node")),
    ("0\n1\n1\n", "--split train=x", Refused("node \"1\" is listed twice")),
    (
        "0\n2\n",
        "--split valid=x",
        Edges(RING_EDGES, "x: text, no line names the columns; val_mask has 2 nodes"),
    ),
    ("0\n2\n", "--split validation=x", Edges(RING_EDGES, "val_mask has 2 nodes")),
    (
        "0\n2\n",
        "--split trian=x",
        Edges(RING_EDGES, "makes trian_mask, but training reads train_mask, val_mask, test_mask"),
    ),
    ("0\n2\n", "--split trian=x", Edges(RING_EDGES, "did you mean train?")),
    ("name\nann\nbob\n", "--node-names x", Refused("not the name of a node")),
];

fn check(folder: &Path, words: &str, due: &Due) {
    match due {
        Edges(all, said) => {
            assert_eq!(edges(folder, words), *all, "{words}");
            let _ = std::fs::remove_dir_all(folder.join("again"));
            sar(folder, &format!("{words} --num-parts 1 --out again"))
                .success()
                .stderr(contains(*said));
        }
        Refused(said) => {
            refused(folder, words, said).stderr(contains("hint: "));
        }
    }
}

fn joined(words: [&str; 2]) -> String {
    words.join(" ").trim_end().to_owned()
}

#[test]
fn each_file_is_read_as_it_is_or_refused() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    for (text, flags, due) in EDGE_CASES {
        write(here, "e.csv", text);
        check(here, &joined(["--edges e.csv", flags]), due);
    }
    write(here, "e.csv", RING);
    for (text, flags, due) in TABLE_CASES {
        let numbered = (0..).zip(text.lines().skip(1)).map(|(id, line)| format!("{id},{line}\n"));
        let rows: String = numbered.collect();
        write(here, "n.csv", &format!("id,{}\n{rows}", text.lines().next().unwrap()));
        check(here, &joined(["--edges e.csv --node-table n.csv", flags]), due);
    }
    for (text, flags, due) in FILE_CASES {
        write(here, "x", text);
        check(here, &joined(["--edges e.csv", flags]), due);
    }
    // Of two nodes, a list may be a mask.
    write(here, "e.csv", "0,1\n1,0\n");
    write(here, "x", "0\n1\n");
    check(here, "--edges e.csv --split train=x", &Refused("may be a list of 2 nodes, or a mask"));
    write(here, "x", "names\nann\nbob\n");
    write(here, "e.csv", "ann,bob\n");
    check(here, "--edges e.csv --node-names x", &Edges(&[(0, 1)], "names the columns; 2 names"));
}

/// `split -l` leaves the first line to the first part.
#[test]
fn parts_without_names_do_not_continue_one_with_another_order() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    write(here, "a.csv", "target,source\n0,1\n1,3\n");
    write(here, "b.csv", "2,1\n3,2\n");
    for words in ["--edges a.csv --edges b.csv", "--edges b.csv --edges a.csv"] {
        refused(here, words, "only one of them names its columns")
            .stderr(contains("give both files the first line"));
    }
    write(here, "a.csv", "source,target\n0,1\n1,3\n");
    assert_eq!(edges(here, "--edges a.csv --edges b.csv"), [(0, 1), (1, 3), (2, 1), (3, 2)]);
}
