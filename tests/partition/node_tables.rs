//! Guards against: rows that go to other nodes than their ids say, values that are misread, and wrong tables that are taken.

use std::path::Path;

use sar::io::Dtype;

use super::archives::array;
use super::columns::{command, refused, sar, write_parquet};
use super::formats::content;
use super::support::{lines, table, write};

/// Features are compared as the tables hold them.
const TABLE: &str = "--node-table nodes.csv --id name --scale none";

/// Four people, with a byte order mark and ends of lines of Windows; names with the separator, quotes and other alphabets.
const PEOPLE: &str = "\u{feff}age,name,city,topic,train_mask\r\n30,\"Smith, Ann\",Oslo,graphs,1\r\n\
                      40,bob,Rome,\"sets, ordered\",0\r\n# a comment\r\n50.5,\"\"\"Eve\"\"\",Oslo,,True\r\n\
                      20,Ærø 日本,Ulm,graphs,false\r\n";

fn people(folder: &Path) {
    write(folder, "nodes.csv", PEOPLE);
    write(
        folder,
        "edges.csv",
        "bob,\"Smith, Ann\"\n\"\"\"Eve\"\"\", \"Smith, Ann\"\nÆrø 日本,bob\n",
    );
}

fn tables(folder: &Path, out: &str) -> Vec<(String, Vec<f64>)> {
    content(&folder.join(out).join("g.json"), 0).1
}

fn text(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap()
}

#[test]
fn rows_go_to_the_nodes_of_their_ids_and_columns_become_features() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    people(here);
    let words = format!("{TABLE} --edges edges.csv --label topic --num-parts 1 --out out");
    let said = sar(here, &words).success().get_output().stderr.clone();
    let said = String::from_utf8(said).unwrap();
    let due = "nodes.csv: 4 nodes; feat has 4 columns (age, city=Oslo, city=Rome, city=Ulm); \
               label is topic, 2 classes; mask train_mask";
    assert!(said.contains(due), "{said}");
    let (edges, _) = content(&here.join("out/g.json"), 0);
    assert_eq!(edges, [(1, 0, 0), (2, 0, 0), (3, 1, 0)]);
    let rows = [
        [30.0, 1.0, 0.0, 0.0],
        [40.0, 0.0, 1.0, 0.0],
        [50.5, 1.0, 0.0, 0.0],
        [20.0, 0.0, 0.0, 1.0],
    ];
    let due = [
        table("_N/feat float32 [4]", rows.as_flattened()),
        table("_N/label int64 []", &[0.0, 1.0, -1.0, 0.0]),
        table("_N/train_mask uint8 []", &[1.0, 0.0, 1.0, 0.0]),
    ];
    assert_eq!(tables(here, "out"), due);
    assert_eq!(text(&here.join("out/class_names.txt")), "graphs\nsets, ordered\n");
    let names = text(&here.join("out/node_names/_N.txt"));
    assert_eq!(names, "Smith, Ann\nbob\n\"Eve\"\nÆrø 日本\n");
    // Cut again, the classes keep their names.
    sar(here, "--part-json out/g.json --num-parts 2 --out again").success();
    assert_eq!(text(&here.join("again/class_names.txt")), "graphs\nsets, ordered\n");
    // From a pipe.
    let mut piped =
        command(here, &words.replace("nodes.csv", "-").replace("--out out", "--out piped"));
    let said = piped.write_stdin(PEOPLE).assert().success();
    said.stderr(predicates::str::contains("note: standard input: 4 nodes"));
    assert_eq!(tables(here, "piped"), due);
    let mut piped =
        command(here, &words.replace("nodes.csv", "-").replace("--out out", "--out no"));
    piped
        .write_stdin("age,name\n1,bob\n")
        .assert()
        .code(1)
        .stderr(predicates::str::contains("standard input: has no column \"topic\""));
    let mut piped =
        command(here, "--node-table - --id name --edges edges.csv --num-parts 1 --out no");
    piped
        .write_stdin("name,x\nbob,1\n")
        .assert()
        .code(1)
        .stderr(predicates::str::contains("hint: standard input lists all nodes"));
    assert!(!here.join("no").exists());
}

