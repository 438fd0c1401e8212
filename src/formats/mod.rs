//! Files of other programs, byte by byte.

pub mod dgl;
