//! A run's metrics for TensorBoard.

mod crc32c;
mod event_file;
mod message;

pub(super) use event_file::EventFile;