#[test]
fn missing_values_are_named_or_filled() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    write(here, "edges.csv", "a,b\nb,c\n");
    write(
        here,
        "nodes.csv",
        "name\tx\tcity\ty\na\t1\tRome\t\nb\tNaN\t\t2\nc\t3\tRome\t4\nd\t2\tOslo\t3\n",
    );
    let words = format!("{TABLE} --edges edges.csv");
    let fails = |words: &str, due: &str| {
        refused(here, words, due).stderr(predicates::str::contains("--fill-missing mean"));
    };
    fails(&words, "nodes.csv: line 3: column x: the value is missing");
    fails(&format!("{words} --drop x"), "nodes.csv: line 3: column city: the value is missing");
    fails(
        &format!("{words} --drop x --drop city"),
        "nodes.csv: line 2: column y: the value is missing",
    );
    for (fill, out) in [("mean", "mean"), ("0", "zero")] {
        sar(here, &format!("{words} --fill-missing {fill} --num-parts 1 --out {out}")).success();
    }
    let feat = |empty: [f64; 4]| {
        let [x, oslo, rome, y] = empty;
        let rows =
            [[1.0, 0.0, 1.0, y], [x, oslo, rome, 2.0], [3.0, 0.0, 1.0, 4.0], [2.0, 1.0, 0.0, 3.0]];
        table("_N/feat float32 [4]", rows.as_flattened())
    };
    let third = f64::from(1.0f32 / 3.0);
    assert_eq!(tables(here, "mean"), [feat([2.0, third, f64::from(2.0f32 / 3.0), 3.0])]);
    assert_eq!(tables(here, "zero"), [feat([0.0; 4])]);
    write(here, "nodes.csv", "name,x,label\na,1,\nb,2,\nc,3,\n");
    refused(here, &format!("{words} --label label"), "nodes.csv: column label has no values")
        .stderr(predicates::str::contains("leave --label out"));
    refused(here, &words, "nodes.csv: column label would become a feature");
    // Classes as pandas writes them if some are missing, and values to be predicted.
    write(here, "nodes.csv", "name,x,label\na,1,2.0\nb,2,\nc,3,0.0\n");
    sar(here, &format!("{words} --label label --num-parts 1 --out numbers")).success();
    assert_eq!(tables(here, "numbers")[1], table("_N/label int64 []", &[2.0, -1.0, 0.0]));
    assert!(!here.join("numbers/class_names.txt").exists());
    write(here, "nodes.csv", "name,x,price\na,1,2.5\nb,2,3\nc,3,0.0\n");
    sar(here, &format!("{words} --label price --num-parts 1 --out target")).success();
    assert_eq!(tables(here, "target")[1], table("_N/label float32 []", &[2.5, 3.0, 0.0]));
}

#[test]
fn too_many_strings_are_refused_with_their_number() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    let ring = |n: usize| lines((0..n).map(|i| format!("n{i},n{}", (i + 1) % n)));
    write(here, "edges.csv", &ring(32));
    let row = |i: usize| format!("n{i},title {i},{},{i}", i % 3);
    let with = |n: usize| "name,title,kind,x\n".to_owned() + &lines((0..n).map(row));
    write(here, "nodes.csv", &with(32));
    let words = format!("{TABLE} --edges edges.csv");
    sar(here, &format!("{words} --num-parts 1 --out most")).success();
    assert_eq!(tables(here, "most")[0].0, "_N/feat float32 [34]");
    write(here, "edges.csv", &ring(33));
    write(here, "nodes.csv", &with(33));
    refused(
        here,
        &words,
        "nodes.csv: column title holds 33 different strings; up to 32 become features",
    )
    .stderr(predicates::str::contains(
        "--drop title, or learn a row for each string: --embed title",
    ));
    sar(here, &format!("{words} --drop title --num-parts 1 --out dropped")).success();
    assert_eq!(tables(here, "dropped")[0].0, "_N/feat float32 [2]");
    // A label may have more names.
    sar(here, &format!("{words} --label title --num-parts 1 --out labels")).success();
    assert_eq!(text(&here.join("labels/class_names.txt")).lines().count(), 33);
    // One stray string among numbers is a mistake, not a category.
    let stray = with(40).replace(",39\n", ",39 years\n");
    write(here, "nodes.csv", &stray);
    refused(
        here,
        &format!("{words} --drop title"),
        "nodes.csv: line 41: column x: \"39 years\" is not a number",
    );
}

