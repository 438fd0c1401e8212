//! Words of a file that call nodes.

use std::borrow::Cow;
use std::path::Path;

use crate::prepare::import::FileRows;
use crate::words::error::{Error, ErrorKind, Result};
use crate::words::size::size;

/// Multiple of the words' memory that they take together with their places and the search for these.
const WITH_PLACES: usize = 3;

/// Words, in one piece of memory.
#[derive(Default)]
pub(super) struct Words {
    bytes: Vec<u8>,
    /// The end of each word among the bytes.
    ends: Vec<usize>,
}

impl Words {
    fn push(&mut self, word: &[u8]) {
        self.bytes.extend_from_slice(word);
        self.ends.push(self.bytes.len());
    }

    /// A word.
    pub(super) fn get(&self, at: usize) -> &[u8] {
        let begin = if at == 0 { 0 } else { self.ends[at - 1] };
        &self.bytes[begin..self.ends[at]]
    }

    /// All words.
    pub(super) fn all(&self) -> impl Iterator<Item = &[u8]> + Clone {
        (0..self.ends.len()).map(move |at| self.get(at))
    }
}

/// The words of a file, the same number on each line.
pub(super) struct FileWords<'p> {
    pub(super) path: &'p Path,
    pub(super) words: Words,
    /// The number of each line.
    pub(super) numbers: Vec<u64>,
    /// Bytes that all processes of the run may take; 0 means no limit.
    budget: u64,
}

impl<'p> FileWords<'p> {
    pub(super) fn new(path: &'p Path, budget: u64) -> Self {
        FileWords { path, words: Words::default(), numbers: Vec::new(), budget }
    }

    /// Adds the words of the current line.
    pub(super) fn add(&mut self, words: &[Cow<'_, [u8]>], rows: &FileRows) -> Result<()> {
        for word in words {
            self.words.push(word);
        }
        self.numbers.push(rows.number());
        let Words { bytes, ends } = &self.words;
        let held = bytes.len() + size_of_val(&ends[..]) + size_of_val(&self.numbers[..]);
        let needed = (WITH_PLACES * held) as u64;
        if self.budget == 0 || needed <= self.budget {
            return Ok(());
        }
        let problem = format!(
            "{}: the nodes of the first {} lines take {}, but the memory budget is {}",
            self.path.display(),
            self.numbers.len(),
            size(needed),
            size(self.budget)
        );
        Err(Error::new(ErrorKind::OutOfMemory, problem)
            .with_hint("split the file, or raise ‹memory_budget›"))
    }
}
