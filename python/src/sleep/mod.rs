//! Hibernation: while a worker waits, the memory that it has taken since it was forked lies in files.
//!
//! Every large private mapping is written to a file and mapped back from there, at the same address and privately. Nothing is
//! read before it is touched, and a page that is not written to again is never written out again: a later pause finds pages
//! that have become private through `/proc/self/pagemap` and writes those alone.

mod backing;
mod mapping;
mod pages;
mod sleeper;

pub(crate) use sleeper::{Sleeper, note_fork};
