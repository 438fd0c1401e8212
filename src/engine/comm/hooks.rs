//! What a rank does around the wait of a collective.

use crate::engine::spill::PartitionDataManager;
use crate::error::Result;

/// SAR's `precall_func` and `callback_func`.
pub trait Hooks {
    /// After the messages are posted, before the wait.
    fn precall(&self) -> Result<()>;
    /// After all ranks have posted, before messages are read.
    fn callback(&self) -> Result<()>;
}

/// For ranks that take no turns.
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

/// Spill everything and give the turn up; take the next turn.
impl Hooks for PartitionDataManager {
    fn precall(&self) -> Result<()> {
        self.precall_func()
    }

    fn callback(&self) -> Result<()> {
        self.callback_func()
    }
}
