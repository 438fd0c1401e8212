//! What a function needs to make collectives.

use super::group::ProcessGroup;
use super::hooks::Hooks;

/// The ranks of a run, and what this one does when it waits for the others.
#[derive(Clone, Copy)]
pub struct Ranks<'a> {
    /// The process group.
    pub group: &'a dyn ProcessGroup,
    /// What the rank does around a wait.
    pub hooks: &'a dyn Hooks,
}