#[test]
fn what_is_wrong_in_a_table_is_named_with_its_place() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    people(here);
    let words = format!("{TABLE} --edges edges.csv --label topic");
    let fails = |nodes: &str, due: &str| {
        write(here, "nodes.csv", nodes);
        refused(here, &format!("{TABLE} --edges edges.csv"), due);
    };
    fails(
        "name,x\nbob,1\n\"Smith, Ann\",2\nbob,3\n",
        "line 4: column name: \"bob\" is already the id of node 1",
    );
    fails("name,x\nbob,1\n,2\n", "line 3: column name: the id is missing");
    fails("name,x\n\"a\nb\",1\n", "line 2: column name: the id \"a\\nb\" holds a line break");
    fails("name,x\nbob,1\n", "edges.csv: line 1: \"Smith, Ann\" is not the name of a node");
    fails("name,x\nbob,1,2\n", "line 2: has 3 columns, but the first line names 2");
    fails("name,x\n", "nodes.csv: has no rows");
    fails("", "nodes.csv: is empty");
    fails("name,train_mask\nbob,yes\n", "line 2: column train_mask: \"yes\" is not a number");
    fails("who,x\nbob,1\n", "nodes.csv: has no column \"name\"");
    people(here);
    for (more, due) in [
        ("--drop nothing", "nodes.csv: has no column \"nothing\""),
        ("--drop topic", "--drop: leaves out topic, the label"),
        ("--drop name", "--drop: leaves out name, the column of ids"),
        ("--label city", "--label: names two columns: topic and city"),
        ("--embed topic", "--embed: names topic, which --label names, too"),
        ("--embed name", "--embed: names name, the column of ids"),
        ("--embed nothing", "nodes.csv: has no column \"nothing\""),
        (
            "--node-data feat=nodes.csv",
            "nodes.csv: line 2: column name: \"Smith, Ann\" is not a number",
        ),
        (
            "--num-nodes 3",
            "--num-nodes: states 3 nodes of type _N, but --node-table nodes.csv states 4",
        ),
        ("--node-table author=nodes.csv", "no edge joins nodes of type \"author\""),
        ("--node-table nodes.csv", "nodes of type _N have two tables"),
        ("--node-names nodes.csv", "--node-names: nodes.csv has the ids of these nodes"),
    ] {
        refused(here, &format!("{words} {more}"), due);
    }
    for flag in ["--id name", "--label topic", "--drop city", "--embed city", "--fill-missing 0"] {
        let name = flag.split(' ').next().unwrap();
        let due = format!("{name} has no effect without --node-table");
        refused(here, &format!("--edges edges.csv {flag}"), &due);
    }
    let unnamed = "--edges edges.csv --node-table nodes.csv";
    let due = "nodes.csv: does not show which column holds the ids of type _N";
    refused(here, unnamed, due).stderr(predicates::str::contains(
        "name it: --id _N=COLUMN; its columns are age, name, city, topic, train_mask",
    ));
    // A first line of values, as in Cora's cora.content.
    write(here, "nodes.csv", "31336 0 1 1 Neural\n1061127 1 0 1 Rules\n");
    let due = "if not, the file needs a first line with names";
    refused(here, unnamed, "ids of type _N").stderr(predicates::str::contains(due));
    let due = "if these are values, the file needs a first line with names";
    refused(here, &format!("{unnamed} --id 1"), "nodes.csv: has more than one column \"1\"")
        .stderr(predicates::str::contains(due));
    sar(here, &format!("{TABLE} --part-json g.json --num-parts 1 --out none")).code(2);
}

