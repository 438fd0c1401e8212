//! Guards against: values and columns of other programs' files that are read as others.

use std::path::Path;

use predicates::prelude::PredicateBooleanExt;
use predicates::str::contains;

use super::columns::{refused, sar};
use super::formats::content;
use super::support::{lines, write};

/// Cuts a graph into one partition; returns its edges.
pub(crate) fn edges(folder: &Path, words: &str) -> Vec<(u64, u64)> {
    let _ = std::fs::remove_dir_all(folder.join("o"));
    sar(folder, &format!("{words} --num-parts 1 --out o")).success();
    content(&folder.join("o/g.json"), 0).0.into_iter().map(|(src, dst, _)| (src, dst)).collect()
}

/// The tables that a command makes.
pub(crate) fn tables(folder: &Path, words: &str) -> Vec<(String, Vec<f64>)> {
    edges(folder, words);
    content(&folder.join("o/g.json"), 0).1
}

#[test]
fn names_decide_which_columns_are_source_target_and_data() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    for text in [
        "target,source\n1,0\n2,0\n",
        ",Dst,time,SRC\n7,1,5,0\n8,2,6,0\n",
        "# ToNodeId\tFromNodeId\n1\t0\n2\t0\n",
    ] {
        write(here, "e.csv", text);
        assert_eq!(edges(here, "--edges e.csv"), [(0, 1), (0, 2)], "{text}");
    }
    write(here, "a.csv", "source,target,time,weight\n0,1,1082040961,0.5\n");
    write(here, "b.csv", "weight,target,source,time\n2,2,1,1082040999\n");
    let found = tables(here, "--edges a.csv --edges b.csv --edge-columns weight,time");
    assert_eq!(
        found[0],
        ("_N:_E:_N/time int64 []".to_owned(), vec![1_082_040_961.0, 1_082_040_999.0])
    );
    assert_eq!(found[1], ("_N:_E:_N/weight float32 []".to_owned(), vec![0.5, 2.0]));
    sar(here, "--edges a.csv --num-parts 1 --out noted")
        .success()
        .stderr(contains("source is source, target is target; left out: time, weight"));
    refused(here, "--edges a.csv --edge-columns wieght", "a.csv: has no column \"wieght\"")
        .stderr(contains("did you mean weight?"));
    write(here, "e.csv", "from,to,source,target\n0,1,2,3\n");
    refused(here, "--edges e.csv", "has the columns from, to, source, target");
}

#[test]
fn a_header_is_a_line_without_a_number() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    write(here, "e.csv", "0,1\n1,2\n");
    for first in ["0.0 1.0", "0x1 0x2", "nan nan", "1,5 2"] {
        write(here, "w.txt", &format!("{first}\n1 2\n2 0\n"));
        refused(here, "--edges w.txt", "w.txt: line 1: ");
    }
    write(here, "m.txt", "True\nFalse\nTRUE\n");
    let found = tables(here, "--edges e.csv --node-data train_mask=m.txt");
    assert_eq!(found, [("_N/train_mask int64 []".to_owned(), vec![1.0, 0.0, 1.0])]);
    // pandas' names of columns without names, or whole numbers.
    write(here, "x.csv", "0,1,2\n1,2,3\n4,5,6\n");
    assert_eq!(tables(here, "--edges e.csv --node-data x=x.csv")[0].1.len(), 9);
    sar(here, "--edges e.csv --node-data x=x.csv --num-parts 1 --out noted")
        .success()
        .stderr(contains("note: x.csv: text, separated by commas, no line names the columns"));
    write(here, "n.csv", "ann,bob\nbob,ann\n");
    assert_eq!(edges(here, "--edges n.csv --node-ids string --header"), [(0, 1)]);
    write(here, "h.csv", "source,target\nbob,ann\n");
    assert_eq!(edges(here, "--edges h.csv --node-ids string --no-header").len(), 2);
}

