//! Moving rows of a table to their places.

use std::path::Path;

use crate::io::BucketSpool;
use crate::words::error::{Error, Result};

/// Size of a place in bytes.
const PLACE: usize = size_of::<u64>();

/// A spool that takes a table's rows in any order and returns them by place, partition by partition. Rows lie in an
/// unnamed file; neighbouring places share a bucket, which fits in memory.
pub(crate) struct RowScatter {
    spool: BucketSpool,
    row_bytes: usize,
    /// First place of each partition, and the number of rows at the end.
    starts: Vec<u64>,
    /// First bucket of each partition, and the number of buckets at the end.
    first_buckets: Vec<usize>,
    rows_per_bucket: u64,
}

impl RowScatter {
    /// A spool for the given number of rows per partition.
    pub(crate) fn create(
        folder: &Path,
        row_bytes: usize,
        counts: impl Iterator<Item = u64>,
        memory: u64,
    ) -> Result<Self> {
        let rows_per_bucket = (memory / 2 / row_bytes.max(1) as u64).max(1);
        let (mut starts, mut first_buckets) = (vec![0], vec![0]);
        let (mut rows, mut buckets) = (0, 0);
        for count in counts {
            rows += count;
            buckets += count.div_ceil(rows_per_bucket) as usize;
            starts.push(rows);
            first_buckets.push(buckets);
        }
        let spool = BucketSpool::create(folder, buckets, PLACE + row_bytes, memory as usize / 4)?;
        Ok(RowScatter { spool, row_bytes, starts, first_buckets, rows_per_bucket })
    }

    /// Adds a row; every place gets exactly one.
    pub(crate) fn push(&mut self, place: u64, row: &[u8]) -> Result<()> {
        let part = self.starts.partition_point(|&start| start <= place) - 1;
        let inside = (place - self.starts[part]) / self.rows_per_bucket;
        let bucket = self.first_buckets[part] + inside as usize;
        self.spool.push(bucket, [&place.to_le_bytes(), row])
    }

    /// Ends the input.
    pub(crate) fn finish(&mut self) -> Result<()> {
        self.spool.finish()
    }

    /// Calls `take` with a partition's rows in the order of places.
    pub(crate) fn read(
        &self,
        part: usize,
        mut take: impl FnMut(&[u8]) -> Result<()>,
    ) -> Result<()> {
        let mut table = Vec::new();
        let mut first = self.starts[part];
        for bucket in self.first_buckets[part]..self.first_buckets[part + 1] {
            let rows = self.rows_per_bucket.min(self.starts[part + 1] - first);
            if self.spool.num_records(bucket) != rows {
                return Err(Error::internal("a table has places without rows"));
            }
            table.resize(rows as usize * self.row_bytes, 0);
            self.spool.read(bucket, |records| {
                for record in records.chunks_exact(PLACE + self.row_bytes) {
                    let (place, row) = record.split_at(PLACE);
                    let place = u64::from_le_bytes(place.as_chunks().0[0]) - first;
                    table[place as usize * self.row_bytes..][..self.row_bytes].copy_from_slice(row);
                }
                Ok(())
            })?;
            take(&table)?;
            first += rows;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_come_out_by_place_and_partition() {
        let folder = tempfile::tempdir().unwrap();
        // Buckets of five rows.
        let counts = [7, 0, 12].into_iter();
        let mut scatter = RowScatter::create(folder.path(), 3, counts, 30).unwrap();
        for at in 0..19u64 {
            let place = at * 7 % 19;
            scatter.push(place, &[place as u8; 3]).unwrap();
        }
        scatter.finish().unwrap();
        let mut found = Vec::new();
        for part in 0..3 {
            let take = |rows: &[u8]| {
                found.push((part, rows.len() / 3, rows[0]));
                assert!(rows.chunks_exact(3).is_sorted());
                Ok(())
            };
            scatter.read(part, take).unwrap();
        }
        assert_eq!(found, [(0, 5, 0), (0, 2, 5), (2, 5, 7), (2, 5, 12), (2, 2, 17)]);
    }
}
