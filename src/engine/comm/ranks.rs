//! A process group with its hooks.

use super::group::ProcessGroup;
use super::hooks::Hooks;

/// The ranks of a run, with this rank's work around each wait.
#[derive(Clone, Copy)]
pub struct Ranks<'a> {
    /// The process group.
    pub group: &'a dyn ProcessGroup,
    /// The work before and after a wait.
    pub hooks: &'a dyn Hooks,
}