#[test]
fn columns_of_ids_have_usual_names_and_columns_of_edges_any_that_are_no_nodes() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    people(here);
    let cut = |words: &str, out: &str| {
        sar(here, &format!("{words} --label topic --scale none --num-parts 1 --out {out}"))
            .success();
        (content(&here.join(out).join("g.json"), 0).0, tables(here, out))
    };
    let named = cut("--node-table nodes.csv --id name --edges edges.csv", "named");
    write(here, "nodes.csv", &PEOPLE.replacen("name", "personId:ID(Person)", 1));
    assert_eq!(cut("--node-table nodes.csv --edges edges.csv", "of_neo4j"), named);
    write(here, "nodes.csv", &PEOPLE.replacen("name", "Node_ID", 1));
    let edges = text(&here.join("edges.csv"));
    write(here, "edges.csv", &format!("fan,star\n{edges}"));
    assert_eq!(cut("--node-table nodes.csv --edges edges.csv", "usual"), named);
    write(here, "edges.csv", &format!("fan,bob\n{edges}"));
    refused(
        here,
        "--node-table nodes.csv --label topic --edges edges.csv",
        "\"fan\" is not the name of a node",
    );
}

#[test]
fn ids_that_count_from_0_are_numbers_and_others_are_names() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    write(here, "edges.txt", "0 1\n2 0\n");
    write(here, "nodes.csv", ",name,x\n0,0,5\n1,1,6\n2,2,7\n");
    let words = format!("{TABLE} --edges edges.txt --num-parts 1");
    sar(here, &format!("{words} --out numbers")).success();
    assert_eq!(tables(here, "numbers"), [table("_N/feat float32 [1]", &[5.0, 6.0, 7.0])]);
    assert!(!here.join("numbers/node_names").exists());
    // Later rows show that they are names.
    write(here, "nodes.csv", "name,x\n0,5\n1,6\n7,7\n2,8\n");
    sar(here, &format!("{words} --out names")).success();
    assert_eq!(content(&here.join("names/g.json"), 0).0, [(0, 1, 0), (3, 0, 0)]);
    assert_eq!(text(&here.join("names/node_names/_N.txt")), "0\n1\n7\n2\n");
    write(here, "edges.txt", "0 1\n2 9\n");
    refused(
        here,
        words.trim_end_matches(" --num-parts 1"),
        "edges.txt: line 2: \"9\" is not the name of a node",
    )
    .stderr(predicates::str::contains("nodes.csv lists all nodes"));
}

#[test]
fn each_node_type_has_its_table() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    write(here, "writes.csv", "ann,p1\nbob,p0\nann,p0\n");
    write(here, "authors.csv", "name;h\nbob;3\nann;5\n");
    // A Parquet file with a missing string.
    let path = here.join("papers.parquet");
    write_parquet(&path, &[Some("logic"), None], &["p0", "p1"], &[0.5, f64::NAN], &[7, 8]);
    let words = "--edges author:writes:paper=writes.csv --node-table author=authors.csv --node-table paper=papers.parquet \
                 --id author=name --id paper=to --label from --reverse-edges --scale none";
    refused(here, words, "papers.parquet: row 1: column weight: the value is missing");
    sar(here, &format!("{words} --drop paper=weight --num-parts 1 --out out")).success();
    assert_eq!(
        content(&here.join("out/g.json"), 0).0,
        [(0, 2, 0), (1, 2, 0), (1, 3, 0), (2, 0, 1), (2, 1, 1), (3, 1, 1)]
    );
    let due = [
        table("author/feat float32 [1]", &[3.0, 5.0]),
        table("paper/feat float32 [1]", &[7.0, 8.0]),
        table("paper/label int64 []", &[0.0, -1.0]),
    ];
    assert_eq!(tables(here, "out"), due);
    assert_eq!(text(&here.join("out/class_names.txt")), "logic\n");
    assert_eq!(text(&here.join("out/node_names/author.txt")), "bob\nann\n");
    refused(
        here,
        &words.replace(" --id paper=to", ""),
        "papers.parquet: does not show which column holds the ids of type paper",
    );
    write(here, "authors.csv", "name;from\nbob;x\nann;y\n");
    sar(here, &format!("{words} --drop weight --num-parts 1 --out named")).success();
    assert_eq!(text(&here.join("named/class_names/author.txt")), "x\ny\n");
    assert_eq!(text(&here.join("named/class_names/paper.txt")), "logic\n");
}

