//! Edges on their way to their partitions.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};

/// Bytes of all buffers together, about.
const BUFFERS: usize = 16 << 20;

/// Bytes of one block, at least and at most.
const BLOCK: (usize, usize) = (1 << 10, 128 << 10);

/// Where the next block begins, at the start of each block.
const LINK: usize = 8;

/// Source and destination.
const EDGE: usize = 16;

/// Buckets of edges in one file without a name, which disappears with the process, however that ends.
///
/// The file is a sequence of blocks of one size. The blocks of a bucket are a chain: each begins with the offset of the
/// next. Memory is taken for one block per bucket, whatever the number of edges.
#[derive(Debug)]
pub(super) struct EdgeSpool {
    file: File,
    folder: PathBuf,
    block: usize,
    end: u64,
    buckets: Vec<Bucket>,
}

#[derive(Debug)]
struct Bucket {
    /// The first block.
    first: u64,
    /// Where the block goes that is being filled.
    place: u64,
    edges: u64,
    buffer: Vec<u8>,
}

impl EdgeSpool {
    /// Starts empty buckets; the file takes its room in `folder`.
    pub(super) fn create(folder: &Path, buckets: usize) -> Result<Self> {
        let file = tempfile::tempfile_in(folder).map_err(|e| Error::io("create", folder, e))?;
        let room = (BUFFERS / buckets.max(1)).clamp(BLOCK.0, BLOCK.1);
        let block = LINK + (room - LINK) / EDGE * EDGE;
        let bucket = |at: usize| {
            let place = (at * block) as u64;
            Bucket { first: place, place, edges: 0, buffer: vec![0; LINK] }
        };
        Ok(EdgeSpool {
            file,
            folder: folder.to_owned(),
            block,
            end: (buckets * block) as u64,
            buckets: (0..buckets).map(bucket).collect(),
        })
    }

    /// Adds an edge to a bucket.
    pub(super) fn push(&mut self, bucket: usize, source: u64, destination: u64) -> Result<()> {
        let target = &mut self.buckets[bucket];
        target.edges += 1;
        target.buffer.extend_from_slice(&source.to_le_bytes());
        target.buffer.extend_from_slice(&destination.to_le_bytes());
        if target.buffer.len() == self.block {
            let next = self.end;
            self.end += self.block as u64;
            self.write(bucket, next)?;
        }
        Ok(())
    }

    /// Writes what is left in the buffers, and gives their memory back.
    pub(super) fn finish(&mut self) -> Result<()> {
        for bucket in 0..self.buckets.len() {
            self.write(bucket, 0)?;
            self.buckets[bucket].buffer = Vec::new();
        }
        Ok(())
    }

    /// Number of buckets.
    pub(super) fn num_buckets(&self) -> usize {
        self.buckets.len()
    }

    /// Number of edges in a bucket.
    pub(super) fn num_edges(&self, bucket: usize) -> u64 {
        self.buckets[bucket].edges
    }

    /// Calls `take` with the edges of a finished bucket, block by block, in the order in which they came.
    pub(super) fn read(
        &self,
        bucket: usize,
        mut take: impl FnMut(&[(u64, u64)]) -> Result<()>,
    ) -> Result<()> {
        let (mut place, mut left) = (self.buckets[bucket].first, self.buckets[bucket].edges);
        let (mut bytes, mut edges) = (vec![0; self.block], Vec::new());
        while left > 0 {
            let count = left.min(((self.block - LINK) / EDGE) as u64);
            let bytes = &mut bytes[..LINK + count as usize * EDGE];
            let read = self.file.read_exact_at(bytes, place);
            read.map_err(|e| Error::io("read a temporary file in", &self.folder, e))?;
            let (numbers, _) = bytes.as_chunks::<8>();
            let (link, ends) = numbers.split_at(1);
            edges.clear();
            let ends = ends.as_chunks::<2>().0.iter();
            edges.extend(ends.map(|[s, d]| (u64::from_le_bytes(*s), u64::from_le_bytes(*d))));
            take(&edges)?;
            left -= count;
            place = u64::from_le_bytes(link[0]);
        }
        Ok(())
    }

    /// Writes the buffer of a bucket, and starts its next block at `next`.
    fn write(&mut self, bucket: usize, next: u64) -> Result<()> {
        let Bucket { place, buffer, .. } = &mut self.buckets[bucket];
        buffer[..LINK].copy_from_slice(&next.to_le_bytes());
        let written = self.file.write_all_at(buffer, *place);
        written.map_err(|e| Error::io("write a temporary file in", &self.folder, e))?;
        buffer.truncate(LINK);
        *place = next;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_bucket_gives_its_edges_in_order() {
        let folder = tempfile::tempdir().unwrap();
        let buckets = 3;
        let mut spool = EdgeSpool::create(folder.path(), buckets).unwrap();
        // Several blocks for one bucket, less than one for the next, none for the last.
        let sizes = [30_000, 5, 0];
        for edge in 0..sizes[0] {
            spool.push(0, edge, edge + 7).unwrap();
            if edge < sizes[1] {
                spool.push(1, edge, edge).unwrap();
            }
        }
        spool.finish().unwrap();
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "the file has a name");
        for (bucket, size) in sizes.into_iter().enumerate() {
            let mut found = Vec::new();
            let take = |edges: &[(u64, u64)]| {
                found.extend_from_slice(edges);
                Ok(())
            };
            spool.read(bucket, take).unwrap();
            let add = if bucket == 0 { 7 } else { 0 };
            assert_eq!(found, (0..size).map(|edge| (edge, edge + add)).collect::<Vec<_>>());
            assert_eq!(spool.num_edges(bucket), size);
        }
    }
}
