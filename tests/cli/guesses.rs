//! Names that PyTorch, DGL, PyG, Lightning and others use: the tip of each.

use std::fmt::Write;

use super::program::Program;

/// A line per guess, which comes last on the command line: the guess and its tip.
fn tips(before: &str, guesses: &str) -> String {
    let mut lines = String::new();
    for guess in guesses.split_whitespace() {
        let words = before.split_whitespace().chain(guess.split('~'));
        let output = Program::new().args(words).output().unwrap();
        let error = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{guess}: {error}");
        let tips: Vec<&str> =
            error.lines().filter_map(|line| line.strip_prefix("  tip: ")).collect();
        assert_eq!(tips.len(), 1, "{guess}: {error}");
        assert!(tips[0].len() <= 73, "{} letters: {}", tips[0].len(), tips[0]);
        writeln!(lines, "{:24} {}", guess.replace('~', " "), tips[0]).unwrap();
    }
    lines
}

const COMMANDS: &str = "run fit import convert metis resume restart stop kill evaluate test infer embed info stats \
    watch ls plot estimate init demo gc version";
const PARTITION: &str = "--num-partitions=4 --k=4 --edge-list=e --edge_index=e --nodes=n --features=x --labels=y \
    --train-mask=m --part-method=metis --to-bidirected --add-self-loops --coalesce --sep=, --src=a --dst=b --etype=t \
    --weight=w --id-col=id --output-dir=o --dataset=d --force -o~parts -num-parts~4 \
    --method=METIS --method=parmetis";

#[test]
fn commands_and_flags_of_partition() {
    insta::assert_snapshot!(tips("", COMMANDS) + &tips("partition", PARTITION));
}

#[cfg(feature = "torch")]
const TRAINING: &str = "--learning-rate=0.1 --learning_rate=0.1 --num-epochs=3 --max_epochs=3 --wd=0 --hidden-channels=8 \
    --hidden_dim=8 --num-layers=2 --num-heads=2 --feat-drop=0 --attn-drop=0 --aggr=mean --num-bases=2 --batch-norm \
    --early-stopping --optim=sgd --momentum=0.9 --scheduler=step --gradient-clip-val=1 --loss=ce --monitor=val \
    --eval-interval=5 --manual-seed=1 --num-neighbors=10 --fan-out=10 --bs=64 --num-workers=4 --shuffle \
    --num-parts=4 --k=4 --device=cuda --gpu --accelerator=cpu --precision=16 --amp --num-threads=2 --mem=3GiB \
    --tmpdir=/tmp --local-rank=0 --strategy=ddp --dataset=cora --label=y --feat=x --train-split=0.8 \
    --num-classes=7 --output-dir=o --force --save-every=5 --ckpt-path=c --wandb --log-interval=1 --profiler=p \
    --dry-run --num-negs=5 --decoder=dot --val-ratio=0.1 --lr-step-size=3 --lr-gamma=0.5 --lr-t-max=20 --lr-min=0 --lr-factor=0.5 --lr-patience=5 \
    --T_max=20 --min_lr=0 --val-fraction=0.05 --test-fraction=0.1 --edges=e.csv -o~run -e~5 -lr~0.1 --model=GraphSAGE \
    --model=SAGE --model=SAGEConv --model=GATConv --model=GCNII --task=link_prediction --task=node-classification \
    --norm=BatchNorm1d --schedule=CosineAnnealingLR --compute-dtype=bfloat16 --mode=mini-batch --optimizer=Adam";
#[cfg(feature = "torch")]
const FILES: &str = "--edges=e.csv --part-json=g.json --resume=r --ogb=d --dataset=d --part-method=metis --force --memory=3GiB --labels=y --learning-rate=0.1";
#[cfg(feature = "torch")]
const PREDICTION: &str =
    "runs/x --checkpoint=c --model=m --proba --embeddings --k=5 --links=p -o~x.csv";

#[cfg(feature = "torch")]
#[test]
fn flags_of_training_and_of_predictions() {
    let all = tips("--part-json g.json", TRAINING)
        + &tips("train edges.csv", FILES)
        + &tips("predict", PREDICTION);
    let definition = sar::cli::definition();
    let commands = || std::iter::once(&definition).chain(definition.get_subcommands());
    let flags =
        || commands().flat_map(clap::Command::get_arguments).filter_map(clap::Arg::get_long);
    for line in all.lines() {
        let named = line[24..].split_whitespace().filter_map(|word| word.strip_prefix("--"));
        for name in named.map(|name| name.trim_end_matches([':', ',', ';'])) {
            assert!(flags().any(|flag| flag == name), "there is no --{name}: {line}");
        }
    }
    insta::assert_snapshot!(all);
}

#[test]
fn a_missing_source_of_the_graph_is_asked_for_with_all_that_there_are() {
    let output = Program::new().args(["partition"]).output().unwrap();
    let error = String::from_utf8(output.stderr).unwrap();
    assert!(
        error.contains("\n  files of edges, or one of --part-json, --ogb, --chunked, --npz\n"),
        "{error}"
    );
}
