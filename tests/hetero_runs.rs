//! Runs of the built binary on a graph whose node types have features of different widths, or none: DGL's numbers
//! (tests/fixtures/hetero_steps.py), the same for any partitioning with dropout, the same bits after a stop, predictions.
#![cfg(feature = "torch")]
#![allow(clippy::unwrap_used)]

mod common;
#[path = "common/karate.rs"]
mod karate;
#[path = "common/program.rs"]
mod program;
#[path = "common/uneven.rs"]
mod uneven;

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use common::{metrics, repository};
use karate::{
    assert_close, check_correct_and_smooth, check_curve, check_step, check_step_with, tensors,
};
use predicates::str::contains;
use program::Program;
use safetensors::SafeTensors;
use sar::formats::dgl::Partition;
use sar::formats::dgl::config::PartitionConfig;
use sar::load::original_places;
use uneven::{repartitioned, resumed, step, train, uneven, weights};

const STEPS: &str = "hetero_steps";

fn file(path: &Path) -> Vec<u8> {
    std::fs::read(path).unwrap()
}

/// A command that makes a file of the trained model's predictions.
fn sar(command: &str, folder: &Path, name: &str) -> Program {
    let mut sar = Program::new();
    sar.arg(command).arg("--run").arg(folder.join("run"));
    sar.arg("--overwrite").arg("--out").arg(folder.join(name));
    sar
}

fn predict(folder: &Path, name: &str, flags: &[&str]) -> Vec<u8> {
    let mut command = sar("predict", folder, name);
    command.args(flags);
    if !flags.contains(&"--output") {
        command.args(["--output", "logits"]);
    }
    command.assert().success();
    file(&folder.join(name))
}

#[test]
fn layers_per_edge_type_give_dgls_step() {
    for name in [
        "sage_mean",
        "sage_gcn",
        "sage_pool",
        "sage_mean_merged",
        "sage_max_merged",
        "sage_min_merged",
        "sage_weighted",
        "gcn_both",
        "gcn_right",
        "gcn_weighted",
        "gat",
        "gat_max_merged",
        "gat_min_merged",
        "gatv2",
        "gatv2_max_merged",
        "gatv2_min_merged",
        "gin",
        "rgcn",
        "rgcn_bases",
    ] {
        check_step(STEPS, name);
        // Results of several edge types are merged, and share a gradient.
        check_step_with(STEPS, name, &["--no-remat"]);
    }
}

/// Edge types with features of several widths, and, for GATv2, an edge type without.
#[test]
fn layers_per_edge_type_take_features_of_edges_as_in_dgl_and_pyg() {
    for name in ["egat", "gatv2", "gatv2_some"] {
        check_step("hetero_edge_steps", name);
        check_step_with("hetero_edge_steps", name, &["--one-shot"]);
        check_step_with("hetero_edge_steps", name, &["--mfg"]);
    }
}

#[test]
fn an_edge_type_without_the_feature_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let graph = repository("tests/fixtures/hetero_edges/g.json");
    for mode in ["", "--mode sample"] {
        let flags = format!("--model egat --edge-features-key some {mode}");
        let error = train(&graph, folder.path(), &flags).assert().code(1);
        error
            .stderr(contains("some: edge type field:of:paper has no such feature"))
            .stderr(contains("--model gatv2"));
        let flags = format!("--model gatv2 --edge-features-key some --epochs 1 {mode}");
        let note = train(&graph, folder.path(), &flags).assert().success();
        note.stderr(contains("without edge features: field:of:paper"));
    }
}

/// On the full graph, on message flow graphs (which have no batch statistics) and with one-shot aggregation.
#[test]
fn what_lies_around_layers_per_edge_type_gives_pytorchs_step() {
    for name in ["layer_norm", "batch_norm", "jk_max"] {
        check_step(STEPS, name);
        check_step_with(STEPS, name, &["--one-shot"]);
    }
    for name in ["layer_norm", "jk_max", "gat", "gat_max_merged", "gcn_both", "sage_pool", "rgcn"] {
        check_step_with(STEPS, name, &["--mfg"]);
    }
}

#[test]
fn training_gives_dgls_curve_learned_rows_included() {
    for name in ["curve_sgd", "curve_adam", "curve_clipped"] {
        check_curve(STEPS, name);
    }
}

