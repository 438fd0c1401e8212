//! The results that a run may have.

use super::fault::Action;
use super::outcome::{Outcome, entries, unfinished};
use super::process::{Ended, Status};
use super::scene::Scene;

/// The launcher's message about a folder that it cannot remove.
pub(crate) const UNREMOVED: &str = "cannot remove";

/// Events before the end of a run, or in the files that it reads.
#[derive(Debug, Default)]
pub(crate) struct Past {
    /// Faults that have struck in the run.
    pub(crate) struck: Vec<Action>,
    /// Whether a machine has lost its connections.
    pub(crate) cut: bool,
    /// Whether a checkpoint may have a wrong bit.
    pub(crate) damaged: bool,
    /// Whether a launcher was killed, or has said that it cannot remove something, and no run has succeeded since: a run that
    /// fails early has not cleaned up after it.
    pub(crate) uncleaned: bool,
}

/// Judges a run that may have met faults.
///
/// # Errors
/// The first thing that should not have happened.
pub(crate) fn judge(scene: &Scene, ended: &Ended, past: &Past) -> Result<(), String> {
    let mut struck = past.struck.clone();
    if past.damaged {
        struck.push(Action::Flip);
    }
    if struck.is_empty() && !past.cut {
        return judge_clean(scene, ended);
    }
    basics(ended)?;
    if let Status::Code(code) = ended.status
        && !struck.iter().any(|action| codes(*action).contains(&code))
        && !(past.cut && [0, 3].contains(&code))
        && !(ended.lost_launcher() && code == 3)
    {
        return Err(format!("exit code {code} after {struck:?}"));
    }
    match ended.status {
        Status::Signal(libc::SIGKILL) if struck.iter().any(|action| may_kill_launcher(*action)) => {
            return Ok(());
        }
        Status::Signal(signal) => return Err(format!("the launcher died of signal {signal}")),
        _ => {}
    }
    let complete = ended.status == Status::Code(0);
    // A machine whose launcher is killed after it has sent everything leaves its folder, though the others succeed.
    if !ended.lost_launcher() && (complete || !past.uncleaned) {
        folders(scene, ended)?;
    }
    if complete { results(scene) } else { Ok(()) }
}

/// Judges a run without faults.
///
/// # Errors
/// The first thing that should not have happened.
pub(crate) fn judge_clean(scene: &Scene, ended: &Ended) -> Result<(), String> {
    basics(ended)?;
    if ended.status != Status::Code(0) || ended.lost_launcher() {
        return Err(format!("{:?} without a fault", ended.status));
    }
    folders(scene, ended)?;
    results(scene)
}

/// Checks that hold in every case.
pub(crate) fn basics(ended: &Ended) -> Result<(), String> {
    let Ended { status, others, stderr, strays, .. } = ended;
    if *status == Status::Hung {
        return Err("the run hangs".to_owned());
    }
    if *strays > 0 {
        return Err(format!("{strays} processes outlive the launcher"));
    }
    for word in ["panicked", "internal error"] {
        if stderr.contains(word) {
            return Err(format!("{word:?} in what the run says"));
        }
    }
    for (machine, status) in (1..).zip(others) {
        if !matches!(status, Status::Code(0) | Status::Signal(libc::SIGKILL)) {
            return Err(format!("{status:?} of machine {machine}"));
        }
    }
    let errors = stderr.lines().filter(|line| line.starts_with("error:")).count();
    match status {
        Status::Code(0) if errors > 0 => Err("an error, but exit code 0".to_owned()),
        Status::Code(1 | 3 | 4 | 130) if errors != 1 => Err(format!("{errors} lines of errors")),
        Status::Code(0 | 1 | 3 | 4 | 130) | Status::Signal(_) | Status::Hung => Ok(()),
        Status::Code(code) => Err(format!("exit code {code}")),
    }
}

/// Checks that only results are left.
fn folders(scene: &Scene, ended: &Ended) -> Result<(), String> {
    let left = entries(&scene.spill);
    let told = ended.stderr.contains(UNREMOVED);
    if !left.is_empty() && !told {
        return Err(format!("left in the spill folder: {left:?}"));
    }
    let left = unfinished(&scene.out);
    if !left.is_empty() && !told {
        return Err(format!("left in the folder of results: {left:?}"));
    }
    Ok(())
}

fn results(scene: &Scene) -> Result<(), String> {
    match scene.outcome.difference(&Outcome::of(&scene.out)) {
        Some(difference) => Err(format!("other results: {difference}")),
        None => Ok(()),
    }
}

fn may_kill_launcher(action: Action) -> bool {
    matches!(action, Action::Kill | Action::KillHalfway | Action::KillLauncher | Action::PauseKill)
}

/// The exit codes that an action may cause.
fn codes(action: Action) -> &'static [i32] {
    match action {
        // A file that cannot be read may be the user's, and a checkpoint is input; a run does not fail because of files that it
        // can do without, or does not read again.
        Action::InputOutput | Action::Flip => &[0, 1, 3],
        Action::Refuse => &[0, 1, 3, 4],
        Action::DiskFull | Action::StaysFull | Action::ShortThenFull => &[0, 4],
        Action::Short
        | Action::Signal
        | Action::KillLauncher
        | Action::Pause
        | Action::PauseKill => &[0],
        Action::Kill | Action::KillHalfway => &[0, 3],
        Action::Interrupt | Action::PauseInterrupt => &[0, 130],
    }
}
