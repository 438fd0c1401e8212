//! Commands in which every call fails once: the first, then the second, until a run succeeds.

use std::fs;
use std::path::{Path, PathBuf};

use super::board::{Counts, PROCESSES};
use super::call::{KINDS, OUT, PLACES, SPILL};
use super::fault::{Action, Fault};
use super::graphs::{Files, POOL};
use super::judge::basics;
use super::outcome::{Outcome, entries, unfinished};
use super::process::{Status, run};
use super::scene::Folders;

/// Number of commands that are part of an ordinary run; the others make many thousands of calls.
const ORDINARY: usize = 5;

/// A command with what it needs.
struct Command {
    name: &'static str,
    arguments: Vec<String>,
    /// The folder it writes to.
    out: PathBuf,
    /// A file in it that may exist before, with its bytes.
    kept: Option<(PathBuf, Vec<u8>)>,
    /// Whether a failure leaves nothing at all in the folder.
    whole: bool,
}

/// The results for one command.
#[derive(Debug, Default)]
pub(crate) struct Report {
    pub(crate) name: &'static str,
    /// Number of calls that failed, once each.
    pub(crate) failed: u64,
    /// Number of failures that the command tolerated.
    pub(crate) harmless: u64,
    pub(crate) by_kind: Vec<(String, u64)>,
    pub(crate) problems: Vec<String>,
}

/// Fails every `stride`-th call, from `first` on, of each process of the commands that belong to job `job` of `jobs`.
pub(crate) fn fail_calls(
    folders: &Folders,
    (first, stride): (u64, u64),
    (job, jobs): (u64, u64),
) -> Vec<Report> {
    let mut commands = commands(folders);
    if stride > 1 {
        commands.truncate(ORDINARY);
    }
    let mut reports = Vec::new();
    for (at, command) in commands.iter().enumerate() {
        let mut report = Report { name: command.name, ..Report::default() };
        let (undisturbed, counts) = command.undisturbed(folders);
        report.by_kind = by_kind(&counts);
        let made = |process: usize| counts[process].iter().flatten().sum::<u64>() > 0;
        for process in (0..PROCESSES).filter(|process| made(*process)) {
            if (at + process) as u64 % jobs != job {
                continue;
            }
            let mut nth = first;
            while command.fail(folders, (process, nth), &undisturbed, &mut report) {
                nth += stride;
            }
        }
        reports.push(report);
    }
    reports
}

fn by_kind(counts: &Counts) -> Vec<(String, u64)> {
    let sum = |kind: usize| counts.iter().flatten().map(|kinds| kinds[kind]).sum();
    KINDS.iter().map(|kind| (format!("{kind:?}"), sum(*kind as usize))).collect()
}

impl Command {
    fn undisturbed(&self, folders: &Folders) -> (Outcome, Counts) {
        self.clear(folders);
        let ended = run(&self.arguments, &folders.roots(), &[]);
        assert_eq!(ended.status, Status::Code(0), "{}: {}", self.name, ended.stderr);
        (Outcome::of(&self.out), ended.counts)
    }

    fn clear(&self, folders: &Folders) {
        for folder in [&self.out, &folders.memory.join(&SPILL[1..])] {
            if folder.exists() {
                fs::remove_dir_all(folder).unwrap();
            }
        }
        if let Some((path, bytes)) = &self.kept {
            fs::create_dir_all(&self.out).unwrap();
            fs::write(path, bytes).unwrap();
        }
    }

