//! Guards against: ranks of held-back edges that differ from those of a comparison with all nodes, or with the partitions.

use std::collections::{BTreeMap, HashSet};
use std::fs;
use std::path::Path;

use predicates::prelude::PredicateBooleanExt;
use predicates::str::contains;

use super::program::sar;

const NODES: usize = 30;
/// The first node without a training edge; all such nodes have the same features.
const LONELY: usize = 26;
const WIDTH: usize = 8;
const RELATIONS: [&str; 3] = ["knows", "likes", "near"];

/// Source, relation, destination.
type Triple = (usize, usize, usize);

/// Edges for training, and for the test.
fn edges(relations: usize) -> [Vec<Triple>; 2] {
    let mut edges = [Vec::new(), vec![(0, 0, 29), (3, 1 % relations, 27)]];
    for i in 0..LONELY {
        for (k, to) in [(i * 7 + 1) % LONELY, (i * 3 + 2) % LONELY].into_iter().enumerate() {
            let is_test = (2 * i + k).is_multiple_of(6);
            edges[usize::from(is_test)].push((i, (i + k) % relations, to));
        }
    }
    edges
}

/// Graphs of one, of three, and of three partitions one of which is empty; and one without test edges. Nodes have names.
fn graphs(folder: &Path, relations: usize) {
    let node = |i| match i {
        LONELY.. => format!("n{i},9,9\n"),
        _ => format!("n{i},{},{}\n", i % 5, i * i % 7),
    };
    let nodes: String = (0..NODES).map(node).collect();
    fs::write(folder.join("nodes.csv"), format!("id,a,b\n{nodes}")).unwrap();
    let assigned: String = (0..NODES).map(|i| ["0\n", "2\n"][i % 2]).collect();
    fs::write(folder.join("assigned"), assigned).unwrap();
    let [train, test] = edges(relations);
    let lines = |edges: &[Triple], is_test: usize| -> String {
        let line = |(u, r, v): &Triple| {
            let relation = RELATIONS[*r];
            format!("n{u},{relation},n{v},{},{is_test}\n", 1 - is_test)
        };
        edges.iter().map(line).collect()
    };
    let heading = "source,relation,target,train_mask,test_mask\n";
    let train = format!("{heading}{}", lines(&train, 0));
    fs::write(folder.join("train.csv"), &train).unwrap();
    fs::write(folder.join("all.csv"), train + &lines(&test, 1)).unwrap();
    let relation = if relations > 1 { "--relation-column relation" } else { "" };
    for (edges, cut) in [
        ("all", "--num-parts 1 --out one"),
        ("all", "--num-parts 3 --method range --out three"),
        ("all", "--num-parts 3 --method file --assignment assigned --out empty"),
        ("train", "--num-parts 1 --out messages"),
    ] {
        let columns =
            "--edge-columns train_mask,test_mask --node-ids string --node-table nodes.csv";
        sar(folder, &format!("partition --edges {edges}.csv {relation} {columns} {cut}")).success();
    }
}

/// The rows of all nodes, from the edges along which messages pass in training.
fn rows(folder: &Path) -> Vec<Vec<f64>> {
    sar(folder, "predict --run run --part-json messages/g.json --out rows.csv").success();
    let text = fs::read_to_string(folder.join("rows.csv")).unwrap();
    let mut rows = vec![Vec::new(); NODES];
    for line in text.lines().skip(1) {
        let (name, values) = line.split_once(',').unwrap();
        let node: usize = name.strip_prefix('n').unwrap().parse().unwrap();
        rows[node] = values.split(',').map(|value| value.parse().unwrap()).collect();
    }
    rows
}

fn weight(folder: &Path) -> Vec<f64> {
    let bytes = fs::read(folder.join("run/model.safetensors")).unwrap();
    let file = safetensors::SafeTensors::deserialize(&bytes).unwrap();
    let Ok(tensor) = file.tensor("score.weight") else { return Vec::new() };
    let values = tensor.data().as_chunks::<4>().0.iter();
    values.map(|bytes| f64::from(f32::from_le_bytes(*bytes))).collect()
}

fn score(kind: &str, weight: &[f64], u: &[f64], relation: usize, v: &[f64]) -> f64 {
    let w = || &weight[relation * WIDTH..][..WIDTH];
    let complex = |row: &[f64], i: usize| (row[i], row[i + WIDTH / 2]);
    match kind {
        "dot" => u.iter().zip(v).map(|(a, b)| a * b).sum(),
        "bilinear" => (0..WIDTH * WIDTH).map(|k| u[k / WIDTH] * weight[k] * v[k % WIDTH]).sum(),
        "distmult" => (0..WIDTH).map(|i| u[i] * w()[i] * v[i]).sum(),
        _ => (0..WIDTH / 2)
            .map(|i| {
                let ((a, b), (c, d), (e, f)) = (complex(u, i), complex(w(), i), complex(v, i));
                (a * c - b * d) * e + (a * d + b * c) * f
            })
            .sum(),
    }
}

/// The ranks of source and destination of each test edge, by comparison with all nodes.
fn expected(folder: &Path, kind: &str, relations: usize) -> BTreeMap<Triple, [f64; 2]> {
    let (rows, weight) = (rows(folder), weight(folder));
    let [train, test] = edges(relations);
    let known: HashSet<Triple> = train.into_iter().chain(test.iter().copied()).collect();
    let of = |(u, r, v): Triple| score(kind, &weight, &rows[u], r, &rows[v]);
    let rank = |edge: Triple, other: &dyn Fn(usize) -> Triple| {
        let candidates = (0..NODES).map(other).filter(|other| !known.contains(other));
        let (mut above, mut same) = (0, 0);
        for difference in candidates.map(|other| of(other) - of(edge)) {
            same += usize::from(difference.abs() < 1e-6);
            above += usize::from(difference >= 1e-6);
        }
        1.0 + above as f64 + same as f64 / 2.0
    };
    let ranks = test.iter().map(|&(u, r, v)| {
        let edge = (u, r, v);
        (edge, [rank(edge, &|node| (node, r, v)), rank(edge, &|node| (u, r, node))])
    });
    ranks.collect()
}

