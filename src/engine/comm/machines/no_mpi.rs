//! Replacement for MPI in a program that is built without it.

use super::launched::Launched;
use super::transport::Transport;
use crate::words::error::{Error, Result};

/// Never called: without MPI, no process is one of several.
pub(super) fn connect(_here: Launched) -> Result<Option<Box<dyn Transport>>> {
    Err(Error::internal("this program is built without MPI"))
}
