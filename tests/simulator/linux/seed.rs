//! A seed: a configuration, its faults, and the results that must follow.

use std::ffi::CStr;

use super::board::Counts;
use super::call::{KINDS, Kind, PLACES, Place};
use super::configuration::Configuration;
use super::fault::{Action, Fault};
use super::judge::{Past, UNREMOVED, basics, judge, judge_clean};
use super::machines::{Cut, Machines};
use super::outcome::Outcome;
use super::process::{Ended, Status};
use super::random::Random;
use super::scene::Scene;

/// Number of neighbouring seeds that share a configuration, whose undisturbed run is made once.
pub(crate) const PER_CONFIGURATION: u64 = 12;

/// The results of a seed.
#[derive(Debug, Default)]
pub(crate) struct Story {
    /// The commands and events, line by line.
    pub(crate) lines: Vec<String>,
    /// Everything that should not have happened.
    pub(crate) problem: Option<String>,
    /// Number of faults that struck.
    pub(crate) struck: usize,
    /// Number of runs of the program.
    pub(crate) runs: usize,
    /// Number of runs all of whose ranks have paused.
    pub(crate) paused: usize,
    /// The value of `SAR_PACKING`.
    packing: Option<&'static CStr>,
}

/// Runs a seed in the scene of its configuration.
pub(crate) fn play(seed: u64, scene: &Scene) -> Story {
    let mut random = Random::new(seed, "faults");
    // Numbers of their own: seeds from before there were pauses, and machines, keep their other faults.
    let mut pauses = Random::new(seed, "pauses");
    let mut network = Random::new(seed, "network");
    // The undisturbed run packs large values only, and none of these graphs has one.
    let packing =
        Random::new(seed, "packing").pick(&[None, Some(c"off"), Some(c"all"), Some(c"all")]);
    let mut story = Story { packing, ..Story::default() };
    scene.clear();
    if let Err(problem) = story.tell(scene, &mut random, &mut pauses, &mut network) {
        story.problem = Some(problem);
    }
    story
}

impl Story {
    fn tell(
        &mut self,
        scene: &Scene,
        random: &mut Random,
        pauses: &mut Random,
        network: &mut Random,
    ) -> Result<(), String> {
        let rounds = if random.chance(25) { 2 } else { 1 };
        let mut past = Past::default();
        for _ in 0..rounds {
            let mut faults = faults(random, &scene.counts);
            faults.extend(pause(pauses, &scene.counts));
            self.lines.extend(faults.iter().map(|fault| format!("planned: {fault}")));
            let machines = machines(network, scene, true);
            if let Some(Cut { machine, nth }) = machines.cut {
                self.lines
                    .push(format!("planned: machine {machine} is cut off after {nth} pieces"));
            }
            let command = next_command(scene, random);
            let ended = self.run(scene, machines, &command, &faults);
            let hit = faults.iter().zip(&ended.struck).filter(|(_, struck)| struck.is_some());
            past.struck = hit.map(|(fault, _)| fault.action).collect();
            past.damaged |= past.struck.contains(&Action::Flip);
            past.cut = ended.cut;
            said(&ended, judge(scene, &ended, &past))?;
            past.uncleaned |= matches!(ended.status, Status::Signal(_))
                || ended.lost_launcher()
                || ended.stderr.contains(UNREMOVED);
            if ended.status == Status::Code(0) {
                break;
            }
        }
        // Whatever happened, a run without faults ends with the undisturbed results.
        let finished = scene.outcome.difference(&Outcome::of(&scene.out)).is_none();
        if finished && random.chance(80) {
            return Ok(());
        }
        let alone = network.chance(50);
        let machines = if alone { Machines::ONE } else { machines(network, scene, false) };
        let mut ended = self.run(scene, machines, &next_command(scene, random), &[]);
        if past.damaged && ended.status == Status::Code(1) {
            said(&ended, basics(&ended))?;
            if scene.checkpoints() == 2 {
                return said(&ended, Err("one damaged checkpoint of two ends the run".to_owned()));
            }
            let command = scene.configuration.train(&scene.out, &scene.spill);
            ended = self.run(scene, machines, &command, &[]);
        }
        said(&ended, judge_clean(scene, &ended))
    }

