//! Counts of a node's neighbours by label.

/// A table of counts that is emptied in the time it took to fill.
#[derive(Debug)]
pub(super) struct LabelCounts {
    counts: Vec<u32>,
    touched: Vec<u16>,
}

impl LabelCounts {
    /// An empty table for labels below `labels`.
    pub(super) fn new(labels: usize) -> Self {
        LabelCounts { counts: vec![0; labels], touched: Vec::new() }
    }

    #[inline]
    pub(super) fn add(&mut self, label: u16) {
        let count = &mut self.counts[usize::from(label)];
        if *count == 0 {
            self.touched.push(label);
        }
        *count += 1;
    }

    pub(super) fn get(&self, label: u16) -> u32 {
        self.counts[usize::from(label)]
    }

    /// The label with the highest count among labels that `admit` accepts; the smallest of equal ones.
    pub(super) fn best(&self, admit: impl Fn(u16) -> bool) -> Option<u16> {
        let admitted = self.touched.iter().copied().filter(|&label| admit(label));
        admitted.max_by_key(|&label| (self.get(label), std::cmp::Reverse(label)))
    }

    pub(super) fn clear(&mut self) {
        for label in self.touched.drain(..) {
            self.counts[usize::from(label)] = 0;
        }
    }
}
