//! Runs of the built binary that train a layer per edge type on sampled neighbourhoods, with learned rows on disk: the curve of
//! the full graph where all neighbours are drawn, the same bits whatever runs them and after a stop, and options that are
//! refused.
#![cfg(feature = "torch")]
#![allow(clippy::unwrap_used)]

mod common;
#[path = "common/karate.rs"]
#[allow(dead_code)]
mod karate;
#[path = "common/program.rs"]
mod program;
#[path = "common/uneven.rs"]
mod uneven;

use std::path::Path;

use common::{epochs, metrics};
use karate::{assert_close, tensors};
use predicates::str::contains;
use uneven::{repartitioned, resumed, step, train, uneven, weights};

use program::Program;

fn losses(folder: &Path) -> Vec<f64> {
    let epochs = epochs(&folder.join("run"));
    epochs.iter().map(|line| line["loss"].as_f64().unwrap()).collect()
}

#[test]
fn a_batch_of_everything_gives_the_full_graphs_curve() {
    let folder = tempfile::tempdir().unwrap();
    let graph = repartitioned(folder.path(), 1, "range");
    for (model, fanouts) in [
        ("sage --edge-weight-key weight", "-1,-1"),
        (
            "gcn --gcn-norm both",
            "writes=-1,-1;of=-1,-1;paper:links:author=-1,-1;paper:links:paper=50,-1",
        ),
        ("gat --heads 2 --hetero mean", "30,-1"),
        ("gatv2 --heads 2 --edge-features-key weight", "-1,-1"),
        ("egat --edge-features-key weight", "-1,-1"),
        ("gin --learn-eps", "-1,-1"),
        ("rgcn --bases 2", "-1,-1"),
    ] {
        // Small steps: Adam makes whole ones of gradients that are only rounding errors.
        let flags = format!("--epochs 4 --lr 0.005 --dropout 0 --model {model}");
        train(&graph, folder.path(), &flags).assert().success();
        let (curve, full) = (losses(folder.path()), tensors(&weights(folder.path())));
        let mut command = train(&graph, folder.path(), &flags);
        command.args(["--mode", "sample", "--fanouts", fanouts]).assert().success();
        assert_close(model, &losses(folder.path()), &curve);
        let ours = tensors(&weights(folder.path()));
        assert_eq!(ours.len(), full.len());
        for (key, (shape, values)) in &full {
            assert_eq!(&ours[key].0, shape);
            // Some gradients of attention are only rounding errors, of which Adam makes whole steps.
            // Biases of attention have such gradients only.
            if !model.contains("gat") {
                assert_close(&format!("{model} {key}"), &ours[key].1, values);
            }
        }
    }
}

/// Flags with everything that has state: dropout, moments, the schedule, early stopping.
const STATEFUL: &str = "--mode sample --fanouts 2,3 --batch-size 2 --dropout 0.3 --lr 0.02 --seed 5 --patience 90 \
                        --schedule plateau --clip-norm 0.5 --checkpoint-every 1";

#[test]
fn the_same_seed_gives_the_same_weights_whatever_runs_them() {
    let source = tempfile::tempdir().unwrap();
    let graph = repartitioned(source.path(), 3, "range");
    let run = |more: &str| {
        let folder = tempfile::tempdir().unwrap();
        let flags = format!("{STATEFUL} --epochs 3 {more}");
        train(&graph, folder.path(), &flags).assert().success();
        assert!(!folder.path().join("spill").exists());
        weights(folder.path())
    };
    let whole = run("--memory-budget 1GiB");
    for more in [
        "--memory-budget min",
        "--sampler-threads 0",
        "--sampler-threads 3 --threads 1",
        "--resident 3",
    ] {
        assert!(run(more) == whole, "{more}");
    }
    for more in ["--seed 6", "--replace", "--edge-prob weight", "--reduce sum"] {
        assert!(run(more) != whole, "{more}");
    }
}

#[test]
fn a_resumed_run_ends_in_the_same_bits() {
    let run = |epochs: &[u32]| resumed(&uneven(), STATEFUL, epochs);
    assert!(run(&[9]) == run(&[2, 7, 9]));
}

