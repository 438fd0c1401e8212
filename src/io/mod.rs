//! Files: the storage trait (real and faulty), atomic replacement, the codec of small records.

mod atomic;
mod codec;
mod counters;
mod faulty;
mod storage;

pub use atomic::AtomicFile;
pub use codec::{decode, encode};
pub use counters::{IoCounters, IoTotals};
pub use faulty::{Fault, FaultyStorage};
pub use storage::{DiskStorage, Storage, StorageFile};
