//! Models, and the operations between their layers, as flags.

use std::path::Path;

use predicates::str::{contains, starts_with};
use sar::nn::{ModelKind, OptionValues};

use super::common::{epochs, metrics, repository};
use super::program::Program;

fn sar(folder: &Path, flags: &str) -> Program {
    let mut command = Program::new();
    command.args(flags.split_whitespace()).arg("--spill-dir").arg(folder);
    command
}

fn train(folder: &Path, flags: &str) -> Program {
    let mut command = sar(folder, flags);
    command.arg("--part-json").arg(repository("data/karate/karate.json"));
    command.arg("--overwrite").arg("--out").arg(folder.join("run"));
    command
}

#[test]
fn combinations_that_make_no_sense_are_named() {
    let folder = tempfile::tempdir().unwrap();
    for (flags, problem) in [
        ("--mfg --norm batch", "--mfg"),
        ("--model sgc --norm layer", "--norm has no effect with --model sgc"),
        ("--model appnp --residual", "--residual has no effect with --model appnp"),
        ("--model appnp --alpha 1.5", "--alpha"),
        ("--model sgc --hops 0", "--hops"),
        ("--model sign --task link", "only once"),
        ("--model sign --mode sample --fanouts 2", "--fanouts has no effect with --model sign"),
        ("--model sgc --batch-size 4 --mfg", "only labelled nodes are kept"),
        ("--model appnp --edge-weight-key weight --mode sample", "full graph"),
        ("--model gat --edge-weight-key weight", "take no edge weights"),
        ("--model rgcn --blocks 0", "--blocks: must be 1 or more, not 0"),
        ("--model sage --edge-features-key weight", "take no edge features"),
        ("--init pyg --init-params x", "--init: no initial weights are drawn with --init-params"),
        ("--model egat", "--model: egat needs edge features"),
        ("--model egat --edge-features-key wait", "weight"),
        ("--model tag --hetero sum", "its own layer"),
    ] {
        train(folder.path(), flags).assert().code(1).stderr(contains(problem));
    }
}

/// Flags come from the descriptions of models, and so does what they are refused with.
#[test]
fn an_option_of_another_model_is_refused_by_name() {
    let folder = tempfile::tempdir().unwrap();
    for option in ModelKind::all().iter().flat_map(|kind| kind.spec().options) {
        let value = match option.values {
            OptionValues::Switch => String::new(),
            OptionValues::Words(words) => format!("={}", words[0].name),
            OptionValues::Whole { .. } => "=1".to_owned(),
            OptionValues::Share | OptionValues::Probability | OptionValues::Positive => {
                "=0.5".to_owned()
            }
        };
        let declares =
            |kind: &ModelKind| kind.spec().options.iter().any(|own| own.flag == option.flag);
        let other = ModelKind::all().into_iter().find(|kind| !declares(kind)).unwrap();
        let flags = format!("--model {} --{}{value}", other.spec().name, option.flag);
        let refused = format!("error: --{} has no effect with --model", option.flag);
        train(folder.path(), &flags).assert().code(1).stderr(starts_with(refused));
    }
}

#[test]
fn the_book_has_a_row_for_every_model() {
    let page = std::fs::read_to_string(repository("docs/src/models.md")).unwrap();
    for kind in ModelKind::all() {
        let spec = kind.spec();
        let row = page.lines().find(|l| l.starts_with('|') && names(l, "--model", spec.name));
        let row = row.unwrap_or_else(|| panic!("no row for --model {}", spec.name));
        for option in spec.options {
            assert!(row.contains(&format!("--{}", option.flag)), "{row}: no --{}", option.flag);
        }
    }
}

/// Whether a line has a flag with this value.
fn names(line: &str, flag: &str, value: &str) -> bool {
    line.match_indices(&format!("{flag} {value}")).any(|(at, found)| {
        !line[at + found.len()..].starts_with(|c: char| c.is_alphanumeric() || c == '-')
    })
}

