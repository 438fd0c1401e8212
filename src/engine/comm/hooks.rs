//! A rank's work around a collective's wait.

use crate::engine::spill::PartitionDataManager;
use crate::words::error::Result;

/// The hooks of a collective: SAR's `precall_func` and `callback_func`.
pub trait Hooks {
    /// Runs after the messages are posted, before the wait.
    ///
    /// # Errors
    /// If a value cannot be spilled (`Io`, `OutOfDisk`), or is pinned (`Worker`).
    fn precall(&self) -> Result<()>;
    /// Runs a few times per second while the rank waits for others.
    ///
    /// # Errors
    /// If a value cannot be spilled (`Io`, `OutOfDisk`).
    fn idle(&self) -> Result<()> {
        Ok(())
    }
    /// Runs after all ranks have posted, before messages are read.
    ///
    /// # Errors
    /// If the run is being stopped (`Aborted`, `Interrupted`).
    fn callback(&self) -> Result<()>;
}

/// Hooks of ranks that take no turns.
#[derive(Debug, Clone, Copy)]
pub struct NoHooks;

impl Hooks for NoHooks {
    fn precall(&self) -> Result<()> {
        Ok(())
    }

    fn callback(&self) -> Result<()> {
        Ok(())
    }
}

/// Spills values and gives up the turn; spills more if asked; then takes the next turn.
impl Hooks for PartitionDataManager {
    fn precall(&self) -> Result<()> {
        self.precall_func()
    }

    fn idle(&self) -> Result<()> {
        self.give_way()
    }

    fn callback(&self) -> Result<()> {
        self.callback_func()
    }
}