#[test]
fn dropout_gives_the_same_step_on_any_number_of_partitions() {
    let folder = tempfile::tempdir().unwrap();
    let graphs = [1, 2, 3, 5, 8].map(|parts| repartitioned(folder.path(), parts, "range"));
    for model in [
        "sage --aggregator pool",
        "gat --heads 2 --attention-dropout 0.3",
        "egat --heads 2 --attention-dropout 0.3 --edge-features-key weight",
        "gin --hetero max",
    ] {
        let steps = graphs.each_ref().map(|graph| {
            let written = folder.path().join("step.safetensors");
            let flags = format!("--dropout 0.4 --seed 3 --overwrite --model {model}");
            step(graph, folder.path(), &flags, &written).assert().success();
            tensors(&file(&written))
        });
        let (one, others) = steps.split_first().unwrap();
        assert!(one.contains_key("grad.embeds.author.weight"), "{model}");
        for (other, parts) in others.iter().zip([2, 3, 5, 8]) {
            assert_eq!(one.len(), other.len());
            for (key, (shape, values)) in one {
                let scale = values.iter().fold(1.0, |m: f64, v| m.max(v.abs()));
                assert_eq!(shape, &other[key].0);
                for (a, b) in values.iter().zip(&other[key].1) {
                    assert!((a - b).abs() <= 1e-5 * scale, "{model}, {parts}, {key}: {b}, not {a}");
                }
            }
        }
    }
}

/// The relations of a layer share its pauses, so there are as many as on a graph with one edge type.
#[test]
fn turns_do_not_depend_on_the_number_of_relations() {
    let turns = |graph: &Path, flags: &str| {
        let folder = tempfile::tempdir().unwrap();
        train(graph, folder.path(), &format!("--epochs 2 {flags}")).assert().success();
        let lines = metrics(&folder.path().join("run"));
        lines.iter().filter_map(|line| line["lock_turns"].as_u64()).collect::<Vec<_>>()
    };
    let homogeneous = repository("data/karate/karate.json");
    let norm = "--model sage --norm batch";
    let on_edges = "--model egat --edge-features-key weight";
    for (flags, expected) in [
        ("--model sage", 5),
        ("--model gat", 5),
        ("--model gat --mfg", 5),
        (norm, 7),
        (on_edges, 9),
    ] {
        assert_eq!(turns(&homogeneous, flags), [expected; 2], "{flags}");
        assert_eq!(turns(&uneven(), flags), [expected; 2], "{flags}");
    }
}

/// Flags with everything that has state: moments, the schedule, early stopping, dropout.
const STATEFUL: &str =
    "--lr 0.02 --patience 90 --schedule plateau --clip-norm 0.5 --checkpoint-every 3";

#[test]
fn a_resumed_run_ends_in_the_same_bits_whatever_its_memory() {
    let run = |epochs: &[u32], budget: &str| {
        resumed(&uneven(), &format!("{STATEFUL} --memory-budget {budget}"), epochs)
    };
    let whole = run(&[12], "1GiB");
    assert!(whole == run(&[12], "min"));
    assert!(whole == run(&[5, 8, 12], "1GiB"));
}

#[test]
fn early_stopping_keeps_the_best_rows_after_a_stop_too() {
    let folder = tempfile::tempdir().unwrap();
    let flags = "--lr 0.05 --dropout 0.2 --patience 5 --seed 4";
    train(&uneven(), folder.path(), flags).assert().success();
    let lines = metrics(&folder.path().join("run"));
    let (last, epochs) = lines.split_last().unwrap();
    let best = last["epoch"].as_u64().unwrap();
    assert_eq!(epochs.len() as u64, best + 5, "it has stopped early");
    let stopped = weights(folder.path());
    let short = tempfile::tempdir().unwrap();
    let flags = format!("--lr 0.05 --dropout 0.2 --seed 4 --epochs {best}");
    train(&uneven(), short.path(), &flags).assert().success();
    assert!(stopped == weights(short.path()));
    let resumed = tempfile::tempdir().unwrap();
    let flags = format!(
        "--lr 0.05 --dropout 0.2 --patience 5 --seed 4 --checkpoint-every 9 --epochs {}",
        best + 2
    );
    train(&uneven(), resumed.path(), &flags).assert().success();
    let mut command = Program::new();
    command.args(["--epochs", "100", "--resume"]).arg(resumed.path().join("run"));
    command.assert().success();
    assert!(stopped == weights(resumed.path()));
}