/// The simulator found this: one rank took its aggregate of the features from the first epoch and the other computed it again.
#[test]
fn message_flow_graphs_that_differ_between_ranks_train_gin() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, content: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, content).unwrap();
        path.display().to_string()
    };
    // All sources of the first rank are labelled; the second has one that is not.
    let edges = file("edges.txt", "3 2\n2 1\n1 0\n0 1\n");
    let partition = [
        "partition --num-parts 2 --method file --edges".to_owned(),
        edges,
        format!("--assignment {}", file("assignment.txt", "0\n0\n1\n1\n")),
        format!("--node-data feat={}", file("feat.txt", "0.5\n0.25\n1.5\n0.125\n")),
        format!("--node-data label={}", file("label.txt", "0\n1\n0\n1\n")),
        format!("--split train={}", file("train.txt", "0\n1\n2\n")),
        format!("--out {}", folder.path().join("graph").display()),
    ];
    let mut command = Program::new();
    command.args(partition.join(" ").split_whitespace()).assert().success();
    let mut command = sar(&folder.path().join("spill"), "--mfg --model gin --layers 1 --epochs 3");
    command.arg("--part-json").arg(folder.path().join("graph/g.json"));
    command.arg("--out").arg(folder.path().join("run")).assert().success();
}

#[test]
fn sgc_and_sign_exchange_nothing_but_gradients() {
    for model in ["sgc", "sign"] {
        let folder = tempfile::tempdir().unwrap();
        let flags = format!("--hops 3 --epochs 3 --model {model}");
        train(folder.path(), &flags).assert().success();
        let epochs = epochs(&folder.path().join("run"));
        let turns: Vec<_> =
            epochs.iter().map(|epoch| epoch["lock_turns"].as_u64().unwrap()).collect();
        assert_eq!(turns, [1, 1, 1], "{model}");
    }
}

/// DGL's `SGConv` draws its weights by `torch.nn.init.xavier_uniform_` with gain 1, and its bias is 0.
#[test]
fn sgc_starts_with_the_weights_of_dgl() {
    let folder = tempfile::tempdir().unwrap();
    // A step of almost no length keeps the start weights.
    let flags = "--model sgc --optimizer sgd --lr 1e-12 --epochs 1";
    train(folder.path(), flags).assert().success();
    let bytes = std::fs::read(folder.path().join("run/model.safetensors")).unwrap();
    let file = safetensors::SafeTensors::deserialize(&bytes).unwrap();
    let [weight, bias] = ["weight", "bias"].map(|name| {
        let tensor = file.tensor(&format!("convs.0.fc.{name}")).unwrap();
        let values = tensor.data().as_chunks::<4>().0.iter();
        values.map(|value| f32::from_le_bytes(*value).abs()).fold(0.0, f32::max)
    });
    // 34 features and 2 classes.
    let bound = (6.0_f32 / 36.0).sqrt();
    assert!(0.8 * bound < weight && weight < 1.001 * bound, "{weight} of {bound}");
    assert!(bias < 1e-6, "{bias}");
}

#[test]
fn message_flow_graphs_and_one_shot_aggregation_serve_the_models_that_propagate() {
    let losses = |flags: &str| {
        let folder = tempfile::tempdir().unwrap();
        let dropout = if flags.contains("sgc") { "" } else { "--dropout 0" };
        let flags = format!("{flags} --epochs 2 {dropout}");
        train(folder.path(), &flags).assert().success();
        let lines = metrics(&folder.path().join("run"));
        lines.iter().map(|line| line["loss"].as_f64().unwrap()).collect::<Vec<_>>()
    };
    let weighted = "--model appnp --hops 3 --edge-weight-key weight";
    let stack = "--jk max --norm layer --residual";
    for model in ["--model appnp --hops 3", weighted, "--model sgc", "--model sign", stack] {
        let full = losses(model);
        for mode in ["--mfg", "--one-shot"] {
            let other = losses(&format!("{model} {mode}"));
            let pairs = full.iter().zip(&other);
            let close = pairs.into_iter().all(|(a, b)| (a - b).abs() < 1e-5 * (1.0 + a.abs()));
            assert!(close && full.len() == other.len(), "{model} {mode}: {other:?}, not {full:?}");
        }
    }
}

#[test]
fn correct_and_smooth_is_for_classes_and_needs_their_labels() {
    let folder = tempfile::tempdir().unwrap();
    let output = folder.path().join("classes.npy");
    let run = |more: &[&str]| {
        let mut command = sar(folder.path(), "correct-and-smooth");
        command.arg("--run").arg(folder.path().join("run")).arg("--out").arg(&output).args(more);
        command.assert()
    };
    train(folder.path(), "--task regression --epochs 1").assert().success();
    run(&[]).code(1).stderr(contains("one class per node"));
    train(folder.path(), "--model appnp --epochs 1").assert().success();
    run(&["--smoothing-alpha", "2"]).code(1).stderr(contains("from 0 to 1"));
    assert!(!output.exists());
    run(&[]).success();
    assert!(output.exists());
}