#[test]
fn separators_are_those_that_divide_all_lines_alike() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    let names = |text: &str, flags: &str| {
        write(here, "e.csv", text);
        edges(here, &format!("--edges e.csv --node-ids string{flags}"));
        std::fs::read_to_string(here.join("o/node_names/_N.txt")).unwrap()
    };
    assert_eq!(names("Smith, Ann\tbob\nJones, Eve\tbob\n", ""), "Smith, Ann\nbob\nJones, Eve\n");
    assert_eq!(names("\"a;b\"\t\"two words\"\n\"c\"\td\n", ""), "a;b\ntwo words\nc\nd\n");
    assert_eq!(names("a,b8;a|b9\nc;d\n", ""), "a,b8\na|b9\nc\nd\n");
    // Numbers show which of two that divide all lines alike.
    let text = "O'Hara,a\tb,1\nx,a\ty,2\n";
    assert_eq!(names(text, " --edge-columns w"), "O'Hara\na\tb\nx\na\ty\n");
    assert_eq!(names("\"From\"|\"To\"\n\"a\"|\"a;b\"\n\"a;b\"|\"c\"\n", ""), "a\na;b\nc\n");
    assert_eq!(names("sep=;\na,1;b\nc,2;d\n", ""), "a,1\nb\nc,2\nd\n");
    assert_eq!(names("a b:c\nd:e\n", " --separator :"), "a b\nc\nd\ne\n");
}

#[test]
fn comments_end_with_the_first_row() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    write(here, "e.csv", "bob,ann\n#a,bob\n% b,#c\n# a comment\n");
    assert_eq!(edges(here, "--edges e.csv --node-ids string").len(), 3);
    write(here, "e.csv", "#a,bob\nbob,#c\n");
    refused(
        here,
        "--edges e.csv --node-ids string",
        "line 1: \"#a,bob\" may be a comment or the first row",
    )
    .stderr(contains("--comment none"));
    assert_eq!(edges(here, "--edges e.csv --node-ids string --comment none").len(), 2);
    write(here, "n.txt", "#a\nbob\n#c\n");
    refused(here, "--edges e.csv --node-names n.txt", "n.txt: line 1: \"#a\" may be a comment");
    write(here, "n.txt", "a1\n3955d4b\n2a83da1\n86bf7c3\n");
    write(here, "e.csv", "a1,2a83da1\n");
    assert_eq!(edges(here, "--edges e.csv --node-names n.txt"), [(0, 2)]);
    assert_eq!(edges(here, "--edges e.csv --node-ids string --comment #").len(), 1);
}

#[test]
fn lists_and_masks_are_told_apart() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    write(here, "e.csv", &lines((0..6).map(|i| format!("{i},{}", (i + 1) % 6))));
    write(here, "m.txt", "1\n0\n1\n0\n1\n0\n");
    refused(here, "--edges e.csv --split train=m.txt", "m.txt: line 3: node \"1\" is listed twice")
        .stderr(contains("--node-data train_mask=FILE"));
    write(here, "w.txt", "1\n-1\n1\n1\n1\n1\n");
    refused(
        here,
        "--edges e.csv --node-data train_mask=w.txt",
        "row 1 holds -1, which is neither 0 nor 1",
    );
    write(here, "l.csv", "node,split\n3,a\n5,b\n");
    let found = tables(here, "--edges e.csv --split train=l.csv");
    assert_eq!(found[0].1, [0.0, 0.0, 0.0, 1.0, 0.0, 1.0]);
    write(here, "n.csv", "id,label,split\n0,1,train\n1,0,test\n");
    refused(
        here,
        "--edges e.csv --node-table n.csv --id id --drop label",
        "column split would become a feature",
    );
}

#[test]
fn values_that_are_not_what_their_column_holds_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    write(here, "e.csv", "0,1\n1,2\n");
    let table = |values: [&str; 3]| {
        let rows = values.iter().enumerate().map(|(id, value)| format!("{id};{value}"));
        write(here, "n.csv", &format!("id;x\n{}", lines(rows)));
    };
    let words = "--edges e.csv --node-table n.csv --id id";
    for (values, due) in [
        (["1.5", "inf", "3.5"], "line 3: column x: \"inf\" is not a finite number"),
        (["1.5", "1e39", "3.5"], "line 3: column x: \"1e39\" is not a finite number"),
        (["1,5", "2,5", "3,5"], "line 2: column x: \"1,5\" is not a number"),
        (["1", "TRUE", "3"], "line 3: column x: \"TRUE\" is a truth value among numbers"),
        (["1", "2 years", "3"], "line 3: column x: \"2 years\" is not a number"),
        (["1", "?", "3"], "line 3: column x: the value is missing"),
    ] {
        table(values);
        refused(here, words, due).stderr(contains("--drop x"));
    }
    table(["cat", "NA", "dog"]);
    sar(here, &format!("{words} --label x --num-parts 1 --out named"))
        .success()
        .stderr(contains("label is x, 2 classes"));
    table(["2024-05-01", "2024-05-03 12:00:00", "2024-05-02"]);
    let found = tables(here, &format!("{words} --scale none"));
    assert_eq!(found[0], ("_N/feat float32 [1]".to_owned(), vec![0.0, 2.5, 1.0]));
    // Letters of several bytes where a date has its marks.
    table(["日本語日本語", "Ærø 日本 xyz", "été"]);
    sar(here, &format!("{words} --num-parts 1 --out letters")).success();
    write(here, "e.csv", "ann,bob\n,bob\n");
    refused(here, "--edges e.csv --node-ids string", "line 2: the node is missing");
    write(here, "e.csv", "ann,bob\nNA,bob\n");
    refused(here, "--edges e.csv --node-ids string", "line 2: the node is missing: \"NA\"");
}

