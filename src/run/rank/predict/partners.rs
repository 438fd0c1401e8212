//! The best partners of nodes that are not their neighbours yet.

use std::cmp::Ordering;
use std::fs::File;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

use rayon::prelude::*;
use tch::Tensor;

use super::chosen_nodes::ChosenNodes;
use super::form::NodeOrder;
use super::own_prediction::{OwnPart, OwnPrediction};
use super::rows::{self, table_rows};
use super::scored_by::ScoredBy;
use super::shared_file::SharedFile;
use super::shared_rows::SharedRows;
use crate::engine::comm::share_files;
use crate::engine::spill::PointerTensor;
use crate::engine::tape::{GraphShardManager, OutEdges};
use crate::engine::tensor;
use crate::formats::dgl::Partition;
use crate::graph::TypeNodes;
use crate::load::{original_ids, original_places};
use crate::words::error::{Error, Result};

/// Number of nodes whose partners are searched at a time.
const BLOCK: usize = 256;
/// Number of candidates that are scored at a time.
const CANDIDATES: usize = 4096;

/// A partner of a node: its place, and its score.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in crate::run) struct Partner {
    /// Place of the node; `u64::MAX` where there are fewer partners than asked for.
    pub(in crate::run) place: u64,
    /// The score of the pair.
    pub(in crate::run) score: f32,
}

/// Size of a stored partner in bytes.
pub(in crate::run) const PARTNER_BYTES: usize = size_of::<u64>() + size_of::<f32>();

impl Partner {
    const NONE: Partner = Partner { place: u64::MAX, score: f32::NAN };

    /// Whether this partner comes before another one: by its score, and then by its place.
    fn precedes(self, other: Partner) -> bool {
        match self.score.partial_cmp(&other.score) {
            Some(Ordering::Equal) => self.place < other.place,
            order => order == Some(Ordering::Greater),
        }
    }

    fn to_bytes(self) -> [u8; PARTNER_BYTES] {
        let mut bytes = [0; PARTNER_BYTES];
        bytes[..8].copy_from_slice(&self.place.to_le_bytes());
        bytes[8..].copy_from_slice(&self.score.to_le_bytes());
        bytes
    }

    /// The partner that was stored.
    pub(in crate::run) fn from_bytes(bytes: &[u8]) -> Self {
        let (mut place, mut score) = ([0; 8], [0; 4]);
        place.copy_from_slice(&bytes[..8]);
        score.copy_from_slice(&bytes[8..PARTNER_BYTES]);
        Partner { place: u64::from_le_bytes(place), score: f32::from_le_bytes(score) }
    }
}

/// The best partners of a node so far, the best one first.
#[derive(Default)]
struct Best(Vec<Partner>);

impl Best {
    /// Whether a partner is among the best `count`.
    fn takes(&self, partner: Partner, count: usize) -> bool {
        let has_place = self.0.len() < count;
        !partner.score.is_nan()
            && (has_place || self.0.last().is_some_and(|last| partner.precedes(*last)))
    }

    fn offer(&mut self, partner: Partner, count: usize) {
        if !self.takes(partner, count) {
            return;
        }
        self.0.truncate(count - 1);
        let at = self.0.partition_point(|other| other.precedes(partner));
        self.0.insert(at, partner);
    }
}

/// The nodes at one end of pairs.
#[derive(Clone, Copy)]
pub(super) struct PairEnd<'a> {
    /// Type of the nodes; `None` means all nodes.
    pub(super) ntype: Option<usize>,
    /// The own ones, at their places among the nodes of the type.
    pub(super) part: &'a OwnPart,
    /// A row for each own one.
    pub(super) output: &'a PointerTensor,
}

impl PairEnd<'_> {
    /// The place of each of these nodes of a rank.
    fn places(&self, own: &OwnPrediction<'_>, rank: usize) -> Result<Vec<u64>> {
        if let Some(ntype) = self.ntype {
            return places_in_type(own, ntype, rank);
        }
        let partitions = own.here.partitions;
        match own.work.order {
            NodeOrder::Partition => Ok(partitions.book().node_range(rank).collect()),
            NodeOrder::Original => original_places(&Partition::open(partitions, rank)?),
        }
    }
}

