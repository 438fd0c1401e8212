//! Values that are in memory or on disk, and the manager that moves them.
//!
//! * [`SpillStore`] writes and reads files, whatever they mean.
//! * [`Pointer`] is a handle on one value that is resident, spilled, or both; [`PointerTensor`] is the one for tensors.
//! * [`PartitionDataManager`] knows every pointer of its rank and spills them around a pause.
//!
//! Files disappear in three ways: with the last handle of their value, with the rank's store, and with the run's folder, which
//! the launcher removes (or the next start, if the launcher was killed).

mod dtype;
mod hold;
mod manager;
mod pointer;
mod shard;
mod store;
mod value;

pub use dtype::{ComputeDtype, SpillDtype};
pub(crate) use dtype::{read_narrow, write_narrow};
pub(crate) use hold::{Hold, Lent};
pub use manager::{Masks, PartitionDataManager};
pub use pointer::{Pinned, Pointer, PointerTensor};
pub use shard::ShardPointer;
pub use store::{SpillReader, SpillStore, SpillWriter};
pub use value::{EdgesLayout, Spill, TensorLayout};
