//! Guards against: a bad row that ends a run of hours, rows that are left out without a word, and traces of bad rows in the graph.

use predicates::prelude::PredicateBooleanExt;
use predicates::str::contains;

use super::columns::{refused, sar};
use super::formats::content;
use super::support::write;

/// Bad rows: a field too many, a missing end, a weight that is not a number, a missing relation.
const ROWS: &str =
    "head,rel,tail,w\na,r,b,1\nc,r,d,2,3\nx,r,,1\nb,s,c,?\ny,new,z,none\nb,,c,1\nb,s,c,2\n";

#[test]
fn bad_rows_are_listed_in_one_pass_and_left_out_on_request() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "kg.csv", ROWS);
    let list = folder.path().join("out.bad_rows.txt");
    for words in [
        "--edges kg.csv --relation-column rel --edge-columns w --node-ids string",
        "--edges kg.csv --edge-columns w --node-ids string",
    ] {
        let has_relations = words.contains("relation-column");
        let words = format!("{words} --num-parts 1 --out out");
        let count = if has_relations { 5 } else { 4 };
        sar(folder.path(), &format!("{words} --bad-rows error"))
            .code(1)
            .stderr(contains(format!("bad rows: {count}; the first: kg.csv: line 3")))
            .stderr(contains("--bad-rows skip"));
        assert!(!folder.path().join("out").exists());
        let errors = std::fs::read_to_string(&list).unwrap();
        let lines: Vec<&str> = errors.lines().collect();
        assert_eq!(lines.len(), count, "{errors}");
        for (line, due) in
            lines.iter().zip(["line 3: has 5 columns", "line 4", "line 5: column w", "line 6"])
        {
            assert!(line.starts_with(&format!("kg.csv: {due}")), "{line}");
        }
        std::fs::remove_file(&list).unwrap();
        sar(folder.path(), &format!("{words} --bad-rows skip"))
            .success()
            .stderr(contains(format!("left out: {count}, listed in out.bad_rows.txt")));
        let names = std::fs::read_to_string(folder.path().join("out/node_names/_N.txt")).unwrap();
        assert_eq!(names, "a\nb\nc\n");
        let (edges, tables) = content(&folder.path().join("out/g.json"), 0);
        if has_relations {
            assert_eq!(edges, [(0, 1, 0), (1, 2, 1)]);
        } else {
            assert_eq!(edges, [(0, 1, 0), (1, 2, 0), (1, 2, 0)]);
            assert_eq!(tables[0].1, [1.0, 1.0, 2.0]);
        }
        std::fs::remove_dir_all(folder.path().join("out")).unwrap();
        std::fs::remove_file(&list).unwrap();
    }
    // Without bad rows there is no list. Both ends of the first row are one new node.
    write(folder.path(), "kg.csv", "from,to\nz,z\na,z\n");
    sar(folder.path(), "--edges kg.csv --node-ids string --num-parts 1 --out out --bad-rows skip")
        .success()
        .stderr(contains("bad rows").not());
    assert!(!list.exists());
    let names = std::fs::read_to_string(folder.path().join("out/node_names/_N.txt")).unwrap();
    assert_eq!(names, "z\na\n");
}

#[test]
fn rows_are_not_left_out_where_other_files_count_them() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "edges.txt", "0 1\n1 x\n");
    write(folder.path(), "w.txt", "1\n2\n");
    let words = "--edges edges.txt --edge-data w=w.txt --bad-rows skip";
    refused(folder.path(), words, "--edge-data has a value for each row");
}

#[test]
fn numbers_with_gaps_are_noted() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "edges.txt", "1000000 2000000\n2000000 3000000\n7 1000000\n");
    let words = "--edges edges.txt --num-parts 1 --out out";
    let due = "2999997 of 3000001 nodes of type _N have no edge";
    sar(folder.path(), words).success().stderr(contains(due).and(contains("--node-ids string")));
    std::fs::remove_dir_all(folder.path().join("out")).unwrap();
    sar(folder.path(), &format!("{words} --num-nodes 3000001"))
        .success()
        .stderr(contains("have no edge").not());
}