#[test]
fn predictions_are_those_of_the_weights_for_the_labelled_type() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    train(&uneven(), path, "--epochs 5").assert().success().stderr(contains(
        "note: each edge type has its own layer; nodes of type paper are predicted; without \
         features, and given learned rows: author",
    ));
    let logits = tensors(&predict(path, "logits.safetensors", &[])).remove("logits").unwrap();
    assert_eq!(logits.0, [14, 3]);
    // Learned rows are in the order of partitions.
    let other = repartitioned(path, 3, "range");
    let mut command = Program::new();
    command.arg("predict").arg("--run").arg(path.join("run")).arg("--part-json").arg(other);
    let error = command.arg("--out").arg(path.join("x.npy")).assert().code(1);
    error.stderr(contains("other partitions, with author 6+4 nodes instead of author 3+3+4"));
    // A step that starts from the weights has the same logits, also if DGL's model names each layer by canonical edge type.
    let again = tempfile::tempdir().unwrap();
    let written = again.path().join("step.safetensors");
    let canonical = again.path().join("canonical.safetensors");
    let weights = weights(path);
    let arrays = SafeTensors::deserialize(&weights).unwrap();
    let renamed = arrays
        .iter()
        .map(|(name, array)| (name.replace(".writes.", ".('author', 'writes', 'paper')."), array));
    std::fs::write(&canonical, safetensors::serialize(renamed, None).unwrap()).unwrap();
    for start in [path.join("run/model.safetensors"), canonical] {
        let mut command = step(&uneven(), again.path(), "--dropout 0 --overwrite", &written);
        command.arg("--init-params").arg(start).assert().success();
        assert_close("logits", &tensors(&file(&written))["logits"].1, &logits.1);
    }
    let weights = tensors(&weights);
    assert_eq!(weights["embeds.author.weight"].0, [10, 6]);
    assert_eq!(weights["linears.field.weight"].0, [6, 2]);
    assert!(weights.contains_key("convs.1.mods.('paper', 'links', 'author').fc_neigh.weight"));
}

#[test]
fn predictions_come_in_the_original_order_of_the_type() {
    let folder = tempfile::tempdir().unwrap();
    let graph = repartitioned(folder.path(), 3, "random");
    train(&graph, folder.path(), "--epochs 2").assert().success();
    let logits = |name: &str, flags: &[&str]| {
        let logits = tensors(&predict(folder.path(), name, flags)).remove("logits").unwrap();
        logits.1.chunks(3).map(<[f64]>::to_vec).collect::<Vec<_>>()
    };
    let ours = logits("a.safetensors", &["--order", "partition"]);
    let original = logits("b.safetensors", &[]);
    let config = PartitionConfig::open(&graph).unwrap();
    let places = (0..3).flat_map(|part| {
        let partition = Partition::open(&config, part).unwrap();
        original_places(&partition).unwrap()
    });
    // 10 authors and 4 fields come before the papers.
    let places: Vec<u64> = places.filter(|place| *place >= 14).map(|place| place - 14).collect();
    assert!(!places.is_sorted());
    for (row, place) in ours.iter().zip(&places) {
        assert_eq!(*row, original[*place as usize]);
    }
}

/// Types with features of different widths, and with learned rows.
#[test]
fn some_nodes_have_the_bits_of_all() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let graph = repartitioned(path, 3, "random");
    std::fs::write(path.join("list.txt"), "11\n0\n11\n4\n").unwrap();
    let list = path.join("list.txt").display().to_string();
    for model in
        ["--model sage", "--model gat --heads 2", "--model gatv2 --edge-features-key weight"]
    {
        train(&graph, path, &format!("{model} --epochs 2")).assert().success();
        for order in ["partition", "original"] {
            for output in ["logits", "embeddings"] {
                let flags = ["--order", order, "--output", output];
                let all = predict(path, "all.npy", &flags);
                let some = predict(path, "some.npy", &[&flags[..], &["--nodes", &list]].concat());
                let row = (all.len() - 128) / 14;
                let rows = [11, 0, 11, 4].map(|node| all[128 + node * row..][..row].to_vec());
                assert!(some[128..] == rows.concat(), "{model} {order} {output}");
            }
        }
        predict(path, "test.csv", &["--split", "test"]);
    }
}

