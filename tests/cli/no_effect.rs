//! Flags that change nothing are refused: every flag, with every model, in every mode. Flags, models and values are those of the
//! parser's definitions.

use std::ffi::OsString;

use clap::{Arg, ArgAction, Command};
use sar::cli::{configuration, definition};
use sar::run::config::{Mode, RunConfig};

use super::common::repository;

/// Values that some flag takes, for flags that do not list theirs.
const VALUES: [&str; 10] =
    ["2", "3", "0.25", "1", "key", "balanced", "2,2,2", "2GiB", "/tmp/x", "val=25%"];

/// Ways to train, as flags.
const MODES: [&str; 8] = [
    "",
    "--mode sample",
    "--mode sample --task link",
    "--mfg",
    "--one-shot",
    "--hetero sum",
    "--compute-dtype bf16",
    "--dump-step /tmp/x.safetensors",
];

/// The fate of a command line.
enum Outcome {
    /// A message of the parser.
    Usage(String),
    /// An error that refuses it.
    Refused(String),
    /// A run.
    Run(Box<RunConfig>),
}

fn outcome(definition: &mut Command, words: &[String]) -> Outcome {
    let words = std::iter::once("sar-single").chain(words.iter().map(String::as_str));
    match configuration(definition, words.map(OsString::from)) {
        Err(error) => Outcome::Usage(error.to_string()),
        Ok(Err(error)) => Outcome::Refused(error.to_string()),
        Ok(Ok(config)) => match Mode::of(&config) {
            Err(error) => Outcome::Refused(error.to_string()),
            Ok(_) => Outcome::Run(Box::new(config)),
        },
    }
}

fn words(text: &str) -> Vec<String> {
    text.split_whitespace().map(str::to_owned).collect()
}

fn flags(command: &Command) -> Vec<Arg> {
    let flags = command.get_arguments().filter(|flag| {
        let name = flag.get_long();
        name.is_some_and(|name| {
            !matches!(
                name,
                "help"
                    | "help-all"
                    | "version"
                    | "part-json"
                    | "resume"
                    // Not of the configuration, but of the folder that results go to.
                    | "overwrite"
                    | "json"
                    | "quiet"
                    | "verbose"
                    | "disk-endurance"
            )
        })
    });
    flags.cloned().collect()
}

/// The command lines of a flag with each of its values.
fn uses(flag: &Arg) -> Vec<Vec<String>> {
    let name = format!("--{}", flag.get_long().unwrap());
    if matches!(flag.get_action(), ArgAction::SetTrue) {
        return vec![vec![name]];
    }
    let possible = flag.get_possible_values();
    let values: Vec<String> = match possible[..] {
        [] => VALUES.map(str::to_owned).to_vec(),
        _ => possible.iter().map(|value| value.get_name().to_owned()).collect(),
    };
    values.into_iter().map(|value| vec![name.clone(), value]).collect()
}

/// Adds to `wrong` if the flag is taken with some value, and no value changes the run.
fn check(
    definition: &mut Command,
    base: &[String],
    run: &RunConfig,
    flag: &Arg,
    wrong: &mut Vec<String>,
) {
    let (mut taken, mut matters, mut parsed) = (false, false, false);
    for more in uses(flag) {
        match outcome(definition, &[base, &more].concat()) {
            Outcome::Usage(_) => continue,
            Outcome::Run(config) if effective(&config) == effective(run) => taken = true,
            Outcome::Refused(_) | Outcome::Run(_) => matters = true,
        }
        parsed = true;
    }
    if taken && !matters {
        wrong.push(format!("{} changes nothing in {}", flag.get_long().unwrap(), base.join(" ")));
    }
    if !parsed {
        wrong.push(format!(
            "no value of {} is parsed in {}",
            flag.get_long().unwrap(),
            base.join(" ")
        ));
    }
}

/// The configuration without what a run that ends after its first step does not look at.
fn effective(config: &RunConfig) -> RunConfig {
    if config.dump_step.is_none() {
        return config.clone();
    }
    let plain = RunConfig::new("", "");
    RunConfig {
        optimizer: plain.optimizer,
        schedule: plain.schedule,
        clip_norm: plain.clip_norm,
        patience: plain.patience,
        on_nan: plain.on_nan,
        checkpoint_every: plain.checkpoint_every,
        ..config.clone()
    }
}

/// Whether a command line has a flag, whose repetition need not change the run.
fn stands_in(flag: &Arg, base: &[String]) -> bool {
    let name = flag.get_long().unwrap();
    name != "memory-budget" && base.contains(&format!("--{name}"))
}

/// Names of the values of a flag.
fn values_of(flags: &[Arg], name: &str) -> Vec<String> {
    let flag = flags.iter().find(|flag| flag.get_long() == Some(name)).unwrap();
    flag.get_possible_values().iter().map(|value| value.get_name().to_owned()).collect()
}

