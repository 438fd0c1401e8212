//! Guards against: columns of edges that are confused, strings in Parquet that are not ids, and a standard input that is not read.

use std::path::Path;

use assert_cmd::Command;
use assert_cmd::assert::Assert;
use parquet::data_type::{ByteArray, ByteArrayType, DoubleType, Int64Type};
use predicates::prelude::PredicateBooleanExt;
use predicates::str::contains;

use super::formats::content;
use super::program::Program;
use super::support::{parquet_column, parquet_file, write};

/// A command that can be given a standard input.
pub(crate) fn command(folder: &Path, words: &str) -> Command {
    let mut command = Command::cargo_bin("sar-single").unwrap();
    command.current_dir(folder).arg("partition").args(words.split(' '));
    command
}

pub(crate) fn sar(folder: &Path, words: &str) -> Assert {
    Program::new().current_dir(folder).arg("partition").args(words.split(' ')).assert()
}

/// Refused with a message, and nothing is left behind.
pub(crate) fn refused(folder: &Path, words: &str, due: &str) -> Assert {
    let refused = sar(folder, &format!("{words} --num-parts 1 --out none"));
    assert!(!folder.join("none").exists(), "{words}");
    refused.code(1).stderr(contains(due))
}

/// The edges as pairs of names, and the table of edge data.
fn named_edges(folder: &Path, out: &str) -> Vec<String> {
    let names = std::fs::read_to_string(folder.join(out).join("node_names/_N.txt")).unwrap();
    let names: Vec<&str> = names.lines().collect();
    let (edges, _) = content(&folder.join(out).join("g.json"), 0);
    let mut named: Vec<String> = edges
        .iter()
        .map(|(src, dst, _)| format!("{}>{}", names[*src as usize], names[*dst as usize]))
        .collect();
    named.sort_unstable();
    named
}

/// Writes a Parquet file with an optional column of strings, two of them, a column of numbers and a column of integers.
pub(crate) fn write_parquet(
    path: &Path,
    from: &[Option<&str>],
    to: &[&str],
    weight: &[f64],
    number: &[i64],
) {
    let schema = "message m { optional binary from (UTF8); required binary to (UTF8); \
                  required double weight; required int64 number; }";
    let levels: Vec<i16> = from.iter().map(|text| i16::from(text.is_some())).collect();
    let from: Vec<ByteArray> = from.iter().flatten().map(|text| ByteArray::from(*text)).collect();
    let to: Vec<ByteArray> = to.iter().map(|text| ByteArray::from(*text)).collect();
    parquet_file(path, schema, |rows| {
        parquet_column::<ByteArrayType>(rows, &from, Some(&levels), None);
        parquet_column::<ByteArrayType>(rows, &to, None, None);
        parquet_column::<DoubleType>(rows, weight, None, None);
        parquet_column::<Int64Type>(rows, number, None, None);
    });
}

#[test]
fn columns_of_edges_are_chosen_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    // A byte order mark, ends of lines of Windows, a name with the separator, one with quotes, and other alphabets.
    let text = "\u{feff}date,whom,who,weight\r\n2020,bob,\"Ann, B.\",0.5\r\n2021,\"\"\"Eve\"\"\",bob,2\r\n\
                2022, \"Ann, B.\",Ærø 日本,1\r\n";
    write(here, "e.csv", text);
    let flags = "--edges e.csv --source-column who --target-column whom --node-ids string";
    sar(here, &format!("{flags} --edge-columns weight --num-parts 1 --out out")).success();
    assert_eq!(named_edges(here, "out"), ["Ann, B.>bob", "bob>\"Eve\"", "Ærø 日本>Ann, B."]);
    let (_, tables) = content(&here.join("out/g.json"), 0);
    assert_eq!(tables, [("_N:_E:_N/weight float32 []".to_owned(), vec![0.5, 1.0, 2.0])]);
    refused(here, &format!("{flags} --edge-columns wait"), "e.csv: has no column \"wait\"")
        .stderr(contains("hint: its columns are date, whom, who, weight"));
    refused(here, "--edges e.csv --source-column who", "--source-column: needs --target-column");
    let seeded = "--method range --seed 7 --split random:0.5,0.25,0.25 --num-parts 1 --out seeded";
    sar(here, &format!("e.csv {} {seeded}", flags.replace("--edges e.csv ", ""))).success();
    assert_eq!(named_edges(here, "seeded"), named_edges(here, "out"));
    refused(
        here,
        &flags.replace("-ids string", "-ids integer"),
        "column who: \"Ann, B.\" is not a node id",
    )
    .stderr(contains("--node-ids string"));
    sar(here, "--ogb . --source-column a --target-column b --num-parts 1 --out none")
        .code(2)
        .stderr(contains("'--ogb <DIR>' cannot be used with:\n  --source-column"));
    write(here, "e.csv", "a,b,c\n1,2\n");
    refused(
        here,
        "--edges e.csv --source-column a --target-column b",
        "line 2: has 2 columns, but the first line names 3",
    );
    write(here, "e.csv", "a,b,c\n1,,3\n");
    refused(
        here,
        "--edges e.csv --source-column a --target-column b",
        "line 2: column b: the node is missing: nothing",
    );
    write(here, "e.csv", "a,b,a\n1,2,3\n");
    refused(
        here,
        "--edges e.csv --source-column a --target-column b",
        "has more than one column \"a\"",
    );
    write(here, "e.csv", "");
    refused(here, "--edges e.csv --source-column a --target-column b", "e.csv: is empty");
}