#[test]
fn what_layers_per_edge_type_cannot_do_is_named() {
    let folder = tempfile::tempdir().unwrap();
    for (flags, flag) in [
        ("--model tag", "--model"),
        ("--model appnp", "--model"),
        ("--mfg --norm batch", "--mfg"),
        ("--mode sample --norm batch", "--norm"),
        ("--model sage --edge-features-key weight", "--edge-features-key"),
        ("--model egat", "--model"),
        ("--model egat --edge-features-key nothing", "nothing"),
        ("--features-key nothing", "nothing"),
        ("--label-key feat", "feat"),
    ] {
        let error = train(&uneven(), folder.path(), flags).assert().code(1);
        error.stderr(contains(format!("{flag}: "))).stderr(contains("hint: "));
        assert!(!folder.path().join("run/config.toml").exists(), "{flags}");
    }
}

/// Two edge types join papers; edges that both have count twice.
#[test]
fn correct_and_smooth_propagates_along_all_edges_between_predicted_nodes() {
    check_correct_and_smooth("hetero_smooth");
}

#[test]
fn correct_and_smooth_gives_some_nodes_the_bits_of_all() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    train(&repartitioned(path, 3, "random"), path, "--epochs 2").assert().success();
    std::fs::write(path.join("list.txt"), "11\n0\n11\n4\n").unwrap();
    let scores = |name: &str, flags: &[&str]| {
        let mut command = sar("correct-and-smooth", path, name);
        command.args(["--output", "logits", "--order", "original"]).args(flags);
        command.assert().success();
        file(&path.join(name))
    };
    let all = scores("all.npy", &[]);
    let some = scores("some.npy", &["--nodes", path.join("list.txt").to_str().unwrap()]);
    let row = (all.len() - 128) / 14;
    let rows = [11, 0, 11, 4].map(|node| all[128 + node * row..][..row].to_vec());
    assert!(some[128..] == rows.concat());
}

#[test]
fn correct_and_smooth_needs_edges_between_predicted_nodes() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let graph = without_features(path);
    train(&graph, path, "--epochs 1 --hetero sum").assert().success();
    let error = sar("correct-and-smooth", path, "x.npy").assert().code(1);
    error
        .stderr(contains("between nodes of the predicted type b, but the edge types"))
        .stderr(contains("a:r:b, b:s:a"))
        .stderr(contains("hint: use predict"));
    assert!(!path.join("x.npy").exists());
}

/// A graph of two node types, one of which has labels, that no edge type joins with itself.
fn without_features(folder: &Path) -> PathBuf {
    let out = folder.join("featureless");
    let mut command = Program::new();
    std::fs::write(folder.join("ab"), "0 1\n1 2\n2 0\n").unwrap();
    std::fs::write(folder.join("label"), "0\n1\n1\n").unwrap();
    command.current_dir(folder).args(["partition", "--num-parts", "2", "--out"]);
    command.arg(&out).args(["--edges", "a:r:b=ab", "--edges", "b:s:a=ab"]);
    let columns = ["--node-data", "b/label=label", "--node-data", "b/train_mask=label"];
    command.args(columns).assert().success();
    out.join("g.json")
}

#[test]
fn a_graph_with_features_of_one_width_is_homogeneous_unless_asked_otherwise() {
    let folder = tempfile::tempdir().unwrap();
    let graph = repository("tests/fixtures/hetero/g.json");
    let shapes = |flags: &str| -> HashMap<String, Vec<i64>> {
        let keys = "--epochs 1 --task regression --label-key age --train-mask-key age";
        train(&graph, folder.path(), &format!("{keys} {flags}")).assert().success();
        let weights = tensors(&weights(folder.path()));
        weights.into_iter().map(|(key, (shape, _))| (key, shape)).collect()
    };
    assert_eq!(shapes("")["convs.0.fc_neigh.weight"], [6, 2]);
    let by_type = shapes("--hetero mean");
    assert_eq!(by_type["convs.1.mods.writes.fc_neigh.weight"], [1, 6]);
    assert_eq!(by_type["linears.author.weight"], [6, 2]);
    let error = train(&graph, folder.path(), "--hetero sum --label-key feat").assert().code(1);
    error.stderr(contains("several node types have labels (author, paper)"));
    // Without any features there are only learned rows.
    let graph = without_features(folder.path());
    let error = train(&graph, folder.path(), "--epochs 1").assert().code(1);
    error.stderr(contains("--hetero sum"));
    train(&graph, folder.path(), "--epochs 1 --hetero sum").assert().success();
}
