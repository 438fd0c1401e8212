//! Predictions of some nodes: the bits of the prediction of all, with less work; names, tables, scores.

use std::fs::File;
use std::path::Path;

use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::Field;
use predicates::prelude::PredicateBooleanExt;
use predicates::str::contains;
use sar::cli::definition;

use super::common::{metrics, repository};
use super::program::sar;

/// A graph with few edges, so that few nodes depend on one another.
fn sparse(folder: &Path) {
    let graph = "generate --nodes 900 --edges 1200 --classes 3 --num-parts 3 --out g";
    sar(folder, graph).success();
}

/// A graph as sparse, with features of edges.
fn with_edge_features(folder: &Path) {
    let write = |name: &str, line: &dyn Fn(u64) -> String, lines: u64| {
        std::fs::write(folder.join(name), (0..lines).map(line).collect::<String>()).unwrap();
    };
    let edge = |i| format!("{} {} {}\n", (i * 37 + 11) % 900, (i * 541 + 263) % 900, i % 7);
    write("edges", &edge, 600);
    write("feat", &|i| format!("{} {}\n", i % 5, i % 11), 900);
    write("label", &|i| format!("{}\n", i % 3), 900);
    write("train", &|i| format!("{}\n", i % 2), 900);
    let graph = "partition --edges edges --undirected --edge-columns weight --num-parts 3 --method range --out g";
    let data = "--node-data feat=feat --node-data label=label --node-data train_mask=train";
    sar(folder, &format!("{graph} {data}")).success();
}

fn stderr(assert: &assert_cmd::assert::Assert) -> String {
    String::from_utf8(assert.get_output().stderr.clone()).unwrap()
}

/// The rows of an array of 32-bit numbers behind a header of 128 bytes.
fn rows(path: &Path, width: usize) -> Vec<Vec<u8>> {
    let bytes = std::fs::read(path).unwrap();
    bytes[128..].chunks(4 * width).map(<[u8]>::to_vec).collect()
}

fn width(path: &Path) -> usize {
    let header = std::fs::read(path).unwrap();
    let header = String::from_utf8_lossy(&header[..128]).into_owned();
    let shape = header.split_once("'shape': (").unwrap().1.split(')').next().unwrap().to_owned();
    shape.split(", ").nth(1).unwrap().parse().unwrap()
}

/// Models of the parser's definition, sampled training, and node types with and without their own features.
#[test]
fn some_nodes_have_the_bits_of_all_with_every_model() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    with_edge_features(folder);
    let definition = definition();
    let model = definition.get_arguments().find(|flag| flag.get_id() == "model").unwrap();
    let mut runs: Vec<String> = model
        .get_possible_values()
        .iter()
        .map(|model| match model.get_name() {
            "egat" => "--model egat --edge-features-key weight".to_owned(),
            name => format!("--model {name}"),
        })
        .collect();
    assert!(runs.len() >= 10, "{runs:?}");
    runs.push("--model gatv2 --edge-features-key weight".to_owned());
    runs.push("--mode sample".to_owned());
    runs.push("--hetero sum".to_owned());
    runs.push("--model gat --compute-dtype bf16".to_owned());
    // Neighbours, a node twice, the first and the last one.
    let nodes = [17, 18, 400, 17, 899, 0, 620];
    let list = nodes.map(|node| format!("{node}\n")).concat();
    std::fs::write(folder.join("list.txt"), list).unwrap();
    for run in runs {
        let shape = if run.contains("sgc") { "" } else { "--hidden 8 --layers 2" };
        let train = format!("--part-json g/g.json {run} {shape} --epochs 1 --out run --overwrite");
        sar(folder, &train).success();
        let mut outputs = vec!["logits", "probabilities"];
        outputs.extend((!run.contains("sgc")).then_some("embeddings"));
        for output in outputs {
            let predict = format!("predict --run run --overwrite --output {output}");
            sar(folder, &format!("{predict} --out all.npy")).success();
            let some = format!("{predict} --out some.npy --nodes list.txt");
            let told = stderr(&sar(folder, &some).success());
            let width = width(&folder.join("all.npy"));
            let all = rows(&folder.join("all.npy"), width);
            let some = rows(&folder.join("some.npy"), width);
            let expected: Vec<_> = nodes.iter().map(|node| all[*node].clone()).collect();
            assert!(some == expected, "{output} of {run}");
            // Less work: fewer edges in each layer.
            if let Some((edges, layers)) = told.split_once(" edges layer 1 takes ") {
                let all: u64 = edges.rsplit(' ').next().unwrap().parse().unwrap();
                let first: u64 = layers.split([',', ';']).next().unwrap().parse().unwrap();
                assert!(first * 4 < all, "{run}: {told}");
            }
        }
    }
}

