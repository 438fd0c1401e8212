//! Rows of a table as a file of NumPy holds them for torch.

use std::ops::Range;

use crate::io::Dtype;
use crate::prepare::import::Table;
use crate::words::error::Result;

/// Number of bytes read at a time.
const BLOCK: u64 = 4 << 20;

/// A reader of a table's rows, in a type that both NumPy and torch have: NumPy has no `bfloat16`, and torch loads no
/// unsigned numbers of several bytes.
pub(super) struct TorchRows<'a> {
    table: &'a Table,
    next: u64,
    read: Vec<u8>,
    converted: Vec<u8>,
}

impl<'a> TorchRows<'a> {
    /// Starts at the first row.
    pub(super) fn of(table: &'a Table) -> Self {
        TorchRows { table, next: 0, read: Vec::new(), converted: Vec::new() }
    }

    /// Type of the elements.
    pub(super) fn dtype(&self) -> Dtype {
        match self.table.dtype() {
            Dtype::BF16 => Dtype::F32,
            Dtype::U16 | Dtype::U32 | Dtype::U64 => Dtype::I64,
            other => other,
        }
    }

    /// Size of a row in bytes.
    pub(super) fn row_bytes(&self) -> usize {
        self.table.row_bytes() / self.table.dtype().size() * self.dtype().size()
    }

    /// The next rows, and their elements in stored form; `None` at the end.
    pub(super) fn next_block(&mut self) -> Result<Option<(Range<u64>, &[u8])>> {
        let (table, width) = (self.table, self.table.row_bytes());
        let step = (BLOCK / width.max(1) as u64).max(1);
        let rows = self.next..table.num_rows().min(self.next + step);
        if rows.is_empty() {
            return Ok(None);
        }
        self.next = rows.end;
        self.read.resize((rows.end - rows.start) as usize * width, 0);
        table.read_rows(rows.clone(), &mut self.read)?;
        let (from, to) = (table.dtype(), self.dtype());
        if from == to {
            return Ok(Some((rows, &self.read)));
        }
        let count = self.read.len() / from.size();
        self.converted.resize(count * to.size(), 0);
        if to == Dtype::F32 {
            let mut values = vec![0.0; count];
            from.to_f32(&self.read, &mut values);
            to.from_f32(&values, &mut self.converted);
        } else {
            let mut values = vec![0; count];
            from.to_i64(&self.read, &mut values).map_err(|at| {
                let row = rows.start + (at * from.size() / width) as u64;
                table.fail(format!("row {row} holds a number that is too large for int64"))
            })?;
            for (bytes, value) in self.converted.as_chunks_mut().0.iter_mut().zip(values) {
                *bytes = value.to_le_bytes();
            }
        }
        Ok(Some((rows, &self.converted)))
    }
}
