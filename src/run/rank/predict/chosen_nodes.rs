//! The nodes that a user has chosen.

/// The nodes that are predicted, where they are not all, by their places in the order of the prediction.
#[derive(Debug, Clone)]
pub struct ChosenNodes {
    /// Place and row of the output, ascending. A place may have several rows.
    rows: Vec<(u64, u64)>,
}

impl ChosenNodes {
    /// The nodes at these places: one row of the output each, in this order.
    pub fn new(places: &[u64]) -> Self {
        let mut rows: Vec<(u64, u64)> = places.iter().copied().zip(0..).collect();
        rows.sort_unstable();
        ChosenNodes { rows }
    }

    /// Number of rows.
    pub fn num_rows(&self) -> u64 {
        self.rows.len() as u64
    }

    /// The rows of the node at a place.
    pub(super) fn rows_of(&self, place: u64) -> impl Iterator<Item = u64> + '_ {
        let first = self.rows.partition_point(|row| row.0 < place);
        let here = self.rows[first..].iter().take_while(move |row| row.0 == place);
        here.map(|(_, row)| *row)
    }
}