    /// Whether a call of this number exists.
    fn fail(
        &self,
        folders: &Folders,
        (process, nth): (usize, u64),
        undisturbed: &Outcome,
        report: &mut Report,
    ) -> bool {
        self.clear(folders);
        let (kinds, places) = (KINDS.to_vec(), PLACES.to_vec());
        let fault = Fault { action: Action::Refuse, process, kinds, places, nth, detail: 0 };
        let ended = run(&self.arguments, &folders.roots(), std::slice::from_ref(&fault));
        let Some(struck) = ended.struck[0].clone() else { return false };
        report.failed += 1;
        let spill = entries(&folders.memory.join(&SPILL[1..]));
        let mut left = unfinished(&self.out);
        if self.whole && ended.status != Status::Code(0) {
            left = entries(&self.out);
        }
        let told = ended.stderr.contains("cannot remove");
        let problem = match basics(&ended) {
            Err(problem) => Some(problem),
            Ok(()) if !told && !spill.is_empty() => {
                Some(format!("left in the spill folder: {spill:?}"))
            }
            Ok(()) if !told && !left.is_empty() => {
                Some(format!("left in the folder of results: {left:?}"))
            }
            Ok(()) if ended.status == Status::Code(0) => {
                report.harmless += 1;
                undisturbed.difference(&Outcome::of(&self.out))
            }
            Ok(()) => None,
        };
        if let Some(problem) = problem {
            let Report { name, problems, .. } = report;
            let said =
                ended.stderr.lines().filter(|line| line.starts_with("error")).collect::<String>();
            problems.push(format!("{name}: {struck}: {problem}; {:?} {said}", ended.status));
        }
        true
    }
}

/// A small epoch with checkpoint and evaluation on four ranks, a sampled one, and other commands that write files.
fn commands(folders: &Folders) -> Vec<Command> {
    let inputs = folders.input().join("every-call");
    let number = (0..POOL).find(|number| {
        Files::write(&inputs.join(number.to_string()), *number, false).graph.parts == 4
    });
    let number = number.unwrap();
    let folder = inputs.join("four");
    let files = Files::write(&folder, number, false);
    let json = files.graph.json.clone();
    let parts = files.partition(json.parent().unwrap());
    assert_eq!(run(&parts, &[], &[]).status, Status::Code(0));
    let out = folders.memory.join(&OUT[1..]);
    let spill = folders.memory.join(&SPILL[1..]);
    let command = |name, arguments: &str, out: &Path| {
        let text = arguments
            .replace("JSON", &json.display().to_string())
            .replace("OUT", &out.display().to_string())
            .replace("SPILL", &spill.display().to_string());
        let arguments = std::iter::once("sar-single").chain(text.split_whitespace());
        let arguments = arguments.map(str::to_owned).collect();
        Command { name, arguments, out: out.to_owned(), kept: None, whole: false }
    };
    let train = "--part-json JSON --out OUT --spill-dir SPILL --label-key label --hidden 4 --layers 2 --epochs 1 \
                 --checkpoint-every 1 --memory-budget min --resident 1 --threads 1";
    let sampled = format!("{train} --mode sample --fanouts 2,2 --batch-size 8");
    // A finished run, for the commands that read one.
    let finished = inputs.join("run");
    let run_folder = command("", &train.replace("OUT", "RUN"), &finished);
    let arguments: Vec<String> = run_folder
        .arguments
        .iter()
        .map(|word| if word == "RUN" { finished.display().to_string() } else { word.clone() })
        .collect();
    let ended = run(&arguments, &[], &[]);
    assert_eq!(ended.status, Status::Code(0), "{}", ended.stderr);
    let predicting =
        |verb: &str| format!("{verb} --run {} --out OUT/y.npy --resident 1", finished.display());
    let partition = Command {
        name: "partition",
        arguments: files.partition(&out),
        out: out.clone(),
        kept: None,
        whole: true,
    };
    let into_folder = |name, verb: &str| {
        let kept = Some((out.join("kept"), b"kept".to_vec()));
        Command { kept, ..command(name, &predicting(verb), &out) }
    };
    let generate = "generate --nodes 40 --edges 200 --features 3 --num-parts 2 --out OUT";
    let plan = "plan --part-json JSON --spill-dir SPILL --label-key label --hidden 4 --layers 2 --threads 1";
    vec![
        command("train", train, &out),
        command("train on samples", &sampled, &out),
        partition,
        into_folder("predict", "predict"),
        Command { whole: true, ..command("generate", generate, &out) },
        into_folder(
            "correct-and-smooth",
            "correct-and-smooth --correction-steps 2 --smoothing-steps 2",
        ),
        command("plan", plan, &out),
    ]
}
