//! Fingerprint of a partitioned graph and its data, by which a resumed run recognises its graph.

use std::collections::BTreeMap;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::formats::dgl::config::PartitionConfig;
use crate::formats::dgl::{
    FeatureSet, OriginalIds, blocks, open_edge_features, open_node_features,
};
use crate::graph::PartitionBook;
use crate::io::{drop_pages, open_input};
use crate::platform::signals;
use crate::words::error::{Error, Result};

/// Approximate number of bytes of a graph that are read; from larger graphs, evenly spaced blocks are read.
const READ: u64 = 1 << 30;
/// Number of arrays and files of a partition among which its part of these bytes is divided.
const SHARES: u64 = 8;
/// Size of a block in bytes.
const BLOCK: u64 = 64 << 10;
/// Name of the checksum of a partition's structure.
const EDGES: &str = "edges";

/// Checksums of a partitioned graph: of types and counts, and of each partition's structure, node data, edge data and
/// original ids, but not of names and locations of files. Arrays and files larger than 1 GiB / 8 / partitions are
/// sampled in evenly spaced blocks, so changes of a few rows may go unnoticed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GraphFingerprint {
    /// Checksum of the types, and of the number of nodes and edges of each type in each partition.
    cut: u32,
    /// Checksums of each partition's data by name; empty for a partition whose files are on another machine.
    parts: Vec<DataSums>,
}

type DataSums = BTreeMap<String, u32>;

impl GraphFingerprint {
    /// Fingerprint of the partitions whose files are on this machine.
    ///
    /// # Errors
    /// If a file cannot be read, or the command is interrupted.
    pub fn of(partitions: &PartitionConfig) -> Result<Self> {
        let mut parts = vec![DataSums::new(); partitions.parts().len()];
        for part in partitions.present() {
            parts[part] = data_sums(partitions, part)?;
        }
        Ok(GraphFingerprint { cut: cut(partitions.book()), parts })
    }

    /// Fingerprint of the cut, and of edges alone, of the partitions whose edges are on this machine.
    ///
    /// # Errors
    /// As for [`of`](Self::of).
    pub fn of_edges(partitions: &PartitionConfig) -> Result<Self> {
        let share = share(partitions);
        let parts = partitions.parts().iter().map(|files| -> Result<DataSums> {
            let path = files.structure().filter(|path| path.exists());
            let sum = path.map(|path| sum_of(path, share)).transpose()?;
            Ok(sum.map(|sum| (EDGES.to_owned(), sum)).into_iter().collect())
        });
        Ok(GraphFingerprint { cut: cut(partitions.book()), parts: parts.collect::<Result<_>>()? })
    }

    /// This fingerprint, as far as it is one [of edges](Self::of_edges).
    #[must_use]
    pub fn edges(&self) -> Self {
        let mut edges = self.clone();
        edges.parts.iter_mut().for_each(|sums| sums.retain(|name, _| name == EDGES));
        edges
    }

    /// The checksums of a partition as text.
    ///
    /// # Errors
    /// If they cannot be encoded.
    pub fn part(&self, part: usize) -> Result<String> {
        serde_json::to_string(&self.parts[part]).map_err(|e| not_encoded(&e))
    }

    /// This fingerprint with the checksums of all partitions, encoded by [`part`](Self::part).
    ///
    /// # Errors
    /// If they cannot be decoded.
    pub fn with_parts(&self, texts: &[String]) -> Result<Self> {
        let parts = texts.iter().map(|text| serde_json::from_str(text));
        let parts = parts.collect::<Result<_, _>>().map_err(|e| not_encoded(&e))?;
        Ok(GraphFingerprint { cut: self.cut, parts })
    }

    /// First difference from another graph, in partitions that both fingerprints include; `None` if they are equal.
    /// Data that only the other graph has are ignored.
    pub fn difference(&self, other: &Self) -> Option<String> {
        if self.cut != other.cut || self.parts.len() != other.parts.len() {
            return Some("its partitions have other numbers of nodes and edges".to_owned());
        }
        let pairs = self.parts.iter().zip(&other.parts).enumerate();
        let mut known = pairs.filter(|(_, (ours, theirs))| !ours.is_empty() && !theirs.is_empty());
        known.find_map(|(part, (ours, theirs))| {
            ours.iter().find_map(|(name, sum)| match theirs.get(name) {
                Some(other) if other == sum => None,
                Some(_) => Some(format!("{name} of partition {part} have changed")),
                None => Some(format!("partition {part} lacks {name}")),
            })
        })
    }
}

fn not_encoded(error: &serde_json::Error) -> Error {
    Error::internal(format!("a fingerprint is not JSON: {error}"))
}

fn cut(book: &PartitionBook) -> u32 {
    let mut text = format!("{:?}{:?}", book.ntypes(), book.etypes());
    for part in 0..book.num_parts() {
        let nodes = (0..book.ntypes().len()).map(|ntype| book.node_type_range(part, ntype));
        let edges = (0..book.etypes().len()).map(|etype| book.edge_type_range(part, etype));
        text.extend(nodes.chain(edges).map(|range| format!("{range:?}")));
    }
    crc32fast::hash(text.as_bytes())
}

/// Bytes that are read of each array and file of a partition.
fn share(partitions: &PartitionConfig) -> u64 {
    (READ / SHARES / partitions.parts().len() as u64).max(BLOCK)
}

