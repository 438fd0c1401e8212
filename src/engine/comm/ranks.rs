//! The means with which a function makes collectives.

use super::group::ProcessGroup;
use super::hooks::Hooks;

/// The ranks of a run, and this rank's way to wait for the others.
#[derive(Clone, Copy)]
pub struct Ranks<'a> {
    /// The process group.
    pub group: &'a dyn ProcessGroup,
    /// The rank's work around a wait.
    pub hooks: &'a dyn Hooks,
}
