//! Questions about pairs of nodes to runs that predict edges: scores of pairs, and best partners.

use std::collections::HashSet;
use std::path::Path;

use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::Field;
use predicates::str::contains;
use sar::formats::dgl::config::PartitionConfig;
use sar::formats::dgl::{InnerEdge, Partition};
use sar::io::{Dtype, npy_header};

use super::common::repository;
use super::program::sar;

const NODES: usize = 34;

/// A run that predicts edges of karate, and the rows of its nodes, from the ids of the partitions.
fn trained(folder: &Path, score: &str) -> Vec<Vec<f32>> {
    let json = repository("data/karate/karate.json");
    let task =
        format!("--task link --mode sample --batch-size 16 --hidden 8 --layers 2 --score {score}");
    sar(folder, &format!("--part-json {} {task} --epochs 3 --out run", json.display())).success();
    sar(folder, "predict --run run --out rows.npy").success();
    let bytes = std::fs::read(folder.join("rows.npy")).unwrap();
    let values: Vec<f32> =
        bytes[128..].chunks(4).map(|b| f32::from_le_bytes(b.try_into().unwrap())).collect();
    values.chunks(8).map(<[f32]>::to_vec).collect()
}

/// Source and destination of every edge.
fn edges() -> HashSet<(usize, usize)> {
    let config = PartitionConfig::open(&repository("data/karate/karate.json")).unwrap();
    let mut found = HashSet::new();
    for part in 0..config.book().num_parts() {
        let partition = Partition::open(&config, part).unwrap();
        let insert = |edge: InnerEdge| {
            found.insert((edge.src as usize, edge.dst as usize));
            Ok(())
        };
        partition.each_edge(insert).unwrap();
    }
    found
}

/// The score of two rows; `w` is the weight of a score that has one.
fn score(kind: &str, u: &[f32], v: &[f32], w: &[f32]) -> f32 {
    let sum = |term: &dyn Fn(usize) -> f32, count: usize| (0..count).map(term).sum();
    match kind {
        "dot" => sum(&|i| u[i] * v[i], 8),
        "bilinear" => sum(&|k| u[k / 8] * w[k] * v[k % 8], 64),
        "distmult" => sum(&|i| u[i] * w[i] * v[i], 8),
        // Real parts, then imaginary ones.
        _ => sum(
            &|i| {
                let ([a, b], [c, d], [e, f]) =
                    ([u[i], u[i + 4]], [w[i], w[i + 4]], [v[i], v[i + 4]]);
                (a * c - b * d) * e + (a * d + b * c) * f
            },
            4,
        ),
    }
}

fn weight(folder: &Path) -> Vec<f32> {
    let bytes = std::fs::read(folder.join("run/model.safetensors")).unwrap();
    let file = safetensors::SafeTensors::deserialize(&bytes).unwrap();
    let data = file.tensor("score.weight").unwrap().data().to_vec();
    data.chunks(4).map(|b| f32::from_le_bytes(b.try_into().unwrap())).collect()
}

/// The rows of a Parquet file as a table of text would have them.
fn parquet_rows(path: &Path) -> Vec<String> {
    let reader = SerializedFileReader::new(std::fs::File::open(path).unwrap()).unwrap();
    let rows = reader.get_row_iter(None).unwrap().map(|row| {
        let cells: Vec<String> = row
            .unwrap()
            .get_column_iter()
            .map(|(_, field)| match field {
                Field::Str(text) => text.clone(),
                Field::Float(score) => score.to_string(),
                Field::Int(number) => number.to_string(),
                Field::Long(number) => number.to_string(),
                other => panic!("{other:?}"),
            })
            .collect();
        cells.join(",")
    });
    rows.collect()
}

fn text_rows(path: &Path) -> Vec<String> {
    std::fs::read_to_string(path).unwrap().lines().skip(1).map(str::to_owned).collect()
}

fn close(a: f32, b: f32) -> bool {
    (a - b).abs() <= 1e-4 * a.abs().max(1.0)
}

#[test]
fn pairs_are_scored_as_in_training() {
    for kind in ["dot", "bilinear", "distmult", "complex"] {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        let rows = trained(folder, kind);
        let weight = if kind == "dot" { Vec::new() } else { weight(folder) };
        let pairs = [(0, 33), (33, 0), (5, 5), (12, 3), (0, 33)];
        let list = pairs.map(|(a, b)| format!("{a},{b}\n")).concat();
        std::fs::write(folder.join("pairs.csv"), list).unwrap();
        let command = "predict --run run --order partition --pairs pairs.csv --out";
        sar(folder, &format!("{command} scores.csv")).success();
        let text = std::fs::read_to_string(folder.join("scores.csv")).unwrap();
        let mut lines = text.lines();
        assert_eq!(lines.next(), Some("partition_source,partition_destination,score"));
        let mut scores = Vec::new();
        for ((a, b), line) in pairs.iter().zip(lines) {
            let found: f32 = line.strip_prefix(&format!("{a},{b},")).unwrap().parse().unwrap();
            let expected = score(kind, &rows[*a], &rows[*b], &weight);
            assert!(close(found, expected), "{kind} {line}: {expected}");
            scores.push(found);
        }
        sar(folder, &format!("{command} scores.npy")).success();
        let bytes = std::fs::read(folder.join("scores.npy")).unwrap();
        let stored: Vec<u8> = scores.iter().flat_map(|score| score.to_le_bytes()).collect();
        assert_eq!(bytes[128..], stored);
        sar(folder, &format!("{command} scores.parquet")).success();
        let rows = parquet_rows(&folder.join("scores.parquet"));
        assert_eq!(rows, text_rows(&folder.join("scores.csv")));
    }
}