    fn run(
        &mut self,
        scene: &Scene,
        machines: Machines,
        command: &[String],
        faults: &[Fault],
    ) -> Ended {
        let several =
            if machines.number > 1 { format!(" (on {})", machines.number) } else { String::new() };
        let packing =
            self.packing.map_or(String::new(), |p| format!("SAR_PACKING={} ", p.to_string_lossy()));
        self.lines.push(format!("$ {packing}{}{several}", command.join(" ")));
        let ended = scene.command(machines, command, faults, self.packing);
        self.runs += 1;
        self.paused += ended.paused;
        for struck in ended.struck.iter().flatten() {
            self.struck += 1;
            self.lines.push(format!("struck: {struck}"));
        }
        if ended.cut {
            self.struck += 1;
            self.lines.push("struck: a machine is cut off".to_owned());
        }
        let error = ended.stderr.lines().find(|line| line.starts_with("error:"));
        let (error, others) = (error.unwrap_or_default(), &ended.others);
        let others = if others.is_empty() { String::new() } else { format!(", others {others:?}") };
        self.lines.push(format!("-> {:?}{others} {error}", ended.status));
        ended
    }
}

/// Adds a run's output to a problem.
fn said(ended: &Ended, judged: Result<(), String>) -> Result<(), String> {
    judged.map_err(|problem| format!("{problem}\n{}", ended.stderr))
}

/// The user's next step: resumes from the checkpoint, or starts again if there is none.
fn next_command(scene: &Scene, random: &mut Random) -> Vec<String> {
    if scene.checkpoints() > 0 {
        Configuration::resume(&scene.out, random)
    } else {
        scene.configuration.train(&scene.out, &scene.spill)
    }
}

/// The machines of a run, one of which may be cut off in the middle of it.
fn machines(random: &mut Random, scene: &Scene, cuts: bool) -> Machines {
    let number = scene.configuration.machines;
    if number == 1 {
        return Machines::ONE;
    }
    let cut = (cuts && random.chance(25)).then(|| {
        let machine = random.below(number as u64) as usize;
        Cut { machine, nth: random.below(scene.pieces[machine] + 1) }
    });
    Machines { number, seed: random.next(), cut }
}

/// One fault or two, at calls that the undisturbed run has made.
fn faults(random: &mut Random, counts: &Counts) -> Vec<Fault> {
    use Action::{
        DiskFull, Flip, InputOutput, Interrupt, Kill, KillHalfway, KillLauncher, Short,
        ShortThenFull, Signal, StaysFull,
    };
    let action = random.pick(&[
        InputOutput,
        InputOutput,
        InputOutput,
        DiskFull,
        DiskFull,
        StaysFull,
        Short,
        ShortThenFull,
        Signal,
        Flip,
        Flip,
        Kill,
        Kill,
        KillHalfway,
        KillLauncher,
        Interrupt,
    ]);
    let mut faults: Vec<Fault> = fault(action, random, counts).into_iter().collect();
    if action == Flip || random.chance(10) {
        let action = random.pick(&[Kill, KillLauncher, InputOutput, Interrupt]);
        faults.extend(fault(action, random, counts));
    }
    faults
}

/// In a fifth of the runs, a pause.
fn pause(random: &mut Random, counts: &Counts) -> Option<Fault> {
    use Action::{Pause, PauseInterrupt, PauseKill};
    let action = random.pick(&[Pause, Pause, Pause, PauseKill, PauseInterrupt]);
    if random.chance(20) { fault(action, random, counts) } else { None }
}

/// The action at a random call; `None` if the run makes no call that can meet it.
fn fault(action: Action, random: &mut Random, counts: &Counts) -> Option<Fault> {
    let (mut kinds, mut places) = (action.kinds(), action.places());
    let made = |process: usize, kinds: &[Kind], places: &[Place]| -> u64 {
        let of_place = |place: &Place| -> u64 {
            kinds.iter().map(|kind| counts[process][*place as usize][*kind as usize]).sum()
        };
        places.iter().map(of_place).sum()
    };
    let processes: Vec<usize> =
        (0..counts.len()).filter(|process| made(*process, &kinds, &places) > 0).collect();
    if processes.is_empty() {
        return None;
    }
    let process =
        if processes.contains(&0) && random.chance(30) { 0 } else { random.pick(&processes) };
    if random.chance(60) {
        // Calls of one kind on one kind of file: rare ones are chosen as often as others.
        let cells = PLACES.iter().flat_map(|place| KINDS.iter().map(move |kind| (*place, *kind)));
        let cells: Vec<(Place, Kind)> = cells
            .filter(|(place, kind)| places.contains(place) && kinds.contains(kind))
            .filter(|(place, kind)| made(process, &[*kind], &[*place]) > 0)
            .collect();
        let (place, kind) = random.pick(&cells);
        (kinds, places) = (vec![kind], vec![place]);
    }
    let nth = random.below(made(process, &kinds, &places));
    Some(Fault { action, process, kinds, places, nth, detail: random.next() })
}
