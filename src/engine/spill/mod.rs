//! Values that are in memory or on disk, and the manager that moves them.
//!
//! * [`SpillStore`] writes and reads files of bytes.
//! * [`Pointer`] is a handle to a value that is resident, spilled, or both: an [`Array`](crate::engine::array::Array),
//!   edges, rows. With the cargo feature `torch`, `PointerTensor` is its form for tensors.
//! * A value that fits only without its zeros stays in memory, packed (`room`).
//! * [`PartitionDataManager`] knows every pointer of its rank and spills them around a pause.
//!
//! Files are removed with the last handle of their value, with the rank's store, and with the run's folder, which the
//! launcher removes (or the next start, if the launcher was killed).

mod dtype;
mod hold;
mod manager;
mod pointer;
mod room;
mod shard;
mod store;
#[cfg(feature = "torch")]
mod tensor;
#[cfg(feature = "torch")]
mod tracked_tensor;
mod value;
mod value_file;

pub use dtype::{ComputeDtype, SpillDtype, read_narrow, write_narrow};
pub use hold::{Hold, Lent};
pub use manager::PartitionDataManager;
pub use pointer::{Pinned, Pointer};
pub use shard::ShardPointer;
pub use store::{SpillReader, SpillStore, SpillWriter};
#[cfg(feature = "torch")]
pub use tensor::{Masks, PointerTensor, TensorLayout};
pub use value::{EdgesLayout, Spill};
pub(super) use value_file::{Extent, ReadValue, ValueFile};
