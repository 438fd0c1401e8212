//! The paths through the library that an input takes, where the library is built with counters (`make fuzz-parsers`).
//!
//! rustc's `-C instrument-coverage` gives every region of code a counter, also on stable toolchains. An input that makes one of
//! them count for the first time, or an order of magnitude more often, is worth changing further.

/// Number of counters checked together.
const BLOCK: usize = 256;

/// Number of inputs between two checks of all counters.
const ALL: u64 = 2000;

pub(crate) struct Coverage {
    /// For each counter, the orders of magnitude that were seen, one bit each.
    seen: Vec<u8>,
    /// Blocks in which some counter has counted.
    active: Vec<usize>,
    inputs: u64,
}

/// All counters; empty in a usual build.
#[cfg(not(guided))]
fn counters() -> &'static mut [u64] {
    &mut []
}

#[cfg(guided)]
fn counters() -> &'static mut [u64] {
    unsafe extern "C" {
        fn __llvm_profile_begin_counters() -> *mut u64;
        fn __llvm_profile_end_counters() -> *mut u64;
    }
    // SAFETY: LLVM's runtime returns the ends of its static array of counters. Other threads may count meanwhile, which only
    // this build for tests tolerates.
    unsafe {
        let begin = __llvm_profile_begin_counters();
        let len = __llvm_profile_end_counters().offset_from(begin) as usize;
        std::slice::from_raw_parts_mut(begin, len)
    }
}

impl Coverage {
    pub(crate) fn new() -> Self {
        Coverage { seen: vec![0; counters().len()], active: Vec::new(), inputs: 0 }
    }

    /// Resets the counters to zero.
    pub(crate) fn start(&mut self) {
        let counters = counters();
        if self.inputs.is_multiple_of(ALL) {
            let blocks = counters.chunks(BLOCK).enumerate();
            let active = blocks.filter(|(_, block)| block.iter().any(|count| *count > 0));
            self.active = active.map(|(at, _)| at).collect();
            counters.fill(0);
        }
        for &at in &self.active {
            counters.chunks_mut(BLOCK).nth(at).into_iter().for_each(|block| block.fill(0));
        }
        self.inputs += 1;
    }

    /// Whether some counter has counted more than ever before.
    pub(crate) fn finds_new(&mut self) -> bool {
        let counters = counters();
        let mut is_new = false;
        for &block in &self.active {
            let first = block * BLOCK;
            let end = counters.len().min(first + BLOCK);
            for (count, seen) in counters[first..end].iter().zip(&mut self.seen[first..end]) {
                if *count > 0 {
                    let magnitude = 1 << (count.ilog2() / 2).min(7);
                    is_new |= *seen & magnitude == 0;
                    *seen |= magnitude;
                }
            }
        }
        is_new
    }

    pub(crate) fn summary(&self) -> String {
        match self.seen.iter().filter(|seen| **seen > 0).count() {
            0 => String::new(),
            seen => format!(", {seen} regions of code seen"),
        }
    }
}
