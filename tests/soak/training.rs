//! A training in its own processes.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use rustix::process::{Pid, Signal, kill_process};

use super::common::{metrics, repository};
use super::footprint::Footprint;

pub(crate) struct Training {
    launcher: Child,
    out: PathBuf,
}

/// The folder in which a run spills, next to its results.
pub(crate) fn spill_folder(out: &Path) -> PathBuf {
    out.with_extension("spill")
}

/// The training loss of each epoch.
pub(crate) fn losses(out: &Path) -> Vec<f64> {
    metrics(out).iter().filter_map(|line| line["loss"].as_f64()).collect()
}

impl Training {
    pub(crate) fn start(out: &Path, epochs: u64) -> Training {
        let mut command = Command::new(env!("CARGO_BIN_EXE_sar-single"));
        command.arg("--part-json").arg(repository("data/karate/karate.json")).arg("--out").arg(out);
        command.args(["--model", "sage", "--hidden", "4", "--memory-budget", "min"]);
        command.args(["--checkpoint-every", "10", "--epochs", &epochs.to_string()]);
        Training::spawn(command, out)
    }

    /// Goes on after a kill; starts again if there was no checkpoint yet.
    pub(crate) fn resume(out: &Path, epochs: u64) -> Training {
        if !out.join("checkpoint.safetensors").exists() {
            fs::remove_dir_all(out).or_else(absent).unwrap();
            return Training::start(out, epochs);
        }
        let mut command = Command::new(env!("CARGO_BIN_EXE_sar-single"));
        command.arg("--resume").arg(out);
        Training::spawn(command, out)
    }

    fn spawn(mut command: Command, out: &Path) -> Training {
        command.arg("--spill-dir").arg(spill_folder(out)).stdout(Stdio::null());
        Training { launcher: command.spawn().unwrap(), out: out.to_owned() }
    }

    /// The launcher and its workers.
    fn processes(&self) -> Vec<u32> {
        let launcher = self.launcher.id();
        let path = format!("/proc/{launcher}/task/{launcher}/children");
        let workers = fs::read_to_string(path).unwrap_or_default();
        let workers = workers.split_whitespace().map(|pid| pid.parse().unwrap());
        std::iter::once(launcher).chain(workers).collect()
    }

    fn epochs(&self) -> u64 {
        fs::read_to_string(self.out.join("metrics.jsonl"))
            .map_or(0, |text| text.matches('\n').count() as u64)
    }

    /// Waits until this epoch has ended; false if the run ends before.
    pub(crate) fn reaches(&mut self, epoch: u64) -> bool {
        while self.epochs() < epoch {
            if self.launcher.try_wait().unwrap().is_some() {
                return false;
            }
            std::thread::sleep(Duration::from_millis(3));
        }
        true
    }

    /// The largest footprint seen until this epoch has ended.
    pub(crate) fn largest_footprint(&mut self, epoch: u64) -> Footprint {
        let mut largest = Footprint::default();
        let spill = spill_folder(&self.out);
        while self.epochs() < epoch && self.launcher.try_wait().unwrap().is_none() {
            largest = largest.max(Footprint::now(&self.processes(), &[&self.out, &spill]));
            std::thread::sleep(Duration::from_millis(20));
        }
        largest
    }

    /// Kills the launcher or a worker; returns the number of the process, 0 for the launcher.
    pub(crate) fn kill_one(mut self, random: &mut ChaCha8Rng) -> usize {
        let processes = self.processes();
        let victim = random.random_range(0..processes.len());
        let pid = Pid::from_raw(processes[victim] as i32).unwrap();
        // The run may have ended a moment ago.
        let _ = kill_process(pid, Signal::KILL);
        self.wait();
        victim
    }

    pub(crate) fn wait(&mut self) -> Option<i32> {
        self.launcher.wait().unwrap().code()
    }
}

fn absent(error: std::io::Error) -> std::io::Result<()> {
    if error.kind() == std::io::ErrorKind::NotFound { Ok(()) } else { Err(error) }
}
