//! A configuration with its undisturbed results, and the folders of its runs.

use std::ffi::CStr;
use std::fs::{self, File};
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use super::board::{Counts, MACHINES};
use super::call::{OUT, SPILL};
use super::configuration::Configuration;
use super::fault::Fault;
use super::judge::judge_clean;
use super::machines::Machines;
use super::outcome::{Outcome, entries};
use super::process::{Ended, Status, run_on};

/// The places of the simulator's files.
#[derive(Debug)]
pub(crate) struct Folders {
    /// Folder in memory.
    pub(crate) memory: PathBuf,
    pub(crate) disk: PathBuf,
}

/// The results of a configuration without faults.
pub(crate) struct Scene {
    pub(crate) number: u64,
    pub(crate) configuration: Configuration,
    pub(crate) outcome: Outcome,
    pub(crate) counts: Counts,
    /// Number of pieces that each machine sends.
    pub(crate) pieces: [u64; MACHINES],
    pub(crate) out: PathBuf,
    pub(crate) spill: PathBuf,
    roots: Vec<String>,
}

impl Folders {
    pub(crate) fn roots(&self) -> Vec<String> {
        [&self.memory, &self.disk].map(|folder| folder.display().to_string()).to_vec()
    }

    pub(crate) fn input(&self) -> PathBuf {
        self.memory.join("input")
    }
}

impl Scene {
    /// Runs a configuration undisturbed: on one machine, whose results count, and on several, if it has several.
    ///
    /// # Errors
    /// The program's message, if it refuses the configuration; a description, if it failed in another way.
    pub(crate) fn set(number: u64, folders: &Folders) -> Result<Scene, Refusal> {
        let configuration = Configuration::of_seed(number, &folders.input());
        let out = folders.memory.join(&OUT[1..]);
        let spill = if configuration.on_disk { &folders.disk } else { &folders.memory };
        let spill = spill.join(&SPILL[1..]);
        let outcome = Outcome { weights: None, metrics: Vec::new() };
        let (roots, counts, pieces) = (folders.roots(), Counts::default(), [0; MACHINES]);
        let mut scene = Scene { number, configuration, outcome, counts, pieces, out, spill, roots };
        scene.clear();
        let ended = scene.train(Machines::ONE);
        match ended.status {
            Status::Code(0) => {}
            Status::Code(1 | 2) => return Err(Refusal::Refused(ended.stderr)),
            status => {
                return Err(scene.failed(&format!("{status:?}"), &ended));
            }
        }
        scene.counts = ended.counts;
        scene.outcome = Outcome::of(&scene.out);
        if scene.configuration.machines > 1 {
            scene.clear();
            let machines = Machines { number: scene.configuration.machines, ..Machines::ONE };
            let ended = scene.train(machines);
            judge_clean(&scene, &ended).map_err(|problem| scene.failed(&problem, &ended))?;
            (scene.counts, scene.pieces) = (ended.counts, ended.pieces);
        }
        Ok(scene)
    }

    fn failed(&self, problem: &str, ended: &Ended) -> Refusal {
        let command = self.configuration.train(&self.out, &self.spill).join(" ");
        let (machines, said) = (self.configuration.machines, &ended.stderr);
        Refusal::Failed(format!("$ {command} (on {machines})\n{problem}:\n{said}"))
    }

    /// Removes the files of earlier runs.
    pub(crate) fn clear(&self) {
        for folder in [&self.out, &self.spill] {
            if folder.exists() {
                fs::remove_dir_all(folder).unwrap();
            }
        }
    }

    fn train(&self, machines: Machines) -> Ended {
        self.command(machines, &self.configuration.train(&self.out, &self.spill), &[], None)
    }

    pub(crate) fn command(
        &self,
        machines: Machines,
        arguments: &[String],
        faults: &[Fault],
        packing: Option<&CStr>,
    ) -> Ended {
        self.let_time_pass();
        run_on(machines, arguments, &self.roots, faults, packing)
    }

    /// Makes unfinished folders in the spill folder old enough to count as abandoned.
    fn let_time_pass(&self) {
        let before = SystemTime::now() - Duration::from_secs(120);
        for name in entries(&self.spill).iter().filter(|name| name.starts_with('.')) {
            File::open(self.spill.join(name)).unwrap().set_modified(before).unwrap();
        }
    }

    /// Number of checkpoints that the run has left: the last one, and the one before it.
    pub(crate) fn checkpoints(&self) -> usize {
        let names = ["checkpoint.safetensors", "checkpoint.previous.safetensors"];
        names.iter().filter(|name| self.out.join(name).exists()).count()
    }
}

/// The reason why a configuration has no scene.
pub(crate) enum Refusal {
    /// The program reports that flags exclude each other.
    Refused(String),
    /// An undisturbed run fails.
    Failed(String),
}
