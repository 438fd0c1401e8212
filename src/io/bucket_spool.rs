//! Fixed-size records, distributed to buckets.

use std::path::Path;

use super::unnamed_file::UnnamedFile;
use crate::words::error::Result;

/// Smallest and largest size of a block in bytes, unless records are larger.
const BLOCK: (usize, usize) = (1 << 10, 128 << 10);

/// Bytes at the start of each block that hold the offset of the next block.
const LINK: usize = 8;

/// Buckets of records in one unnamed file, which disappears with the process, however the process ends.
///
/// The file is a sequence of blocks of equal size. A bucket's blocks form a chain: each begins with the offset of the
/// next. A bucket takes one block of memory, whatever its number of records.
#[derive(Debug)]
pub(crate) struct BucketSpool {
    file: UnnamedFile,
    record: usize,
    block: usize,
    end: u64,
    buckets: Vec<Bucket>,
}

#[derive(Debug)]
struct Bucket {
    /// Offset of the first block.
    first: u64,
    /// Offset of the current block.
    place: u64,
    records: u64,
    buffer: Vec<u8>,
}

impl BucketSpool {
    /// Creates empty buckets of records of `record` bytes. The file takes its space in `folder`. All buffers together
    /// take about `memory` bytes, but at least a kilobyte or one record each.
    pub(crate) fn create(
        folder: &Path,
        buckets: usize,
        record: usize,
        memory: usize,
    ) -> Result<Self> {
        let file = UnnamedFile::create(folder)?;
        let room = (memory / buckets.max(1)).clamp(BLOCK.0, BLOCK.1);
        let block = LINK + ((room - LINK) / record).max(1) * record;
        let mut spool = BucketSpool { file, record, block, end: 0, buckets: Vec::new() };
        (0..buckets).for_each(|_| spool.add_bucket());
        Ok(spool)
    }

    /// Adds an empty bucket after all others.
    pub(crate) fn add_bucket(&mut self) {
        let place = self.end;
        self.end += self.block as u64;
        self.buckets.push(Bucket { first: place, place, records: 0, buffer: vec![0; LINK] });
    }

    /// Adds a record, given in two pieces, to a bucket.
    pub(crate) fn push(&mut self, bucket: usize, pieces: [&[u8]; 2]) -> Result<()> {
        let target = &mut self.buckets[bucket];
        target.records += 1;
        for piece in pieces {
            target.buffer.extend_from_slice(piece);
        }
        if target.buffer.len() == self.block {
            let next = self.end;
            self.end += self.block as u64;
            self.write(bucket, next)?;
        }
        Ok(())
    }

    /// Adds a record of 64-bit numbers to a bucket.
    pub(crate) fn push_numbers<const N: usize>(
        &mut self,
        bucket: usize,
        numbers: [u64; N],
    ) -> Result<()> {
        self.push(bucket, [bytemuck::cast_slice(&numbers.map(u64::to_le)), &[]])
    }

    /// Writes the buffers' bytes, and frees them.
    pub(crate) fn finish(&mut self) -> Result<()> {
        for bucket in 0..self.buckets.len() {
            self.write(bucket, 0)?;
            self.buckets[bucket].buffer = Vec::new();
        }
        Ok(())
    }

    pub(crate) fn num_buckets(&self) -> usize {
        self.buckets.len()
    }

    pub(crate) fn num_records(&self, bucket: usize) -> u64 {
        self.buckets[bucket].records
    }

    /// Calls `take` with the records of a finished bucket, block by block, in the order of their arrival.
    pub(crate) fn read(
        &self,
        bucket: usize,
        mut take: impl FnMut(&[u8]) -> Result<()>,
    ) -> Result<()> {
        let (mut place, mut left) = (self.buckets[bucket].first, self.buckets[bucket].records);
        let mut bytes = vec![0; self.block];
        while left > 0 {
            let count = left.min(((self.block - LINK) / self.record) as u64);
            let bytes = &mut bytes[..LINK + count as usize * self.record];
            self.file.read_at(bytes, place)?;
            let (link, records) = bytes.split_at(LINK);
            take(records)?;
            left -= count;
            place = u64::from_le_bytes(link.as_chunks().0[0]);
        }
        Ok(())
    }

    /// Like [`read`](Self::read), for records of numbers.
    pub(crate) fn read_numbers<const N: usize>(
        &self,
        bucket: usize,
        mut take: impl FnMut(&[[u64; N]]) -> Result<()>,
    ) -> Result<()> {
        let mut records = Vec::new();
        self.read(bucket, |bytes| {
            records.clear();
            let numbers = bytes.as_chunks::<8>().0.as_chunks::<N>().0.iter();
            records.extend(numbers.map(|record| record.map(u64::from_le_bytes)));
            take(&records)
        })
    }

    /// Writes a bucket's buffer; the bucket's next block begins at `next`.
    fn write(&mut self, bucket: usize, next: u64) -> Result<()> {
        let Bucket { place, buffer, .. } = &mut self.buckets[bucket];
        buffer[..LINK].copy_from_slice(&next.to_le_bytes());
        self.file.write_at(buffer, *place)?;
        buffer.truncate(LINK);
        *place = next;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_bucket_gives_its_records_in_order() {
        let folder = tempfile::tempdir().unwrap();
        let buckets = 3;
        let mut spool = BucketSpool::create(folder.path(), buckets, 16, 16 << 20).unwrap();
        // Several blocks for one bucket, less than a block for the next, none for the last.
        let sizes = [30_000, 5, 0];
        for record in 0..sizes[0] {
            spool.push_numbers(0, [record, record + 7]).unwrap();
            if record < sizes[1] {
                spool.push_numbers(1, [record, record]).unwrap();
            }
        }
        spool.finish().unwrap();
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "the file has a name");
        for (bucket, size) in sizes.into_iter().enumerate() {
            let mut found = Vec::new();
            let take = |records: &[[u64; 2]]| {
                found.extend_from_slice(records);
                Ok(())
            };
            spool.read_numbers(bucket, take).unwrap();
            let add = if bucket == 0 { 7 } else { 0 };
            assert_eq!(found, (0..size).map(|at| [at, at + add]).collect::<Vec<_>>());
            assert_eq!(spool.num_records(bucket), size);
        }
    }

    #[test]
    fn a_record_may_be_larger_than_a_block_usually_is() {
        let folder = tempfile::tempdir().unwrap();
        let mut spool = BucketSpool::create(folder.path(), 2, 5008, 0).unwrap();
        for at in 0..10u64 {
            spool.push((at % 2) as usize, [&at.to_le_bytes(), &[at as u8; 5000]]).unwrap();
        }
        spool.finish().unwrap();
        let mut seen = Vec::new();
        let take = |records: &[u8]| {
            for record in records.chunks_exact(5008) {
                assert!(record[8..].iter().all(|&byte| byte == record[0]));
                seen.push(record[0]);
            }
            Ok(())
        };
        spool.read(1, take).unwrap();
        assert_eq!(seen, [1, 3, 5, 7, 9]);
    }
}
