//! From users' files, or from a generator, to a partition directory, in bounded memory.

pub mod export;
pub mod generate;
pub mod import;
pub mod partition;
pub mod statistics;
