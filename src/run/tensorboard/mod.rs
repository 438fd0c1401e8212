//! A run's metrics for TensorBoard.

mod crc32c;
mod event_file;
mod message;
mod run_events;

pub(super) use run_events::RunEvents;
