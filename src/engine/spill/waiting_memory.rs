//! Memory of a process while it waits for others.

use std::cell::Cell;

use crate::platform::anonymous_bytes;

/// Maximum memory of a process at a pause, in bytes.
#[derive(Debug, Default)]
pub struct WaitingMemory {
    anonymous: Cell<u64>,
}

impl WaitingMemory {
    /// Records the current memory of this process.
    pub fn look(&self) {
        self.anonymous.set(self.anonymous.get().max(anonymous_bytes("self").unwrap_or(0)));
    }

    /// Anonymous memory, including memory that the allocator cannot return to the system.
    pub fn anonymous(&self) -> u64 {
        self.anonymous.get()
    }
}