#[test]
fn columns_of_numbers_are_standardised_in_double_precision() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    write(here, "e.csv", "0,1\n1,2\n");
    write(here, "n.csv", "id,t\n0,1700000001\n1,1700000002\n2,1700000003\n");
    let words = "--edges e.csv --node-table n.csv --id id";
    let found = tables(here, words);
    let one = 1.5f32.sqrt();
    assert_eq!(found[0].1, [f64::from(-one), 0.0, f64::from(one)]);
    let kept = std::fs::read_to_string(here.join("o/feature_scale.csv")).unwrap();
    assert!(
        kept.starts_with("type,column,mean,deviation\n\"_N\",\"t\",1700000002.0,0.816"),
        "{kept}"
    );
    sar(here, "--part-json o/g.json --num-parts 2 --out again").success();
    assert_eq!(std::fs::read_to_string(here.join("again/feature_scale.csv")).unwrap(), kept);
    sar(here, &format!("{words} --scale none --num-parts 1 --out rounded"))
        .success()
        .stderr(contains("t rounded to single precision"));
    assert!(!here.join("rounded/feature_scale.csv").exists());
}

#[test]
fn a_column_that_numbers_the_rows_is_no_feature() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    write(here, "e.csv", "0,1\n1,2\n");
    let words = "--edges e.csv --node-data x=n.csv";
    for (name, rows, due) in [
        ("index", "0,5\n1,6\n2,7\n", &[5.0, 6.0, 7.0][..]),
        ("paper_id", "0,5\n1,6\n2,7\n", &[5.0, 6.0, 7.0]),
        ("paper_id", "1,5\n1,6\n2,7\n", &[1.0, 5.0, 1.0, 6.0, 2.0, 7.0]),
        ("rank", "0,5\n1,6\n2,7\n", &[0.0, 5.0, 1.0, 6.0, 2.0, 7.0]),
    ] {
        write(here, "n.csv", &format!("{name},y\n{rows}"));
        assert_eq!(tables(here, words)[0].1, due, "{name}");
    }
    // Without names, those of embeddings.
    let rows = |ids: [u64; 9]| lines(ids.iter().map(|id| format!("{id} 0.{id} {id}")));
    write(here, "n.csv", &rows([0, 1, 2, 3, 4, 5, 6, 7, 8]));
    assert_eq!(tables(here, words)[0].0, "_N/x float32 [2]");
    write(here, "n.csv", &rows([8, 1, 2, 3, 4, 5, 6, 7, 0]));
    refused(here, words, "n.csv: line 1: column 1: \"8\"").stderr(contains("--node-table FILE"));
    for rows in ["2,5\n0,6\n1,7\n", "1,5\n2,6\n3,7\n"] {
        write(here, "n.csv", &format!("paper_id,y\n{rows}"));
        refused(here, words, "n.csv: line 2: column paper_id: ").stderr(contains("--id paper_id"));
    }
    write(here, "n.csv", "id,index,y\n0,2,5\n1,1,6\n2,3,7\n");
    let words = "--edges e.csv --node-table n.csv";
    refused(here, words, "n.csv: column index numbers the rows").stderr(contains("--drop index"));
    assert_eq!(tables(here, &format!("{words} --drop index"))[0].0, "_N/feat float32 [1]");
}