#[test]
fn early_stopping_keeps_the_best_rows_and_predictions_are_theirs() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let flags = "--mode sample --fanouts 4,4 --batch-size 3 --lr 0.05 --seed 2";
    let stopping = format!("{flags} --patience 4");
    train(&uneven(), path, &stopping).assert().success();
    let lines = metrics(&path.join("run"));
    let (last, epochs) = lines.split_last().unwrap();
    let best = last["epoch"].as_u64().unwrap();
    assert_eq!(epochs.len() as u64, best + 4, "it has stopped early");
    let stopped = weights(path);
    let short = tempfile::tempdir().unwrap();
    let flags = format!("{flags} --epochs {best}");
    train(&uneven(), short.path(), &flags).assert().success();
    assert!(stopped == weights(short.path()));

    let mut command = Program::new();
    command.args(["predict", "--output", "logits", "--run"]).arg(path.join("run"));
    command.arg("--out").arg(path.join("logits.safetensors")).assert().success();
    let logits = std::fs::read(path.join("logits.safetensors")).unwrap();
    let logits = tensors(&logits).remove("logits").unwrap();
    assert_eq!(logits.0, [14, 3]);
    // Training on the full graph that starts from these weights has the same logits.
    let written = path.join("step.safetensors");
    let start = path.join("run/model.safetensors");
    let mut command = step(&uneven(), short.path(), "--dropout 0", &written);
    command.arg("--init-params").arg(&start).assert().success();
    assert_close("logits", &tensors(&std::fs::read(&written).unwrap())["logits"].1, &logits.1);
    // Training on samples that starts from these weights, with a learning rate of 0, ends with them.
    let mut command = train(&uneven(), short.path(), "--mode sample --lr 0 --epochs 1");
    command.arg("--init-params").arg(&start).assert().success();
    let again = tensors(&weights(short.path()));
    assert_eq!(again["embeds.author.weight"], tensors(&stopped)["embeds.author.weight"]);
}

#[test]
fn what_makes_no_sense_is_named_with_its_remedy() {
    let folder = tempfile::tempdir().unwrap();
    let types = "author:writes:paper, field:of:paper, paper:links:author, paper:links:paper";
    for (flags, problem, remedy) in [
        ("--fanouts 5", "1 fan-outs for 2 layers", "one per layer"),
        ("--fanouts writes=1,2", "edge type field:of:paper is missing", types),
        ("--fanouts writes=1,2;of=1,2;links=1,2", "links is ambiguous", types),
        ("--fanouts writes=1,2;cites=1,2", "cites is unknown", types),
        ("--fanouts writes=1,2;of=1", "1 fan-outs of of for 2 layers", "one per layer"),
        (
            "--edge-prob nothing",
            "nothing: does not match any feature",
            "it holds: author:writes:paper/weight",
        ),
        ("--dump-step x.safetensors", "--dump-step", "leave out --mode sample"),
        ("--task link --edge-prob weight --hetero sum", "--edge-prob", "leave it out"),
        ("--model tag", "--model", "use --model sage"),
    ] {
        let flags = format!("--mode sample {flags}");
        let error = train(&uneven(), folder.path(), &flags).assert().code(1);
        error.stderr(contains(problem)).stderr(contains("hint: ")).stderr(contains(remedy));
        assert!(!folder.path().join("run/config.toml").exists(), "{flags}");
    }
    for flags in ["--fanouts links", "--fanouts =3", "--fanouts writes=1;writes=2"] {
        let flags = format!("--mode sample {flags}");
        train(&uneven(), folder.path(), &flags).assert().code(2);
    }
    for flag in ["--replace", "--edge-prob weight"] {
        let error = train(&uneven(), folder.path(), flag).assert().code(1);
        error.stderr(contains("add --mode sample"));
    }
}

#[test]
fn edges_are_drawn_with_the_probabilities_that_a_feature_holds() {
    // All edges into b0 except the one from a1 have probability 0, so each draw takes all neighbours of a graph without those
    // edges.
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let write = |name: &str, text: &str| std::fs::write(path.join(name), text).unwrap();
    write("ab", "0 0\n1 0\n2 0\n0 1\n2 1\n1 2\n");
    write("only", "1 0\n0 1\n1 2\n");
    write("ba", "0 0\n1 1\n2 2\n");
    write("p", "0\n5\n0\n0.5\n0\n1\n");
    write("ones", "1\n1\n1\n");
    write("bad", "1\n1\n-2\n1\n1\n1\n");
    write("label", "0\n1\n1\n");
    let partition = |name: &str, edges: &str, probabilities: &[&str]| {
        let mut command = Program::new();
        command.current_dir(path).args(["partition", "--num-parts", "1", "--out", name]);
        command.args(["--edges", &format!("a:r:b={edges}"), "--edges", "b:s:a=ba"]);
        for data in probabilities {
            command.args(["--edge-data", data]);
        }
        command.args(["--node-data", "b/label=label", "--node-data", "b/train_mask=ones"]);
        command.assert().success();
        path.join(name).join("g.json")
    };
    let weighted = partition("weighted", "ab", &["a:r:b/p=p", "b:s:a/p=ones"]);
    let expected = partition("expected", "only", &[]);
    let flags = "--hetero sum --mode sample --dropout 0 --epochs 4 --fanouts";
    train(&expected, path, &format!("{flags} -1,-1")).assert().success();
    let curve = losses(path);
    train(&weighted, path, &format!("{flags} 2,2 --edge-prob p")).assert().success();
    assert_close("losses", &losses(path), &curve);
    train(&weighted, path, &format!("{flags} 2,2")).assert().success();
    assert_ne!(losses(path), curve);
    let bad = partition("bad-values", "ab", &["a:r:b/p=bad", "b:s:a/p=ones"]);
    let error = train(&bad, path, &format!("{flags} 2,2 --edge-prob p")).assert().code(1);
    let error =
        error.stderr(contains("edge_feat.dgl: p: holds -2, but a probability must be finite"));
    error.stderr(contains("hint: name another edge feature"));
}
