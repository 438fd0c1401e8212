//! Files: the storage trait (real and faulty), atomic replacement, element types, the codec of small records.

mod array_header;
mod atomic;
mod codec;
mod counters;
mod dtype;
mod faulty;
mod free_memory;
mod ranged_read;
mod row_file;
mod storage;

pub use array_header::{ArraySpec, npy_header, safetensors_header};
pub use atomic::{AtomicFile, UNFINISHED, replace};
pub use codec::{decode, encode};
pub use counters::{IoCounters, IoTotals};
pub use dtype::Dtype;
pub use faulty::{Fault, FaultyStorage};
pub use free_memory::free_memory;
pub use ranged_read::read_ranges;
pub use row_file::RowFile;
pub use storage::{DiskStorage, Storage, StorageFile};
