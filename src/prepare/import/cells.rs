//! Fields of rows, one behind the other.

/// Fields in the order in which they were added.
#[derive(Debug, Default)]
pub(super) struct Cells {
    bytes: Vec<u8>,
    /// The end of each field in `bytes`.
    ends: Vec<usize>,
}

impl Cells {
    /// Number of fields.
    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }

    pub(super) fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
    }

    /// Adds the field that `write` appends.
    pub(super) fn push(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        write(&mut self.bytes);
        self.ends.push(self.bytes.len());
    }

    /// A field, without white space around it; empty if there is none.
    pub(super) fn get(&self, at: usize) -> &[u8] {
        let start = at.checked_sub(1).and_then(|before| self.ends.get(before));
        let end = self.ends.get(at).copied().unwrap_or(0);
        self.bytes[start.copied().unwrap_or(0).min(end)..end].trim_ascii()
    }
}