#[test]
fn an_array_of_pairs_has_a_row_for_each() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    trained(folder, "dot");
    let command = "predict --run run --order partition --out scores.csv --overwrite --pairs";
    let array = |shape: [u64; 2], values: &[i64]| {
        let mut content = npy_header(Dtype::I64, &shape).unwrap();
        content.extend(values.iter().flat_map(|value| value.to_le_bytes()));
        std::fs::write(folder.join("pairs.npy"), content).unwrap();
    };
    array([2, 2], &[0, 33, 5, 12]);
    sar(folder, &format!("{command} pairs.npy")).success();
    let text = std::fs::read_to_string(folder.join("scores.csv")).unwrap();
    let ends = text.lines().skip(1).map(|line| line.rsplit_once(',').unwrap().0);
    assert_eq!(ends.collect::<Vec<_>>(), ["0,33", "5,12"]);
    array([2, 3], &[0, 5, 1, 33, 12, 2]);
    sar(folder, &format!("{command} pairs.npy"))
        .code(1)
        .stderr(contains("has shape [2, 3], but pairs are an array of shape (N, 2)"))
        .stderr(contains("array.T"));
}

#[test]
fn partners_are_the_best_nodes_without_an_edge() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let rows = trained(folder, "complex");
    let (weight, edges) = (weight(folder), edges());
    sar(folder, "predict --run run --order partition --top-k 3 --out all.csv").success();
    let text = std::fs::read_to_string(folder.join("all.csv")).unwrap();
    let mut lines = text.lines().skip(1);
    for u in 0..NODES {
        let candidates = (0..NODES).filter(|v| *v != u && !edges.contains(&(u, *v)));
        let mut best: Vec<f32> =
            candidates.map(|v| score("complex", &rows[u], &rows[v], &weight)).collect();
        best.sort_by(|a, b| b.total_cmp(a));
        for (rank, expected) in best.iter().take(3).enumerate() {
            let cells: Vec<&str> = lines.next().unwrap().split(',').collect();
            assert_eq!(cells[..2], [u.to_string(), (rank + 1).to_string()]);
            let partner: usize = cells[2].parse().unwrap();
            assert!(partner != u && !edges.contains(&(u, partner)), "{cells:?}");
            assert!(close(cells[3].parse().unwrap(), *expected), "{cells:?}: {expected}");
        }
    }
    assert_eq!(lines.next(), None);
    sar(folder, "predict --run run --order partition --top-k 3 --out all.parquet").success();
    assert_eq!(parquet_rows(&folder.join("all.parquet")), text_rows(&folder.join("all.csv")));
    // Some nodes, whatever runs them; as many partners as there are.
    std::fs::write(folder.join("of.txt"), "33\n2\n33\n").unwrap();
    let some = "predict --run run --order partition --top-k 40 --of of.txt --out";
    sar(folder, &format!("{some} some.npy")).success();
    sar(folder, &format!("{some} again.npy --resident 1 --threads 1 --memory-budget min"))
        .success();
    let bytes = std::fs::read(folder.join("some.npy")).unwrap();
    assert!(bytes == std::fs::read(folder.join("again.npy")).unwrap());
    let ids: Vec<i64> =
        bytes[128..].chunks(8).map(|b| i64::from_le_bytes(b.try_into().unwrap())).collect();
    assert_eq!(ids.len(), 3 * 40);
    assert_eq!(ids[..40], ids[80..]);
    let partners =
        |u: usize| NODES - 1 - edges.iter().filter(|(src, dst)| *src == u && *dst != u).count();
    assert_eq!(ids[..40].iter().filter(|id| **id >= 0).count(), partners(33));
    assert_eq!(ids[40..80].iter().filter(|id| **id >= 0).count(), partners(2));
}

#[test]
fn questions_that_make_no_sense_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    trained(folder, "dot");
    std::fs::write(folder.join("pairs.csv"), "0,1\n2\n").unwrap();
    std::fs::write(folder.join("many.csv"), "0,1\n".repeat(20_000)).unwrap();
    for (words, code, problem) in [
        ("--pairs pairs.csv --out x.csv", 1, "pairs.csv: line 2: has 1 column"),
        ("--pairs many.csv --memory-budget 1MiB --out x.csv", 4, "many.csv: the nodes of"),
        ("--top-k 0 --out x.csv", 1, "--top-k: must be 1 or more"),
        ("--of pairs.csv --out x.csv", 1, "--of has no effect without --top-k"),
        ("--top-k 3 --output logits --out x.csv", 2, "cannot be used with"),
        ("--layer 1 --out x.csv", 1, "--layer has no effect without --output embeddings"),
    ] {
        sar(folder, &format!("predict --run run {words}")).code(code).stderr(contains(problem));
    }
    let json = repository("data/karate/karate.json");
    sar(folder, &format!("--part-json {} --epochs 1 --hidden 4 --out nodes", json.display()))
        .success();
    sar(folder, "predict --run nodes --top-k 3 --out x.csv")
        .code(1)
        .stderr(contains("does not predict edges"));
    sar(folder, "correct-and-smooth --run nodes --top-k 3 --out x.csv")
        .code(1)
        .stderr(contains("--top-k has no effect with correct-and-smooth"));
    assert!(!folder.join("x.csv").exists());
}
