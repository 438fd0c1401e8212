//! Files: the storage trait (real and faulty), atomic replacement, element types, the codec of small records, spooling
//! and sorting of more than fits in memory.

mod aligned_buffer;
mod array_header;
mod arrays_file;
mod atomic;
mod bucket_spool;
mod codec;
mod counters;
mod direct;
mod disk_rate;
mod disk_storage;
mod dtype;
mod external_sort;
mod faulty;
mod free_memory;
mod key_layout;
mod metered;
mod page_cache;
mod process_memory;
mod ranged_read;
mod request_queue;
mod row_file;
mod storage;

pub use array_header::{ArraySpec, npy_header, safetensors_header};
pub use arrays_file::ArraysFile;
pub use atomic::{AtomicFile, UNFINISHED, replace};
pub(crate) use bucket_spool::BucketSpool;
pub use codec::{decode, encode};
pub use counters::{IoCounters, IoTotals};
pub use disk_rate::DiskRate;
pub use disk_storage::{DiskStorage, IoMode};
pub use dtype::Dtype;
pub(crate) use external_sort::{ExternalSort, SortedKeys};
pub use faulty::{Fault, FaultyStorage};
pub use free_memory::free_memory;
pub(crate) use key_layout::KeyLayout;
pub use metered::MeteredStorage;
pub(crate) use page_cache::drop_pages;
pub use process_memory::{anonymous_bytes, peak_anonymous_bytes, reset_peak};
pub use ranged_read::read_ranges;
pub use row_file::RowFile;
pub use storage::{FileWriter, Storage, StorageFile, read_split};
