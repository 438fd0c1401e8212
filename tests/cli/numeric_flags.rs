//! Every flag that takes a number, with numbers that make no sense: it works, or the command refuses it at once by its name.

use std::any::TypeId;
use std::path::Path;
use std::process::Output;

use sar::nn::ModelKind;

use super::common::karate;
use super::program::Program;

const VALUES: [&str; 6] = ["-1", "0", "nan", "inf", "1e308", "9223372036854775808"];

/// Flags that take numbers among other values.
const ALSO: [&str; 4] = ["fanouts", "eval-fanouts", "memory-budget", "class-weights"];

/// Settings that take numbers, and their flags.
const SETTINGS: [(&str, &str); 9] = [
    ("schedule", "step,step_size"),
    ("schedule", "step,step_size=1,gamma"),
    ("schedule", "cosine,t_max"),
    ("schedule", "cosine,min"),
    ("schedule", "plateau,factor"),
    ("schedule", "plateau,patience"),
    ("schedule", "plateau,min"),
    ("split", "val"),
    ("split", "test"),
];

/// Names of the flags of a command that take numbers.
fn numeric(command: &clap::Command) -> Vec<String> {
    let numbers = [
        TypeId::of::<f64>(),
        TypeId::of::<u32>(),
        TypeId::of::<u64>(),
        TypeId::of::<usize>(),
        TypeId::of::<i64>(),
    ];
    let flags = command.get_arguments().filter(|flag| {
        let ty = flag.get_value_parser().type_id();
        numbers.iter().any(|number| ty == *number)
            || flag.get_long().is_some_and(|name| ALSO.contains(&name))
    });
    flags.filter_map(|flag| flag.get_long().map(str::to_owned)).collect()
}

/// Flags without which another one has no meaning.
fn context(flag: &str) -> String {
    let declares = |kind: &ModelKind| kind.spec().options.iter().any(|option| option.flag == flag);
    if let Some(kind) = ModelKind::all().into_iter().find(declares) {
        return format!("--model {}", kind.spec().name);
    }
    let others = match flag {
        "eval-fanouts" => "--mode sample --eval-every 1",
        "fanouts" | "batch-size" | "sampler-threads" | "log-every" => "--mode sample",
        "negatives" | "split" => "--mode sample --task link",
        _ => "",
    };
    others.to_owned()
}

/// Runs a command; none of them takes longer than the limit.
fn run(words: &[String]) -> Output {
    Program::new().args(words).limit(100).output().unwrap()
}

fn words(text: &str) -> Vec<String> {
    text.split_whitespace().map(str::to_owned).collect()
}

fn assert_works_or_names(flag: &str, value: &str, mut words: Vec<String>) {
    words.extend([format!("--{flag}"), value.to_owned()]);
    let output = run(&words);
    let stderr = String::from_utf8_lossy(&output.stderr);
    let fine = match output.status.code() {
        Some(0) => true,
        Some(1 | 2) => stderr.contains(&format!("--{flag}")),
        _ => false,
    };
    assert!(fine, "--{flag} {value} gives {:?}: {stderr}", output.status);
}

fn training(folder: &Path, flag: &str) -> Vec<String> {
    let epochs = if flag == "epochs" { "" } else { "--epochs 1" };
    let hidden = if flag == "hidden" { "" } else { "--hidden 8" };
    words(&format!(
        "--part-json {} --out {2}/out --spill-dir {2}/spill {epochs} {hidden} {1}",
        karate().display(),
        context(flag),
        folder.display()
    ))
}

#[test]
fn numbers_of_a_training_that_make_no_sense_are_refused_by_flag() {
    let command = sar::cli::definition();
    let flags = numeric(&command);
    assert!(flags.len() + SETTINGS.len() > 30, "{flags:?}");
    for value in VALUES {
        for flag in &flags {
            let folder = tempfile::tempdir().unwrap();
            assert_works_or_names(flag, value, training(folder.path(), flag));
        }
        for (flag, setting) in SETTINGS {
            let folder = tempfile::tempdir().unwrap();
            let value = format!("{setting}={value}");
            assert_works_or_names(flag, &value, training(folder.path(), flag));
        }
    }
}

#[test]
fn numbers_of_other_commands_that_make_no_sense_are_refused_by_flag() {
    let folder = tempfile::tempdir().unwrap();
    let trained = training(folder.path(), "");
    assert!(run(&trained).status.success());
    let edges = folder.path().join("edges.csv");
    std::fs::write(&edges, "0,1\n1,2\n2,0\n").unwrap();
    for command in sar::cli::definition().get_subcommands() {
        let name = command.get_name().to_owned();
        for flag in numeric(command) {
            for value in VALUES {
                let own = tempfile::tempdir().unwrap();
                let out = own.path().join("out");
                let rest = match &*name {
                    "generate" => format!("--nodes 20 --edges 40 --out {}", out.display()),
                    "partition" => {
                        let parts = if flag == "num-parts" { "" } else { "--num-parts 2" };
                        format!("--edges {} --out {} {parts}", edges.display(), out.display())
                    }
                    "export" => format!("{} --out {}", karate().display(), out.display()),
                    "predict" | "correct-and-smooth" => {
                        let run = folder.path().join("out");
                        format!("--run {} --out {}.npy", run.display(), out.display())
                    }
                    "report" => {
                        let run = folder.path().join("out");
                        format!("{} --out {}.html", run.display(), out.display())
                    }
                    // They have the flags of training, and check them in the same place.
                    "plan" | "train" => continue,
                    other => panic!("how is {other} run?"),
                };
                let rest = match (&*name, &*flag) {
                    ("generate", "nodes") => rest.replace("--nodes 20", ""),
                    ("generate", "edges") => rest.replace("--edges 40", ""),
                    _ => rest,
                };
                assert_works_or_names(&flag, value, words(&format!("{name} {rest}")));
            }
        }
    }
}