#[test]
fn tables_that_hide_features_or_repeat_masks_are_noted() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    write(here, "e.csv", "0,1\n1,2\n");
    write(here, "x.csv", "1,100000\n2,900000\n3,500000\n");
    write(here, "m.txt", "1\n0\n0\n");
    let words = "--edges e.csv --node-data feat=x.csv --node-data train_mask=m.txt --node-data val_mask=m.txt";
    sar(here, &format!("{words} --num-parts 1 --out o"))
        .success()
        .stderr(contains("feat: column 1 spreads 400000 times as far as column 0"))
        .stderr(contains("train_mask and val_mask have the same nodes"));
}

#[test]
fn what_files_say_of_themselves_is_heeded() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    write(here, "b.txt", "% bip unweighted\n% 4 3 2\n1 1\n1 2\n");
    refused(here, "--edges b.txt", "has two node types")
        .stderr(contains("--edges SRC:REL:DST=FILE"));
    write(here, "s.txt", "% sym unweighted\n1 2\n2 3\n");
    write(here, "g.csv", "Source,Target,Type\n0,1,Undirected\n1,2,Undirected\n");
    write(here, "u.txt", "# Undirected graph: x\n0 1\n");
    for name in ["s.txt", "g.csv", "u.txt"] {
        sar(here, &format!("--edges {name} --num-parts 1 --out of_{name}"))
            .success()
            .stderr(contains("each edge stands for both directions: pass --undirected"));
    }
    // In KONECT's lists, row 0 is that of node 1.
    write(here, "x.txt", "10\n20\n30\n");
    write(here, "l.txt", "3\n");
    let words = "--edges s.txt --node-data x=x.txt";
    let found = tables(here, &format!("{words} --split train=l.txt"));
    assert_eq!((&found[0].1[..], &found[1].1[..]), (&[0.0, 0.0, 1.0][..], &[10.0, 20.0, 30.0][..]));
    write(here, "x.txt", "10\n20\n30\n40\n");
    refused(
        here,
        words,
        "states 4 nodes of type _N, but a list of KONECT numbers them from 1 to 3",
    );
    assert_eq!(tables(here, &format!("{words} --num-nodes 4"))[0].1, [10.0, 20.0, 30.0, 40.0]);
    // A list may state their number, and a table lists their ids.
    write(here, "4.txt", "% sym unweighted\n% 2 4 4\n1 2\n2 3\n");
    let words = words.replace("s.txt", "4.txt");
    assert_eq!(tables(here, &words)[0].1, [10.0, 20.0, 30.0, 40.0]);
    refused(here, &format!("{words} --num-nodes 5"), "states");
    write(here, "t.csv", "id,x\n0,1\n1,2\n2,3\n");
    refused(here, "--edges 4.txt --node-table t.csv", "node 3 is beyond the 3 nodes");
    write(here, "0.txt", "0 1\n");
    refused(here, "--edges 0.txt --edges s.txt", "s.txt: counts nodes from another number");
    write(here, "n.csv", ":START_ID(A),:END_ID(B)\n0,1\n");
    refused(here, "--edges n.csv", "joins nodes of two types, A and B");
    write(here, "m.graph", "3 2\n2\n1 3\n2\n");
    refused(here, "--edges m.graph --undirected", "holds every edge in both directions already");
}

#[test]
fn flags_without_a_type_mean_the_only_one() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    write(here, "e.csv", "0,1\n1,2\n");
    write(here, "x.csv", "1\n2\n3\n");
    let found = tables(here, "--edges a:r:a=e.csv --node-data x=x.csv");
    assert_eq!(found[0].0, "a/x int64 []");
    refused(
        here,
        "--edges a:r:b=e.csv --node-data x=x.csv",
        "--node-data: the graph has the node types a, b",
    );
    refused(
        here,
        "--edges a:r:b=e.csv --edges e.csv",
        "some files have a type, and others have none",
    );
    refused(here, "--edges author:r:b=e.csv --num-nodes autor=5", "nodes of type \"autor\"")
        .stderr(contains("did you mean author?"));
}