/// The place of each node of a type and a rank among the nodes of the type.
pub(super) fn places_in_type(
    own: &OwnPrediction<'_>,
    ntype: usize,
    rank: usize,
) -> Result<Vec<u64>> {
    let partitions = own.here.partitions;
    let TypeNodes { first, own: count, .. } = partitions.book().type_nodes(rank, ntype);
    match own.work.order {
        NodeOrder::Partition => Ok((first..).take(count).collect()),
        NodeOrder::Original => original_ids(&Partition::open(partitions, rank)?, ntype),
    }
}

pub(super) struct PartnerSearch<'a> {
    /// Number of partners of each node.
    pub(super) count: usize,
    /// The nodes; `None` means all.
    pub(super) nodes: Option<&'a ChosenNodes>,
    /// The score by which they are chosen.
    pub(super) scored_by: ScoredBy<'a>,
    /// The nodes that get partners.
    pub(super) asked: PairEnd<'a>,
    /// The nodes that can be partners.
    pub(super) found: PairEnd<'a>,
}

impl PartnerSearch<'_> {
    /// Searches among this rank's nodes, then merges all ranks' partners for its part of the nodes. Partners have no edge
    /// of `graph` from the node yet.
    pub(super) fn run(&self, own: &OwnPrediction<'_>, graph: &GraphShardManager) -> Result<()> {
        let PairEnd { part, output, .. } = self.asked;
        let all = part.labelled.nodes.total;
        let rows = std::slice::from_ref(output);
        let rows = SharedRows::by_place(own, std::slice::from_ref(part), rows, all)?;
        let world_size = own.setup.group.world_size();
        let total = self.nodes.map_or(all, ChosenNodes::num_rows);
        {
            let file = SharedFile::create(&path_of(own, own.here.rank))?;
            let output = self.found.output.pin()?;
            let places = self.found.places(own, own.here.rank)?;
            for rank in 0..world_size {
                let edges = graph.out_edges(rank)?;
                let of_rank = self.asked.places(own, rank)?;
                for (asked, candidates) in self.groups(own, rank) {
                    let asked = asked.map(|row| (row as u32, of_rank[row as usize]));
                    let asked: Vec<(u32, u64)> =
                        asked.filter(|(_, place)| self.rows_of(*place).next().is_some()).collect();
                    for block in asked.chunks(BLOCK) {
                        let found =
                            self.search(&rows, block, &output, &candidates, &places, &edges)?;
                        for ((_, place), best) in block.iter().zip(found) {
                            let bytes = self.bytes(&best);
                            for row in self.rows_of(*place) {
                                file.write(row * bytes.len() as u64, &bytes)?;
                            }
                        }
                    }
                }
            }
        }
        share_files(&|rank| path_of(own, rank), own.setup.ranks())?;
        self.merge(own, total)
    }

    /// The rows of a rank's nodes, each with the rows of this rank's nodes that can be their partners: those of the types to
    /// which edges lead from theirs.
    fn groups(&self, own: &OwnPrediction<'_>, rank: usize) -> Vec<(Range<u64>, Vec<Range<u64>>)> {
        let (book, here) = (own.here.partitions.book(), own.here.rank);
        if let (Some(asked), Some(found)) = (self.asked.ntype, self.found.ntype) {
            let count = |rank, ntype| book.type_nodes(rank, ntype).own as u64;
            let found = 0..count(here, found);
            return vec![(0..count(rank, asked), vec![found])];
        }
        let rows = |rank, ntype| {
            let (first, ids) = (book.node_range(rank).start, book.node_type_range(rank, ntype));
            ids.start - first..ids.end - first
        };
        let (ends, ntypes) = (book.etype_ends(), 0..book.ntypes().len());
        let group = |ntype: usize| {
            let others = ntypes.clone().filter(|other| ends.contains(&[ntype, *other]));
            (rows(rank, ntype), others.map(|other| rows(here, other)).collect())
        };
        ntypes.clone().map(group).collect()
    }

    /// The rows of the result that belong to a node.
    fn rows_of(&self, place: u64) -> impl Iterator<Item = u64> + '_ {
        let all = self.nodes.is_none().then_some(place);
        all.into_iter().chain(self.nodes.into_iter().flat_map(move |nodes| nodes.rows_of(place)))
    }

    fn bytes(&self, best: &[Partner]) -> Vec<u8> {
        let padding = std::iter::repeat(Partner::NONE);
        best.iter().copied().chain(padding).take(self.count).flat_map(Partner::to_bytes).collect()
    }

    /// The best partners of some nodes among the candidates, which are ranges of this rank's rows.
    fn search(
        &self,
        rows: &SharedRows,
        asked: &[(u32, u64)],
        own_rows: &Tensor,
        candidates: &[Range<u64>],
        places: &[u64],
        edges: &OutEdges,
    ) -> Result<Vec<Vec<Partner>>> {
        let sources = rows.read(asked.iter().map(|(_, place)| *place))?;
        let queries = self.scored_by.queries(&sources)?;
        let count = self.count;
        let mut best: Vec<Best> = asked.iter().map(|_| Best::default()).collect();
        let mut neighbours: Vec<Vec<u32>> =
            asked.iter().map(|(row, _)| edges.destinations(*row).to_vec()).collect();
        for rows in &mut neighbours {
            rows.sort_unstable();
        }
        let one_kind = self.asked.ntype == self.found.ntype;
        let starts = candidates.iter().flat_map(|rows| {
            let end = rows.end;
            rows.clone()
                .step_by(CANDIDATES)
                .map(move |start| (start, end.min(start + CANDIDATES as u64)))
        });
        for (start, end) in starts {
            let len = end - start;
            let candidates = own_rows.f_narrow(0, start as i64, len as i64)?;
            let candidates = candidates.f_to_kind(queries.kind())?;
            let scores = queries.f_matmul(&candidates.f_transpose(0, 1)?)?.f_contiguous()?;
            let scores = tensor::slice::<f32>(&scores);
            let of_queries = best.par_iter_mut().zip(scores.par_chunks(len as usize));
            of_queries.zip(asked).zip(&neighbours).for_each(
                |(((best, scores), (_, self_)), known)| {
                    for (score, row) in scores.iter().zip(start as u32..) {
                        let partner = Partner { place: places[row as usize], score: *score };
                        let itself = one_kind && partner.place == *self_;
                        if best.takes(partner, count)
                            && !itself
                            && known.binary_search(&row).is_err()
                        {
                            best.offer(partner, count);
                        }
                    }
                },
            );
        }
        Ok(best.into_iter().map(|best| best.0).collect())
    }

    /// Merges the ranks' partners for this rank's part of the nodes.
    fn merge(&self, own: &OwnPrediction<'_>, total: u64) -> Result<()> {
        let world_size = own.setup.group.world_size() as u64;
        let files = (0..world_size as usize).map(|rank| {
            let path = path_of(own, rank);
            let file = File::open(&path).map_err(|e| Error::io("open", &path, e))?;
            Ok((path, file))
        });
        let files: Vec<(PathBuf, File)> = files.collect::<Result<_>>()?;
        let row_bytes = self.count * PARTNER_BYTES;
        let result = rows::open_rows(own.here, &table_rows(own.here.folder), row_bytes)?;
        let bound = |rank: u64| total * rank / world_size;
        let rank = own.here.rank as u64;
        let mut found = vec![0; row_bytes];
        for row in bound(rank)..bound(rank + 1) {
            let mut best = Best::default();
            for (path, file) in &files {
                let read = file.read_exact_at(&mut found, row * row_bytes as u64);
                read.map_err(|e| Error::io("read", path, e))?;
                let partners = found.chunks(PARTNER_BYTES).map(Partner::from_bytes);
                partners.for_each(|partner| best.offer(partner, self.count));
            }
            result.write_rows(row, &self.bytes(&best.0))?;
        }
        rows::finish(own.setup, result, total)
    }
}

/// The file of the partners that a rank has found.
fn path_of(own: &OwnPrediction<'_>, rank: usize) -> PathBuf {
    own.here.folder.join(format!("partners-{rank}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_come_first_whatever_order_they_come_in() {
        let offers = [(3, 1.0), (1, 2.0), (9, f32::NAN), (2, 2.0), (0, -1.0), (7, 2.0)];
        for turn in 0..offers.len() {
            let mut best = Best::default();
            for (place, score) in offers.iter().cycle().skip(turn).take(offers.len()) {
                best.offer(Partner { place: *place, score: *score }, 3);
            }
            let places: Vec<u64> = best.0.iter().map(|partner| partner.place).collect();
            assert_eq!(places, [1, 2, 7]);
        }
        let bytes = Partner { place: 5, score: -0.5 }.to_bytes();
        assert_eq!(Partner::from_bytes(&bytes), Partner { place: 5, score: -0.5 });
    }
}