#[test]
fn scores_are_those_of_the_run_and_of_the_chosen_nodes() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    sparse(folder);
    sar(folder, "--part-json g/g.json --hidden 8 --layers 2 --epochs 3 --out run").success();
    let last = metrics(&folder.join("run")).pop().unwrap();
    let accuracy = format!("{:.2} %", 100.0 * last["test_acc"].as_f64().unwrap());
    let f1 = format!("{:.4}", last["test_f1_macro"].as_f64().unwrap());
    for words in ["", "--split test", "--output logits --split test"] {
        let assert =
            sar(folder, &format!("predict --run run --overwrite --out out.npy {words}")).success();
        let table = stderr(&assert);
        let row = table.lines().find(|line| line.starts_with("test ")).unwrap();
        assert!(row.contains(&accuracy) && row.contains(&f1), "{table}");
        assert_eq!(table.lines().any(|line| line.starts_with("train ")), words.is_empty());
    }
    // Embeddings have no classes, and neither is there a label of nodes without one.
    let told = stderr(&sar(folder, "predict --run run --out e.npy --output embeddings").success());
    assert!(!told.contains("accuracy"), "{told}");
    let smoothed = "correct-and-smooth --run run --out s.npy";
    let told = stderr(&sar(folder, smoothed).success());
    assert!(told.contains(&format!("of test nodes: {accuracy} before, ")), "{told}");
}

#[test]
fn tables_have_the_names_that_the_user_gave() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let name = |i: usize| match i % 3 {
        0 => format!("user {i}"),
        1 => format!("\"a,{i}\""),
        _ => format!("ü{i}"),
    };
    let n = 60;
    let edges: Vec<String> = (0..n)
        .flat_map(|i| [(i, (i + 1) % n), (i, (i + 7) % n)])
        .map(|(a, b)| format!("{},{}\n", name(a), name(b)))
        .collect();
    std::fs::write(folder.join("edges.csv"), edges.concat()).unwrap();
    std::fs::write(folder.join("names.txt"), (0..n).map(|i| name(i) + "\n").collect::<String>())
        .unwrap();
    let column = |of: fn(usize) -> usize| {
        let lines: Vec<String> = (0..n).map(|i| format!("{}\n", of(i))).collect();
        lines.concat()
    };
    std::fs::write(folder.join("label.csv"), column(|i| i % 2)).unwrap();
    std::fs::write(folder.join("feat.csv"), column(|i| i % 2 + i % 5)).unwrap();
    std::fs::write(folder.join("train_mask.csv"), column(|i| usize::from(i % 4 != 0))).unwrap();
    std::fs::write(folder.join("test_mask.csv"), column(|i| usize::from(i % 4 == 0))).unwrap();
    let data = ["label", "feat", "train_mask", "test_mask"]
        .map(|name| format!("--node-data {name}={name}.csv"));
    let cut = format!(
        "partition --edges edges.csv --node-ids string --node-names names.txt {} --num-parts 3 --method random --out p",
        data.join(" ")
    );
    sar(folder, &cut).success();
    std::fs::write(folder.join("p/class_names.txt"), "even\nodd, or not\n").unwrap();
    sar(folder, "--part-json p/g.json --hidden 4 --layers 2 --epochs 2 --out run").success();

    sar(folder, "predict --run run --out all.csv").success();
    let all = std::fs::read_to_string(folder.join("all.csv")).unwrap();
    let lines: Vec<&str> = all.lines().collect();
    assert_eq!((lines[0], lines.len()), ("node,class", n + 1));
    // In the order of the names, with the classes' names.
    assert!(lines[1].starts_with("user 0,") && lines[2].starts_with("\"a,1\","), "{all}");
    assert!(lines[3].starts_with("ü2,"));
    assert!(
        lines[1..].iter().all(|line| line.ends_with(",even") || line.ends_with(",\"odd, or not\""))
    );
    sar(folder, "predict --run run --out ids.npy --order original").success();
    let ids = std::fs::read(folder.join("ids.npy")).unwrap();
    for (line, class) in lines[1..].iter().zip(ids[128..].chunks(8)) {
        assert_eq!(line.ends_with("even"), class[0] == 0, "{line}");
    }

    std::fs::write(folder.join("list.txt"), "ü5\nuser 3\n\"a,1\"\n").unwrap();
    sar(folder, "predict --run run --out some.parquet --nodes list.txt --output probabilities")
        .success();
    let file = SerializedFileReader::new(File::open(folder.join("some.parquet")).unwrap()).unwrap();
    let rows: Vec<Vec<(String, Field)>> = file
        .get_row_iter(None)
        .unwrap()
        .map(|row| {
            row.unwrap()
                .get_column_iter()
                .map(|(name, field)| (name.clone(), field.clone()))
                .collect()
        })
        .collect();
    let names: Vec<_> = rows.iter().map(|row| row[0].1.to_string()).collect();
    assert_eq!(names, ["\"ü5\"", "\"user 3\"", "\"a,1\""]);
    assert_eq!(rows[0][2].0, "probability_odd, or not");
    for row in &rows {
        let [Field::Float(a), Field::Float(b)] = [&row[1].1, &row[2].1] else { panic!("{row:?}") };
        assert!((a + b - 1.0).abs() < 1e-6);
    }
    std::fs::write(folder.join("bad.txt"), "user 3\nuser X\n").unwrap();
    sar(folder, "predict --run run --out x.csv --nodes bad.txt")
        .code(1)
        .stderr(contains("bad.txt: line 2: \"user X\" is not the name of a node"));
    assert!(!folder.join("x.csv").exists());
    // Ids of the partitions are numbers.
    sar(folder, "predict --run run --out ids.csv --order partition").success();
    assert!(std::fs::read_to_string(folder.join("ids.csv")).unwrap().contains("\n59,"));
}