#[test]
fn formats_that_are_not_read_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    let mut tar = [0; 512];
    tar[257..262].copy_from_slice(b"ustar");
    for (start, name) in [
        (&b"BZh91AY&SY"[..], "bzip2"),
        (b"\xfd7zXZ\0\0", "xz"),
        (b"\xff\xfea\0,\0b\0", "UTF-16"),
        (b"\xff\xfe\0\0a\0\0\0", "UTF-32"),
        (b"\x1f\x9d\x90", "compress"),
        (b"\x5d\0\0\x80\0", "lzma"),
        (&tar, "tar"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1", "Excel"),
        (b"(dp0\nS'a'\n", "pickle"),
        (b"<HTML><HEAD>\n", "a web page"),
        (b"<Error><Code>AccessDenied</Code></Error>", "the error of a server"),
        (b"graph\r\n[\r\n node [ id 0 ]\r\n]\r\n", "read_gml"),
        (b"\x89HDF\r\n\x1a\n", "HDF5"),
        (b"\x80\x04\x95", "pickle"),
        (b"<?xml version='1.0'?>\n<graphml>", "GraphML"),
        (b"0 1 {'weight': 4}\n", "networkx"),
        (b"<?xml version='1.0'?>\n<gexf>", "read_gexf"),
        (b">>graph6<<Bw\n", "read_graph6"),
        (b">>sparse6<<:Bc\n", "read_sparse6"),
        (b"#header section\nLEDA.GRAPH \nstring\nint\n", "read_leda"),
        (b"// made by hand\nstrict digraph \"g\" {\n0 -> 1;\n}\n", "read_dot"),
        (b"{\"graph\": {}, \"nodes\": [{\"id\": 0}], \"links\": []}", "[\"links\"]).to_csv"),
        (b"{\"nodes\": [{\"id\": 0}], \"adjacency\": [[]]}", "networkx.adjacency_graph("),
        (b"{\"data\": [], \"elements\": {\"nodes\": []}}", "networkx.cytoscape_graph("),
        (b"{\"id\": 0, \"children\": [{\"id\": 1}]}", "networkx.tree_graph("),
        (b"MATLAB 5.0 MAT-file", "scipy.sparse.save_npz(\"x.npz\""),
        (b"ARROW1\0\0", "read_feather"),
        (b"\xff\xff\xff\xff\x10\0", "pyarrow.ipc.open_stream("),
        (b"<stata_dta><header>", "read_stata"),
        (b"\x72\x02\x01\0", "read_stata"),
        (b"<table border=\"1\">\n", "read_html"),
        (b"# a\n<http://a> <http://b> \"two words\"@en .\n", "N-Triples"),
        (b"@prefix a: <http://a/> .\na:b a:c a:d .\n", "rdflib"),
        (b"nodedef>name VARCHAR\nv0\nedgedef>node1 VARCHAR,node2 VARCHAR\nv0,v0\n", "GDF"),
        (b"# v0\nv1 0\nv2 1\n# v1\nv2 2\n", "LGL"),
        (b"c by hand\np sp 6 8\na 1 2 17\n", "DIMACS"),
        (b"p edge 3 2\ne 1 2\ne 2 3\n", "DIMACS"),
        (b"DL\nN = 3 format = edgelist1\n", "igraph.Graph.Read_DL("),
        (b"DIRECTED\tcites\nNO_FEATURES\n1\tpaper:2\t|\tpaper:3\n", "LINQS"),
        (b"NODE\tpaper\ncat=1,2:label\tnumeric:w:0.0\n1\tlabel=1\tw=0.5\n", "LINQS"),
        (b"2\n0 1 0\n1 0 0\n", "line 1: is the number of lines after it, not a row"),
        (b"\0\x01\x02\x03", "a binary file of an unknown format"),
    ] {
        std::fs::write(here.join("f"), start).unwrap();
        refused(here, "--edges f", name).stderr(contains("hint: ").and(contains("node-ids").not()));
    }
    // Lists of edges whose names or comments are like the marks of formats.
    for text in [
        "p sp\nsp edge\n",
        "# p\na 1\n# q\nb 2\n",
        "dl n\nn dl\n",
        "NODE\tDIRECTED\nDIRECTED\tNODE\n",
        "<http://a> <http://b>\n<http://b> <http://c>\n",
        "@prefix @base\n@base @prefix\n",
        "<Ma_Long>\t<Table_tennis>\n<Table_tennis>\t<Ma_Long>\n",
    ] {
        write(here, "f", text);
        assert_eq!(edges(here, "--edges f --node-ids string").len(), 2, "{text}");
    }
    write(here, "l.csv", "");
    std::fs::write(here.join("l.csv"), b"0,1\nJos\xe9,2\n").unwrap();
    refused(here, "--edges l.csv", "l.csv: line 2: is not UTF-8").stderr(contains("iconv"));
}
