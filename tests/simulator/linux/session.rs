//! The simulator's command line: the seeds that run, the calls that fail, and the report.

use std::fmt::Write;
use std::ops::Range;
use std::process::ExitCode;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use super::every_call::fail_calls;
use super::jobs::{Tally, side_by_side};
use super::scene::{Folders, Refusal, Scene};
use super::seed::{PER_CONFIGURATION, Story, play};
use super::self_test::self_test;

// What `make test` plays, to know soon that nothing has gone wrong; `make campaign` plays many times as much.
/// Seeds that always run, the first of those of `make campaign`.
const FIXED: Range<u64> = 0..36;
/// Number of new seeds per run.
const FRESH: u64 = 36;
/// Number of calls that may fail for each one that does.
const STRIDE: u64 = 64;

pub(crate) fn main() -> ExitCode {
    let cores = std::thread::available_parallelism().map_or(1, usize::from) as u64;
    let jobs = number("SAR_JOBS").unwrap_or(3 * cores);
    let begin = Instant::now();
    let one =
        |seeds: Range<u64>| move |_, folders: &Folders| play_seeds(seeds.clone(), folders, (0, 1));
    let tally = match (number("SAR_SEED"), number("SAR_SEEDS"), number("SAR_CALLS")) {
        (Some(first), None, _) => side_by_side(1, &one(first..first + 1)),
        (first, Some(count), _) => {
            let seeds = first.map_or_else(|| fresh(count), |first| first..first + count);
            side_by_side(jobs, &|job, folders| play_seeds(seeds.clone(), folders, (job, jobs)))
        }
        (None, None, Some(stride)) => {
            let which = drawn_calls(stride);
            side_by_side(jobs, &|job, folders| calls(folders, which, (job, jobs)))
        }
        (None, None, None) => {
            let seeds = fresh(FRESH);
            let which = drawn_calls(STRIDE);
            side_by_side(jobs, &|job, folders| {
                let mut tally = calls(folders, which, (job, jobs));
                for seeds in [FIXED, seeds.clone()] {
                    tally.add(play_seeds(seeds, folders, (job, jobs)));
                }
                if job == 0 {
                    tally.problems.extend(self_test(folders));
                }
                tally
            })
        }
    };
    report(&tally, begin.elapsed().as_secs_f64())
}

/// A number from the environment.
fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|text| text.parse().unwrap())
}

/// Seeds that depend on the time.
fn fresh(count: u64) -> Range<u64> {
    let first = milliseconds() / PER_CONFIGURATION * PER_CONFIGURATION;
    println!("new seeds: {first} to {}", first + count - 1);
    first..first + count
}

/// The first call that fails, which depends on the time, and the distance from one to the next.
fn drawn_calls(stride: u64) -> (u64, u64) {
    let first = milliseconds() % stride;
    println!("of the calls that may fail, every {stride}th from call {first} on");
    (first, stride)
}

/// Milliseconds since 1970.
fn milliseconds() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis() as u64
}

/// Plays the seeds of those configurations that belong to job `job` of `jobs`.
fn play_seeds(seeds: Range<u64>, folders: &Folders, (job, jobs): (u64, u64)) -> Tally {
    let begin = Instant::now();
    let seconds = number("SAR_SECONDS").unwrap_or(u64::MAX);
    let verbose = std::env::var_os("SAR_VERBOSE").is_some();
    let mut tally = Tally::default();
    let mut set: Option<(u64, Option<Scene>)> = None;
    for seed in seeds {
        let group = seed / PER_CONFIGURATION;
        if group % jobs != job {
            continue;
        }
        if begin.elapsed().as_secs() >= seconds {
            break;
        }
        let known = set.take().filter(|(known, _)| *known == group);
        let (_, scene) =
            set.insert(known.unwrap_or_else(|| (group, scene(seed, folders, &mut tally, verbose))));
        let Some(scene) = scene else {
            tally.refused += 1;
            continue;
        };
        let story = play(seed, scene);
        if verbose || story.problem.is_some() {
            print!("{}", told(seed, scene, &story));
        }
        tally.seeds += 1;
        tally.runs += story.runs as u64;
        tally.struck += story.struck as u64;
        tally.paused += story.paused as u64;
        if story.problem.is_some() {
            tally.failed.push(seed);
        }
    }
    tally
}

fn scene(seed: u64, folders: &Folders, tally: &mut Tally, verbose: bool) -> Option<Scene> {
    match Scene::set(seed / PER_CONFIGURATION, folders) {
        Ok(scene) => Some(scene),
        Err(Refusal::Refused(text)) => {
            if verbose {
                println!("seed {seed}: refused: {text}");
            }
            None
        }
        Err(Refusal::Failed(text)) => {
            println!("seed {seed}: an undisturbed run fails: {text}");
            tally.failed.push(seed);
            None
        }
    }
}

fn calls(folders: &Folders, which: (u64, u64), (job, jobs): (u64, u64)) -> Tally {
    let mut tally = Tally::default();
    for report in fail_calls(folders, which, (job, jobs)) {
        if job == 0 {
            let made: Vec<String> = report
                .by_kind
                .iter()
                .filter(|(_, count)| *count > 0)
                .map(|(kind, count)| format!("{kind} {count}"))
                .collect();
            let all: u64 = report.by_kind.iter().map(|(_, count)| count).sum();
            println!("{}: {all} calls on files ({})", report.name, made.join(", "));
        }
        tally.calls.push((report.name.to_owned(), report.failed, report.harmless));
        tally.problems.extend(report.problems);
    }
    tally
}

fn report(tally: &Tally, seconds: f64) -> ExitCode {
    let Tally { seeds, runs, struck, paused, refused, failed, calls, problems } = tally;
    for (name, failed, harmless) in calls {
        println!("{name}: {failed} calls failed in turn, {harmless} without harm");
    }
    for problem in problems {
        println!("problem: {problem}");
    }
    println!(
        "{seeds} seeds, {runs} runs, {struck} faults struck, {paused} runs were paused, {refused} seeds of refused configurations, {} failures, \
         {} problems in {seconds:.1} s",
        failed.len(),
        problems.len()
    );
    for seed in failed {
        println!("replay with: SAR_SEED={seed} cargo test --locked --test simulator");
    }
    if failed.is_empty() && problems.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn told(seed: u64, scene: &Scene, story: &Story) -> String {
    let mut text = format!("seed {seed} (configuration {}):\n", scene.number);
    for line in &story.lines {
        writeln!(text, "  {line}").unwrap();
    }
    match &story.problem {
        Some(problem) => {
            text += "  expected: the undisturbed results, or one clear error and no leftovers\n";
            writeln!(text, "  seen: {}", problem.replace('\n', "\n    ")).unwrap();
        }
        None => text += "  as expected\n",
    }
    text
}