#[test]
fn what_cannot_be_predicted_is_refused_before_the_work() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let json = repository("data/karate/karate.json");
    let train =
        format!("--part-json {} --hidden 4 --layers 2 --epochs 1 --out run", json.display());
    sar(folder, &train).success();
    std::fs::write(folder.join("empty.txt"), "# nothing\n").unwrap();
    std::fs::write(folder.join("far.txt"), "3\n34\n").unwrap();
    for (words, problem) in [
        ("--layer 1", "--layer has no effect without --output"),
        ("--layer 1 --output logits", "--layer has no effect with --output logits"),
        (
            "--layer 3 --output embeddings",
            "--layer: is 3, but the hidden layers of the model (sage) are 1 to 1",
        ),
        ("--layer 0 --output embeddings", "--layer: is 0"),
        ("--nodes empty.txt", "empty.txt: lists no nodes"),
        ("--nodes far.txt", "far.txt: line 2: node 34 is beyond the 34 nodes"),
        ("--nodes missing.txt", "missing.txt: cannot be read"),
        ("--out /dev/full/x.csv", "/dev/full"),
    ] {
        let out = if words.contains("--out ") { "" } else { "--out x.npy" };
        let refused = sar(folder, &format!("predict --run run {out} {words}"));
        let code = refused.get_output().status.code();
        let told = stderr(&refused);
        assert!(told.contains(problem) && matches!(code, Some(1 | 3)), "{words}: {code:?} {told}");
    }
    let both = sar(folder, "predict --run run --out x.npy --nodes far.txt --split test").code(2);
    both.stderr(contains("cannot be used with"));
    assert!(!folder.join("x.npy").exists());
    let sgc = format!("--part-json {} --model sgc --epochs 1 --out sgc", json.display());
    sar(folder, &sgc).success();
    let refused = sar(folder, "predict --run sgc --out x.npy --output embeddings").code(1);
    let problem = "error: --output: embeddings are rows of a hidden layer, but the model (sgc) has no hidden layers";
    refused.stderr(contains(problem).and(contains("--output logits")));
}