#[test]
fn every_flag_changes_the_run_or_is_refused() {
    let mut definition = definition();
    let flags = flags(&definition);
    assert!(flags.len() > 50, "{}", flags.len());
    let json = repository("data/karate/karate.json").display().to_string();
    let mut contexts: Vec<String> = values_of(&flags, "model")
        .iter()
        .flat_map(|model| MODES.map(|mode| format!("--model {model} {mode}")))
        .collect();
    for schedule in values_of(&flags, "schedule") {
        let needed = if schedule == "step" { ",step_size=5" } else { "" };
        contexts.push(format!("--schedule {schedule}{needed}"));
    }
    let (mut runs, mut wrong) = (0, Vec::new());
    for context in contexts {
        // The usual budget is half of what is free, which changes.
        let mut base = words(&format!("{context} --memory-budget min --part-json"));
        base.push(json.clone());
        let Outcome::Run(run) = outcome(&mut definition, &base) else { continue };
        runs += 1;
        for flag in flags.iter().filter(|flag| !stands_in(flag, &base)) {
            check(&mut definition, &base, &run, flag, &mut wrong);
        }
    }
    assert!(runs > 35, "{runs} combinations of model and mode");
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn a_plan_takes_the_flags_of_training_and_refuses_those_of_results() {
    let mut definition = definition();
    let plan = definition.find_subcommand("plan").unwrap().clone();
    let json = repository("data/karate/karate.json").display().to_string();
    let base = [words("plan --memory-budget min --part-json"), vec![json]].concat();
    let Outcome::Run(run) = outcome(&mut definition, &base) else { panic!() };
    let mut wrong = Vec::new();
    for flag in flags(&plan) {
        let name = flag.get_long().unwrap();
        if matches!(name, "out" | "overwrite" | "checkpoint-every" | "dump-step") {
            for more in uses(&flag) {
                match outcome(&mut definition, &[&base[..], &more].concat()) {
                    Outcome::Usage(_) => {}
                    Outcome::Refused(error) => {
                        assert!(error.contains(&format!("--{name} has no effect with plan")));
                    }
                    Outcome::Run(_) => wrong.push(format!("{name} is taken by plan")),
                }
            }
        } else {
            check(&mut definition, &base, &run, &flag, &mut wrong);
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn a_resumed_run_takes_only_flags_that_change_no_result() {
    let mut definition = definition();
    let folder = repository("tests/fixtures/old_runs/sage").display().to_string();
    for command in ["", "plan"] {
        let mut base = words(command);
        base.extend(["--resume".to_owned(), folder.clone()]);
        let Outcome::Run(run) = outcome(&mut definition, &base) else { panic!() };
        for flag in flags(&definition) {
            let name = flag.get_long().unwrap();
            let free: &[&str] = &[
                "epochs",
                "spill-dir",
                "memory-budget",
                "io",
                "resident",
                "threads",
                "trace",
                "partitions",
            ];
            // A plan runs nothing that could be traced, on one machine.
            let free = if command == "plan" { &free[..6] } else { free };
            let changes = uses(&flag).into_iter().map(|more| {
                match outcome(&mut definition, &[&base[..], &more].concat()) {
                    Outcome::Run(config) => {
                        assert!(free.contains(&name), "--{name} is taken by --resume");
                        config != run
                    }
                    Outcome::Usage(text) | Outcome::Refused(text) => {
                        let parsed = text.contains("invalid value");
                        assert!(parsed || !free.contains(&name), "--{name}: {text}");
                        false
                    }
                }
            });
            let changes = changes.fold(false, |any, one| any | one);
            assert_eq!(changes, free.contains(&name), "{command} --resume --{name}");
        }
    }
}

#[test]
fn the_message_names_the_flag_what_stands_in_its_way_and_the_remedy() {
    let mut definition = definition();
    let json = repository("data/karate/karate.json").display().to_string();
    for (flags, problem, hint) in [
        (
            "--heads 2",
            "--heads has no effect with --model sage",
            "leave it out; it is for --model gat, gatv2 and egat",
        ),
        (
            "--model sgc --layers 2",
            "--layers has no effect with --model sgc",
            "leave it out, or use another --model",
        ),
        (
            "--overwrite",
            "--overwrite has no effect without --out or --dump-step or --trace",
            "leave it out, or add --out",
        ),
        (
            "--fanouts 3",
            "--fanouts has no effect with --mode full",
            "leave it out, or add --mode sample",
        ),
    ] {
        let base = format!("sar-single {flags} --part-json {json}");
        let found = configuration(&mut definition, words(&base).into_iter().map(OsString::from));
        let error = found.unwrap().unwrap_err();
        assert_eq!(error.to_string(), problem);
        assert_eq!(error.hint().as_deref(), Some(hint));
        assert_eq!(error.exit_code(), 1);
    }
}
