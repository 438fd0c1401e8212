//! Compressed sparse rows without empty rows.

/// Structure of a sparse matrix: the columns in which each row has entries. Parallel edges are separate entries.
///
/// Only rows with entries are stored (`rows`, ascending), because most shards involve few of a partition's nodes. Ids
/// are local to a partition and have 32 bits; so do positions of entries, which limits a shard to 2^32 edges.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Csr {
    num_rows: usize,
    num_cols: usize,
    rows: Vec<u32>,
    indptr: Vec<u32>,
    indices: Vec<u32>,
}

impl Csr {
    /// Sorts entries by row, keeping the order within a row. The second result is the index of each entry in `row` and
    /// `col`.
    ///
    /// `row[i] < num_rows` and `col[i] < num_cols` hold for all i.
    pub fn from_entries(
        num_rows: usize,
        num_cols: usize,
        row: &[u32],
        col: &[u32],
    ) -> (Self, Vec<u32>) {
        assert_eq!(row.len(), col.len());
        assert!(u32::try_from(row.len()).is_ok(), "more than 2^32 edges between two partitions");
        let mut next = vec![0_u32; num_rows + 1];
        for &r in row {
            next[r as usize + 1] += 1;
        }
        for r in 0..num_rows {
            next[r + 1] += next[r];
        }
        let filled = |r: &usize| next[r + 1] > next[*r];
        let rows: Vec<u32> = (0..num_rows).filter(filled).map(|r| r as u32).collect();
        let mut indptr: Vec<u32> = rows.iter().map(|&r| next[r as usize]).collect();
        indptr.push(row.len() as u32);
        let mut indices = vec![0; col.len()];
        let mut origin = vec![0; col.len()];
        for (i, (&r, &c)) in row.iter().zip(col).enumerate() {
            let place = next[r as usize] as usize;
            next[r as usize] += 1;
            indices[place] = c;
            origin[place] = i as u32;
        }
        (Csr { num_rows, num_cols, rows, indptr, indices }, origin)
    }

    /// Assembles a structure from parts that were read from disk.
    pub(crate) fn from_parts(
        num_rows: usize,
        num_cols: usize,
        rows: Vec<u32>,
        indptr: Vec<u32>,
        indices: Vec<u32>,
    ) -> Self {
        Csr { num_rows, num_cols, rows, indptr, indices }
    }

    /// The transpose; entries of a row are in ascending order of their columns. The second result is the index of each
    /// entry in `self`.
    pub fn transpose(&self) -> (Self, Vec<u32>) {
        let mut row = Vec::with_capacity(self.indices.len());
        for (i, &r) in self.rows.iter().enumerate() {
            let entries = self.indptr[i + 1] - self.indptr[i];
            row.extend(std::iter::repeat_n(r, entries as usize));
        }
        Csr::from_entries(self.num_cols, self.num_rows, &self.indices, &row)
    }

    /// The matrix with column c moved to `columns[c]` (ascending) of `num_cols` columns.
    #[must_use]
    pub fn with_columns(mut self, columns: &[u32], num_cols: usize) -> Self {
        self.indices.iter_mut().for_each(|column| *column = columns[*column as usize]);
        Csr { num_cols, ..self }
    }

    /// Number of rows of the matrix, including empty ones.
    #[inline]
    pub fn num_rows(&self) -> usize {
        self.num_rows
    }

    /// Number of columns of the matrix.
    #[inline]
    pub fn num_cols(&self) -> usize {
        self.num_cols
    }

    /// Number of entries.
    #[inline]
    pub fn num_entries(&self) -> usize {
        self.indices.len()
    }

    /// The rows that have entries, ascending.
    #[inline]
    pub fn rows(&self) -> &[u32] {
        &self.rows
    }

    /// Range of each row's entries: `indptr()[i]..indptr()[i + 1]` in `indices()` for `rows()[i]`.
    #[inline]
    pub fn indptr(&self) -> &[u32] {
        &self.indptr
    }

    /// The column of each entry.
    #[inline]
    pub fn indices(&self) -> &[u32] {
        &self.indices
    }

    /// The columns of `rows()[i]`.
    #[inline]
    pub fn columns(&self, i: usize) -> &[u32] {
        &self.indices[self.indptr[i] as usize..self.indptr[i + 1] as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_sorted_by_row_and_keep_their_order() {
        let (csr, origin) = Csr::from_entries(5, 4, &[3, 1, 3, 1, 3], &[2, 0, 0, 3, 2]);
        assert_eq!(csr.rows(), [1, 3]);
        assert_eq!(csr.indptr(), [0, 2, 5]);
        assert_eq!(csr.indices(), [0, 3, 2, 0, 2]);
        assert_eq!(origin, [1, 3, 0, 2, 4]);
        let (transposed, _) = csr.transpose();
        assert_eq!((transposed.num_rows(), transposed.num_cols()), (4, 5));
        assert_eq!(transposed.rows(), [0, 2, 3]);
        assert_eq!(transposed.indices(), [1, 3, 3, 3, 1]);
    }

    #[test]
    fn a_matrix_without_entries_has_no_rows() {
        let (csr, _) = Csr::from_entries(3, 0, &[], &[]);
        assert_eq!((csr.rows().len(), csr.indptr(), csr.num_rows()), (0, &[0][..], 3));
        assert_eq!(csr.transpose().0.num_cols(), 3);
    }
}