#[test]
fn misspelt_names_get_the_nearest_ones() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "people.csv", "name,age\nanna,30\nbob,40\n");
    write(folder.path(), "edges.csv", "from,to\nana,bob\n");
    let table = "--node-table people.csv --id name";
    refused(folder.path(), &format!("{table} --edges edges.csv"), "did you mean anna?");
    write(folder.path(), "edges.csv", "from,to\nanna,bob\n");
    write(folder.path(), "w.txt", "1\n");
    for (words, due) in [
        ("--edges edges.csv --label agee", "did you mean age?"),
        ("--edges edges.csv --edge-data _N:E:_N/w=w.txt", "did you mean _N:_E:_N?"),
    ] {
        refused(folder.path(), &format!("{table} {words}"), due);
    }
}

/// Values that do not fit into their columns, a missing and a repeated id, a row with a column too many.
#[test]
fn bad_rows_of_node_tables_are_listed_and_left_out_too() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    let rows = "id,age,city,train_mask\na,30,Oslo,1\nb,?,Rome,0\nc,old,Ulm,0\nd,40,Rome,1\n,50,Rome,0\na,60,Ulm,0\ne,1,2,3,4\n\
                f,inf,Ulm,0\ng,50,Ulm,2\nh,20,Oslo,1\n";
    write(here, "n.csv", rows);
    write(here, "e.csv", "source,target\na,d\nd,h\nc,a\nh,a\nz,a\n");
    let words = "--edges e.csv --node-table n.csv --scale none --num-parts 1 --out out";
    let due = [
        "n.csv: line 3: column age: the value is missing",
        "n.csv: line 4: column age: \"old\" is not a number",
        "n.csv: line 6: column id: the id is missing",
        "n.csv: line 7: column id: \"a\" is already the id of node 1",
        "n.csv: line 8: has 5 columns",
        "n.csv: line 9: column age: \"inf\" is not a finite number",
        "n.csv: line 10: column train_mask: \"2\" is neither 0 nor 1",
    ];
    let list = || std::fs::read_to_string(here.join("out.bad_rows.txt")).unwrap();
    sar(here, &format!("{words} --bad-rows error"))
        .code(1)
        .stderr(contains("bad rows: 8; the first: n.csv: line "));
    assert!(!here.join("out").exists());
    // The nodes of bad rows are nodes: of the edges, only that of z is bad.
    let text = list();
    let mut listed: Vec<&str> = text.lines().collect();
    let last = listed.pop().unwrap();
    assert!(last.starts_with("e.csv: line 6: column source: \"z\""), "{last}");
    let at = |line: &str| listed.iter().position(|other| other.starts_with(line));
    assert!(due.iter().all(|line| at(line).is_some()) && listed.len() == due.len(), "{listed:?}");
    sar(here, &format!("{words} --bad-rows skip")).success().stderr(contains("left out: 9"));
    assert!(list().contains("e.csv: line 4: column source: \"c\" is not the name of a node"));
    let (edges, tables) = content(&here.join("out/g.json"), 0);
    assert_eq!(edges, [(0, 1, 0), (1, 2, 0), (2, 0, 0)]);
    assert_eq!(tables[0].1, [30.0, 1.0, 0.0, 40.0, 0.0, 1.0, 20.0, 1.0, 0.0]);
    assert_eq!(tables[1].1, [1.0, 1.0, 1.0]);
    let names = std::fs::read_to_string(here.join("out/node_names/_N.txt")).unwrap();
    assert_eq!(names, "a\nd\nh\n");
    // A list among numbers, and lists of labels that are read twice.
    write(here, "n.csv", "id,x,y\na,1,\"3,4\"\nb,2,\"3,4,5\"\nc,?,\"7,8,9\"\nd,\"1,2,5\",\n");
    write(here, "e.csv", "source,target\na,b\n");
    std::fs::remove_dir_all(here.join("out")).unwrap();
    sar(here, &format!("{words} --label y --bad-rows skip"))
        .success()
        .stderr(contains("left out: 2"));
    assert!(list().contains("n.csv: line 5: column x: \"1,2,5\" is not a number"));
    let (_, tables) = content(&here.join("out/g.json"), 0);
    assert_eq!(tables[1].1, [1.0, 1.0, 0.0, 1.0, 1.0, 1.0]);
}