#[test]
fn each_edge_type_has_its_columns() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    write(here, "writes.csv", "paper;author\n0;1\n1;0\n");
    write(here, "cites.csv", "to\tfrom\n0\t2\n");
    let edges = "--edges author:writes:paper=writes.csv --edges paper:cites:paper=cites.csv";
    let columns = "--source-column author:writes:paper=author --target-column author:writes:paper=paper \
                   --source-column from --target-column to";
    sar(here, &format!("{edges} {columns} --num-parts 1 --out out")).success();
    let (found, _) = content(&here.join("out/g.json"), 0);
    assert_eq!(found, [(0, 3, 0), (1, 2, 0), (4, 2, 1)]);
    // The types of nodes are names of columns, too.
    sar(here, &format!("{edges} --num-parts 1 --out typed")).success();
    assert_eq!(content(&here.join("typed/g.json"), 0).0, found);
    sar(here, &format!("{edges} --node-ids string --num-parts 1 --out named")).success();
    assert_eq!(content(&here.join("named/g.json"), 0).0.len(), 3);
    refused(
        here,
        &format!("{edges} {columns} --source-column a:b:c=x"),
        "--source-column: the graph has no edges of type a:b:c",
    );
    refused(
        here,
        &format!("{edges} {columns} --source-column other"),
        "--source-column: names two columns: from and other",
    );
}

#[test]
fn strings_in_parquet_are_ids() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    let path = here.join("e.parquet");
    let from = [Some("ann"), Some("bob"), Some("ann")];
    write_parquet(&path, &from, &["bob", "Ærø", "eve"], &[0.5, 2.0, 1.0], &[10, 11, 1 << 40]);
    let columns = "--source-column from --target-column to --node-ids string";
    sar(
        here,
        &format!(
            "--edges e.parquet {columns} --edge-columns weight,number --num-parts 1 --out out"
        ),
    )
    .success();
    assert_eq!(named_edges(here, "out"), ["ann>bob", "ann>eve", "bob>Ærø"]);
    let (_, tables) = content(&here.join("out/g.json"), 0);
    let due = [
        ("_N:_E:_N/number int64 []".to_owned(), vec![10.0, 11.0, (1u64 << 40) as f64]),
        ("_N:_E:_N/weight float32 []".to_owned(), vec![0.5, 1.0, 2.0]),
    ];
    assert_eq!(tables, due);
    // Integers are names, too.
    sar(
        here,
        "--edges e.parquet --source-column number --target-column to --node-ids string --num-parts 1 --out mixed",
    )
    .success();
    assert_eq!(named_edges(here, "mixed"), ["1099511627776>eve", "10>bob", "11>Ærø"]);
    // Their names are usual.
    sar(here, "--edges e.parquet --node-ids string --num-parts 1 --out usual")
        .success()
        .stderr(contains("source is from, target is to; left out: weight, number"));
    assert_eq!(named_edges(here, "usual"), ["ann>bob", "ann>eve", "bob>Ærø"]);
    refused(here, "--edges e.parquet", "e.parquet: row 0: column from: \"ann\" is not a node id")
        .stderr(contains("--node-ids string"));
    write_parquet(&path, &[Some("ann"), None], &["bob", "eve"], &[0.5, 2.0], &[10, 11]);
    refused(
        here,
        &format!("--edges e.parquet {columns}"),
        "e.parquet: row 1: column from: the node is missing: nothing",
    );
    let text = std::fs::read(&path).unwrap();
    std::fs::write(&path, &text[..text.len() - 40]).unwrap();
    refused(
        here,
        &format!("--edges e.parquet {columns}"),
        "e.parquet: is not a readable Parquet file",
    );
}

#[test]
fn a_header_that_was_read_as_an_edge_is_noted() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    let note = "note: e.csv: \"who\" and \"whom\" on line 1 occur on no other line: \
                if the first line holds the names of columns, pass --header";
    let words = "--edges e.csv --node-ids string --num-parts 1 --out";
    write(here, "e.csv", "who,whom\nann,bob\nbob,eve\n");
    sar(here, &format!("{words} noted")).success().stderr(contains(note));
    let of_header = "note: e.csv: text, separated by commas, the first line names the columns; \
                     source is who, target is whom\n";
    sar(here, &format!("{words} header --header")).success().stderr(contains(of_header));
    assert_eq!(named_edges(here, "header"), ["ann>bob", "bob>eve"]);
    write(here, "e.csv", "ann,bob\nbob,eve\neve,dan\n");
    sar(here, &format!("{words} plain")).success().stderr(contains("occur on no other").not());
}

#[test]
fn a_minus_is_standard_input() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    let piped = |words: &str, text: &str| command(here, words).write_stdin(text).assert();
    piped("--edges - --num-parts 1 --out a", "0,1\n1,2\n").success();
    assert_eq!(content(&here.join("a/g.json"), 0).0, [(0, 1, 0), (1, 2, 0)]);
    write(here, "e.csv", "0,1\n1,2\n");
    piped("--edges e.csv --node-data feat=- --num-parts 1 --out b", "1,2\n3,4\n5,6.5\n").success();
    let feat = ("_N/feat float32 [2]".to_owned(), vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.5]);
    assert_eq!(content(&here.join("b/g.json"), 0).1, [feat]);
    piped("--edges - --num-parts 1 --out c", "0,1\n1,x\n")
        .code(1)
        .stderr(contains("error: standard input: line 2: \"x\" is not a node id"));
    piped("--edges - --split train=- --num-parts 1 --out c", "0,1\n")
        .code(1)
        .stderr(contains("more than one file is standard input (-), which can be read once"));
    assert!(!here.join("c").exists());
    // Only the folder's own files are left.
    let left: Vec<_> = std::fs::read_dir(here.join("a")).unwrap().collect();
    assert_eq!(left.len(), 2, "{left:?}");
}