fn data_sums(partitions: &PartitionConfig, part: usize) -> Result<DataSums> {
    let files = &partitions.parts()[part];
    let share = share(partitions);
    let mut sums = DataSums::new();
    for (name, path) in [(EDGES, files.structure()), ("original ids", files.orig_nids.as_deref())] {
        let Some(path) = path else { continue };
        sums.insert(name.to_owned(), sum_of(path, share)?);
    }
    let sets = [
        ("node", open_node_features(partitions, part)?),
        ("edge", open_edge_features(partitions, part)?),
    ];
    for (side, set) in &sets {
        add_features(&mut sums, side, set, share)?;
    }
    Ok(sums)
}

fn add_features(sums: &mut DataSums, side: &str, set: &FeatureSet, share: u64) -> Result<()> {
    let file = opened(set.path())?;
    for feature in set.features() {
        let array = feature.array();
        let extent = Extent { offset: array.offset(), len: array.byte_len() };
        let values = sum(set.path(), &file, extent, share)?;
        let form = format!("{:?}{:?}{values}", array.dtype(), array.shape());
        sums.insert(format!("{side} data {}", feature.key()), crc32fast::hash(form.as_bytes()));
    }
    Ok(())
}

/// Checksum of a file. Files larger than 128 MiB are sampled in evenly spaced blocks.
///
/// # Errors
/// If the file cannot be read, or the command is interrupted.
pub fn file_sum(path: &Path) -> Result<u32> {
    sum_of(path, READ / SHARES)
}

/// Checksum of original ids, whatever type the file stores them in.
///
/// # Errors
/// If they cannot be read, or the command is interrupted.
pub fn ids_sum(ids: &OriginalIds) -> Result<u32> {
    let (mut hasher, mut block) = (crc32fast::Hasher::new(), Vec::new());
    for rows in blocks::ranges(ids.num_rows()) {
        signals::check()?;
        block.resize((rows.end - rows.start) as usize, 0);
        ids.read(rows, &mut block)?;
        hasher.update(bytemuck::cast_slice::<u64, u8>(&block));
    }
    Ok(hasher.finalize())
}

fn sum_of(path: &Path, share: u64) -> Result<u32> {
    let file = opened(path)?;
    let len = file.metadata().map_err(|e| Error::unreadable(path, &e))?.len();
    sum(path, &file, Extent { offset: 0, len }, share)
}

fn opened(path: &Path) -> Result<File> {
    open_input(path).map_err(|e| Error::unreadable(path, &e))
}

/// A range of bytes of a file.
#[derive(Clone, Copy)]
struct Extent {
    offset: u64,
    len: u64,
}

/// Checksum of a range of bytes: of the whole range, or of evenly spaced blocks with about `share` bytes.
fn sum(path: &Path, file: &File, Extent { offset, len }: Extent, share: u64) -> Result<u32> {
    let unreadable = |e| Error::unreadable(path, &e);
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&len.to_le_bytes());
    let blocks = len.div_ceil(BLOCK);
    let taken = blocks.min(share / BLOCK).max(1);
    let mut bytes = vec![0; BLOCK.min(len) as usize];
    for block in 0..taken {
        signals::check()?;
        // The first block is always read, and the last one if there are two or more.
        let at = if taken == blocks {
            block * BLOCK
        } else {
            len.saturating_sub(BLOCK) * block / (taken - 1).max(1)
        };
        let bytes = &mut bytes[..BLOCK.min(len - at) as usize];
        file.read_exact_at(bytes, offset + at).map_err(unreadable)?;
        hasher.update(bytes);
    }
    if taken < blocks {
        // Checksums must not fill the page cache with large files.
        drop_pages(file, offset, len).map_err(unreadable)?;
    }
    Ok(hasher.finalize())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn small_files_are_read_as_a_whole_and_large_ones_in_part() {
        let mut file = tempfile::tempfile().unwrap();
        let len = 40 * BLOCK + 17;
        file.write_all(&vec![7; len as usize]).unwrap();
        let sum = |share| sum(Path::new("x"), &file, Extent { offset: 0, len }, share).unwrap();
        let (whole, part) = (sum(41 * BLOCK), sum(8 * BLOCK));
        for (at, in_part) in [(0, true), (len - 1, true), (20 * BLOCK, false)] {
            file.write_all_at(&[8], at).unwrap();
            assert_ne!(sum(41 * BLOCK), whole, "{at}");
            assert_eq!(sum(8 * BLOCK) != part, in_part, "{at}");
            file.write_all_at(&[7], at).unwrap();
        }
        assert_eq!(sum(41 * BLOCK), whole);
    }

    #[test]
    fn the_first_difference_is_named_and_more_data_make_none() {
        let of = |sums: &[(&str, u32)]| {
            let sums = sums.iter().map(|(name, sum)| ((*name).to_owned(), *sum)).collect();
            GraphFingerprint { cut: 1, parts: vec![DataSums::new(), sums] }
        };
        let ours = of(&[("edges", 1), ("node data feat", 2)]);
        assert_eq!(ours.difference(&of(&[("edges", 1), ("more", 9), ("node data feat", 2)])), None);
        let found = ours.difference(&of(&[("edges", 1), ("node data feat", 3)])).unwrap();
        assert_eq!(found, "node data feat of partition 1 have changed");
        let found = ours.difference(&of(&[("edges", 1)])).unwrap();
        assert_eq!(found, "partition 1 lacks node data feat");
        // Files on another machine are compared there.
        assert_eq!(ours.difference(&of(&[])), None);
        let other = GraphFingerprint { cut: 2, ..ours.clone() };
        assert!(ours.difference(&other).unwrap().contains("other numbers of nodes"));
        let texts = [0, 1].map(|part| ours.part(part).unwrap());
        assert_eq!(other.with_parts(&texts).unwrap().parts, ours.parts);
        assert_eq!(ours.edges(), of(&[("edges", 1)]));
    }
}
