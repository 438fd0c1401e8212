//! Guards against: classes whose names are lost between a table and a prediction.

use std::path::Path;
use std::process::Command;

use super::common::metrics;
use super::support::{lines, write};

fn run(folder: &Path, words: &str) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sar-single"));
    let output = command.current_dir(folder).args(words.split(' ')).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{words}: {said}");
    String::from_utf8(output.stdout).unwrap() + &said
}

#[test]
fn names_of_classes_go_from_a_table_to_predictions() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    let n = 60;
    write(here, "edges.csv", &lines((0..n).map(|i| format!("u{i},u{}", (i + 2) % n))));
    let label = |i: usize| match (i % 10, i % 2) {
        (9, _) => "",
        (_, 0) => "even",
        _ => "odd, or not",
    };
    let row = |i: usize| {
        format!("u{i},{},\"{}\",{}", i % 2, label(i), u8::from(!i.is_multiple_of(3) && i % 10 != 9))
    };
    write(here, "nodes.csv", &("id,x,kind,train_mask\n".to_owned() + &lines((0..n).map(row))));
    run(
        here,
        "partition --edges edges.csv --node-table nodes.csv --id id --label kind --num-parts 2 --out p",
    );
    let shown = run(here, "inspect p/g.json --statistics");
    let shown: Vec<String> =
        shown.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
    for due in ["even 30", "odd, or not 24", "no label 6"] {
        assert!(shown.iter().any(|line| line == due), "{due}: {shown:#?}");
    }
    let json = run(here, "inspect p/g.json --statistics --json");
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["class_names"], serde_json::json!(["even", "odd, or not"]));
    let said =
        run(here, "--part-json p/g.json --hidden 4 --layers 2 --epochs 30 --lr 0.1 --out run");
    assert!(said.contains("class        as even  as odd, or not"), "{said}");
    run(here, "report run");
    let page = std::fs::read_to_string(here.join("report.html")).unwrap();
    assert!(page.contains("title=\"as odd, or not\""), "{page}");
    run(here, "predict --run run --out all.csv");
    let all = std::fs::read_to_string(here.join("all.csv")).unwrap();
    let lines: Vec<&str> = all.lines().collect();
    assert_eq!(lines[0], "node,class");
    assert_eq!(lines[1..3], ["u0,even", "u1,\"odd, or not\""]);
    assert_eq!(lines.len(), n + 1);
}

/// The label depends on a column with 40 strings only.
#[test]
fn embedded_columns_are_learned() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    let n = 400;
    let town = |i: usize| i * 7 % 40;
    write(here, "edges.csv", &lines((0..n).map(|i| format!("u{i},u{}", (i + 1) % n))));
    let row = |i: usize| {
        let kind = if town(i).is_multiple_of(3) { "red" } else { "blue" };
        format!(
            "u{i},{},town {},{kind},{},{}",
            i % 5,
            town(i),
            u8::from(i < 300),
            u8::from(i >= 300)
        )
    };
    let head = "id,x,town,kind,train_mask,test_mask\n".to_owned();
    write(here, "nodes.csv", &(head + &lines((0..n).map(row))));
    run(
        here,
        "partition --edges edges.csv --undirected --node-table nodes.csv --id id --label kind --embed town --num-parts 2 --out p",
    );
    run(here, "inspect p/g.json --verify");
    run(
        here,
        "--part-json p/g.json --model sage --hidden 16 --layers 2 --epochs 60 --lr 0.05 --seed 1 --out run",
    );
    let lines = metrics(&here.join("run"));
    let last = lines.iter().rfind(|line| line.get("test_acc").is_some()).unwrap();
    assert!(last["test_acc"].as_f64().unwrap() > 0.9, "{last}");
    run(here, "predict --run run --out all.csv");
    let all = std::fs::read_to_string(here.join("all.csv")).unwrap();
    assert_eq!(all.lines().count(), n + 1);
}