#[test]
fn numbers_in_arrays_of_edges_are_names_of_a_table() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    write(here, "nodes.csv", "name,x\n1001,1\n17,2\n");
    let edges = array(Dtype::I64, &[1, 2], &[17, 1001]);
    std::fs::write(here.join("edges.npy"), edges).unwrap();
    sar(here, &format!("{TABLE} --edges edges.npy --num-parts 1 --out out")).success();
    assert_eq!(content(&here.join("out/g.json"), 0).0, [(1, 0, 0)]);
}

#[test]
fn values_of_embedded_columns_become_nodes_without_features() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    people(here);
    let words = format!("{TABLE} --edges edges.csv --label topic --embed city --undirected");
    sar(here, &format!("{words} --num-parts 1 --out out"))
        .success()
        .stderr(predicates::str::contains("feat has 1 column (age); label is topic, 2 classes; mask train_mask; rows of city are learned"));
    // People are 0 to 3; Oslo, Rome and Ulm follow. Cities have no in-edges.
    let (edges, tables) = content(&here.join("out/g.json"), 0);
    let knows = [(0, 1, 0), (0, 2, 0), (1, 0, 0), (1, 3, 0), (2, 0, 0), (3, 1, 0)];
    let lives = [(4, 0, 1), (4, 2, 1), (5, 1, 1), (6, 3, 1)];
    let mut due = [&knows[..], &lives].concat();
    due.sort_unstable();
    assert_eq!(edges, due);
    assert!(tables.iter().all(|(key, _)| key.starts_with("_N/")), "{tables:?}");
    assert_eq!(text(&here.join("out/node_names/city.txt")), "Oslo\nRome\nUlm\n");
    // Smith has no town, and so no edge.
    let some =
        "name,town,x\n\"Smith, Ann\",,2\nbob,Rome,3\n\"\"\"Eve\"\"\",Rome,4\nÆrø 日本,Ulm,5\n";
    write(here, "nodes.csv", some);
    let words = format!("{TABLE} --edges edges.csv --embed town --num-parts 1 --out some");
    sar(here, &words).success();
    let lives = [(4, 1, 1), (4, 2, 1), (5, 3, 1)];
    let mut due = [&[(1, 0, 0), (2, 0, 0), (3, 1, 0)][..], &lives].concat();
    due.sort_unstable();
    assert_eq!(content(&here.join("some/g.json"), 0).0, due);
    write(here, "nodes.csv", "name,a:b,x\n\"Smith, Ann\",1,2\nbob,,3\n");
    refused(
        here,
        &format!("{TABLE} --edges edges.csv --embed a:b"),
        "--embed: a:b cannot name a node type",
    );
    write(here, "nodes.csv", "name,c,x\n\"Smith, Ann\",,2\nbob,,3\n");
    let flags = format!("{TABLE} --edges edges.csv --embed c");
    refused(here, &flags, "nodes.csv: column c has no values");
    people(here);
    let text = std::fs::read_to_string(here.join("nodes.csv")).unwrap();
    write(here, "nodes.csv", &text.replace("Ulm", "\"Ulm\nDonau\""));
    let flags = format!("{TABLE} --edges edges.csv --drop topic --embed city");
    refused(here, &flags, "column city: the name \"Ulm\\nDonau\" holds a line break");
}
