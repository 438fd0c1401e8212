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
    // Without bad rows there is no list.
    write(folder.path(), "kg.csv", "from,to\na,b\n");
    sar(folder.path(), "--edges kg.csv --node-ids string --num-parts 1 --out out --bad-rows skip")
        .success()
        .stderr(contains("bad rows").not());
    assert!(!list.exists());
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