fn check(kind: &str, relations: usize, layers: &str) {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    graphs(folder, relations);
    let train = "--task link --layers 2 --hidden 8 --fanouts 9,9 --epochs 2 --dropout 0";
    sar(folder, &format!("--part-json one/g.json {train} {layers} --score {kind} --out run"))
        .success();
    let expected = expected(folder, kind, relations);
    let halves = expected.values().flatten().filter(|rank| rank.fract() != 0.0).count();
    assert!(halves > 0, "{kind}: no ties");
    let (mut tables, mut scores) = (HashSet::new(), Vec::new());
    for (graph, more) in
        [("one", ""), ("three", ""), ("empty", ""), ("three", "--resident 1 --threads 1")]
    {
        let words = format!("predict --run run --part-json {graph}/g.json --split test {more}");
        let output = sar(folder, &format!("{words} --overwrite --json --out ranks.csv")).success();
        let output = String::from_utf8(output.get_output().stdout.clone()).unwrap();
        let event = output.lines().find(|line| line.contains("filtered_mrr")).unwrap();
        let event: serde_json::Value = serde_json::from_str(event).unwrap();
        scores.push(event["sets"].clone());
        let text = fs::read_to_string(folder.join("ranks.csv")).unwrap();
        let mut lines: Vec<&str> = text.lines().collect();
        lines[1..].sort_unstable();
        tables.insert(lines.join("\n"));
    }
    assert_eq!(tables.len(), 1, "{kind}: {tables:?}");
    let table = tables.into_iter().next().unwrap();
    let mut found = BTreeMap::new();
    for line in table.lines().skip(1) {
        let cells: Vec<&str> = line.split(',').collect();
        let node = |name: &str| name.strip_prefix('n').unwrap().parse::<usize>().unwrap();
        let relation =
            RELATIONS.iter().position(|name| *name == cells[2]).filter(|_| relations > 1);
        let ranks = [2, 1].map(|from_end| cells[cells.len() - from_end].parse().unwrap());
        found.insert((node(cells[0]), relation.unwrap_or(0), node(cells[1])), ranks);
    }
    assert_eq!(found, expected, "{kind}");
    for sets in scores {
        check_scores(&sets, &expected);
    }
}

/// Compares the metrics of all ends, and of each, with those of the ranks.
fn check_scores(sets: &serde_json::Value, expected: &BTreeMap<Triple, [f64; 2]>) {
    for (set, ends) in
        [("test", vec![0, 1]), ("test sources", vec![0]), ("test destinations", vec![1])]
    {
        let told = sets.as_array().unwrap().iter().find(|told| told["name"] == set).unwrap();
        assert_eq!(told["edges"], expected.len());
        let ranks: Vec<f64> =
            expected.values().flat_map(|ranks| ends.iter().map(|end| ranks[*end])).collect();
        let mean = |value: &dyn Fn(f64) -> f64| {
            ranks.iter().map(|rank| value(*rank)).sum::<f64>() / ranks.len() as f64
        };
        let hits = |most: f64| mean(&|rank| if rank <= most { 1.0 } else { 0.0 });
        for (key, value) in [
            ("filtered_mrr", mean(&|rank| 1.0 / rank)),
            ("hits@1", hits(1.0)),
            ("hits@3", hits(3.0)),
            ("hits@10", hits(10.0)),
        ] {
            let told = told["scores"][key].as_f64().unwrap();
            assert!((told - value).abs() < 1e-12, "{set} {key}: {told} instead of {value}");
        }
    }
}

#[test]
fn edges_of_one_type_have_the_ranks_of_a_comparison_with_all_nodes() {
    check("dot", 1, "");
    check("bilinear", 1, "");
    check("complex", 1, "");
}

#[test]
fn edges_of_several_types_have_the_ranks_of_a_comparison_with_all_nodes() {
    check("distmult", 3, "--hetero sum");
    check("complex", 3, "--hetero sum");
    check("complex", 3, "--model rgcn");
}

#[test]
fn ranks_are_written_as_tables_and_need_edges() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    graphs(folder, 1);
    sar(
        folder,
        "--part-json one/g.json --task link --layers 1 --hidden 4 --fanouts 3 --epochs 1 --out run",
    )
    .success();
    sar(folder, "predict --run run --split test --out ranks.npy")
        .code(1)
        .stderr(contains("ranks of edges are written as a table"));
    sar(folder, "predict --run run --split val --out ranks.csv")
        .code(1)
        .stderr(contains("--split: no edges are kept back for val").and(contains("forward").not()));
    sar(folder, "predict --run run --split test --out ranks.parquet")
        .success()
        .stderr(contains("filtered MRR").and(contains("Hits@10")));
    // Edges that are drawn, not marked by masks, depend on the cut.
    sar(
        folder,
        "--part-json one/g.json --task link --layers 1 --hidden 4 --fanouts 3 --epochs 1 --split val=10%,test=20% --out drawn",
    )
    .success();
    sar(folder, "predict --run drawn --split test --out drawn.csv").success();
    sar(folder, "predict --run drawn --part-json three/g.json --split test --out x.csv")
        .code(1)
        .stderr(contains("so it would keep back other edges").and(contains("--part-json FILE")));
    sar(folder, "predict --run drawn --part-json three/g.json --out rows.csv").success();
}
