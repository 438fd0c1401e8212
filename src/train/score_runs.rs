//! Sorted scores sent between ranks, and the pairs among them.
//!
//! A run holds a rank's scores for one class, for example of its rows in one mask, in ascending order, each with a flag
//! whether it belongs to the class. Runs of all ranks are merged with a few thousand scores of each in memory.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;
use std::ops::AddAssign;

use bytemuck::{Pod, Zeroable};
use rayon::prelude::*;

use crate::engine::comm::{Inbox, Outbox};
use crate::words::error::Result;

/// Number of scores that are sent and read at a time.
const BLOCK: usize = 4096;
/// Size in bytes of a score and its flag.
const RECORD: u64 = 9;

/// A score as an integer key with the same order, and whether its row belongs to the class.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct ScoreRecord {
    key: u64,
    positive: bool,
}

impl ScoreRecord {
    /// `None` for NaN, which is not ordered.
    fn new(score: f64, positive: bool) -> Option<Self> {
        // Adding 0 makes -0 and 0 equal.
        let bits = (score + 0.0).to_bits();
        let key = if bits >> 63 == 1 { !bits } else { bits | 1 << 63 };
        (!score.is_nan()).then_some(ScoreRecord { key, positive })
    }
}

/// Sorts records and writes their number, then blocks of keys and flags.
pub(super) fn send(mut records: Vec<ScoreRecord>, outbox: &mut dyn Outbox) -> Result<()> {
    records.par_sort_unstable();
    outbox.write(&(records.len() as u64).to_le_bytes())?;
    for block in records.chunks(BLOCK) {
        let keys: Vec<u64> = block.iter().map(|record| record.key).collect();
        let flags: Vec<u8> = block.iter().map(|record| u8::from(record.positive)).collect();
        outbox.write(bytemuck::cast_slice(&keys))?;
        outbox.write(&flags)?;
    }
    Ok(())
}

/// Counts of pairs of a score in the class and a score outside it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Pod, Zeroable)]
#[repr(C)]
pub(super) struct PairCount {
    /// Twice the number of pairs in which the score in the class is higher, plus the number of ties.
    pub(super) wins: i64,
    pub(super) positives: i64,
    pub(super) negatives: i64,
    /// Number of NaN scores, which make the area NaN.
    pub(super) undefined: i64,
}

impl PairCount {
    /// The records of scores, each with a flag whether it is in the class. Only counts those that are NaN.
    pub(super) fn records(
        &mut self,
        scores: impl Iterator<Item = (f64, bool)>,
    ) -> impl Iterator<Item = ScoreRecord> {
        scores.filter_map(|(score, positive)| {
            let record = ScoreRecord::new(score, positive);
            if record.is_none() {
                self.undefined += 1;
                *(if positive { &mut self.positives } else { &mut self.negatives }) += 1;
            }
            record
        })
    }

    /// Area under the ROC curve; `None` without positives or without negatives.
    pub(super) fn area(&self) -> Option<f64> {
        let PairCount { wins, positives, negatives, undefined } = *self;
        let area = if undefined > 0 {
            f64::NAN
        } else {
            wins as f64 / (2.0 * positives as f64 * negatives as f64)
        };
        (positives > 0 && negatives > 0).then_some(area)
    }

    /// Adds a group of equal scores that is above all groups before it.
    fn add_group(&mut self, positives: i64, negatives: i64) {
        self.wins += positives * (2 * self.negatives + negatives);
        self.positives += positives;
        self.negatives += negatives;
    }
}

impl AddAssign for PairCount {
    fn add_assign(&mut self, other: Self) {
        self.wins += other.wins;
        self.positives += other.positives;
        self.negatives += other.negatives;
        self.undefined += other.undefined;
    }
}

/// Counts the pairs in the next run of each inbox.
pub(super) fn count(inboxes: &mut [Box<dyn Inbox>]) -> Result<PairCount> {
    let mut runs = Vec::new();
    for inbox in inboxes {
        runs.push(Run::open(&mut **inbox)?);
    }
    let mut heads = BinaryHeap::new();
    for (place, run) in runs.iter_mut().enumerate() {
        heads.extend(run.next()?.map(|record| Reverse((record, place))));
    }
    let mut pairs = PairCount::default();
    // Numbers of negatives and positives with the same score as the last record.
    let (mut key, mut group) = (0, [0_i64; 2]);
    while let Some(mut head) = heads.peek_mut() {
        let Reverse((record, place)) = *head;
        if record.key != key {
            pairs.add_group(group[1], group[0]);
            (key, group) = (record.key, [0; 2]);
        }
        group[usize::from(record.positive)] += 1;
        match runs[place].next()? {
            Some(next) => *head = Reverse((next, place)),
            None => drop(PeekMut::pop(head)),
        }
    }
    pairs.add_group(group[1], group[0]);
    Ok(pairs)
}

/// Checks that all runs have been read. A wrong number of scores is only detected here, because the checksum is at the end of
/// a message.
pub(super) fn all_read(inboxes: &[Box<dyn Inbox>]) -> Result<()> {
    match inboxes.iter().find(|inbox| inbox.remaining() > 0) {
        Some(inbox) => Err(inbox.damaged("holds more scores than were read")),
        None => Ok(()),
    }
}

/// A run that is being read from a message.
struct Run<'i> {
    inbox: &'i mut dyn Inbox,
    /// Number of records left in the message.
    left: usize,
    keys: Vec<u64>,
    flags: Vec<u8>,
    /// Index of the next record in the block.
    at: usize,
}

impl<'i> Run<'i> {
    fn open(inbox: &'i mut dyn Inbox) -> Result<Self> {
        let mut len = [0; 8];
        inbox.read(&mut len)?;
        let len = u64::from_le_bytes(len);
        if len > inbox.remaining() / RECORD {
            return Err(inbox.damaged(&format!("announces {len} scores, more than it holds")));
        }
        Ok(Run { inbox, left: len as usize, keys: Vec::new(), flags: Vec::new(), at: 0 })
    }

    fn next(&mut self) -> Result<Option<ScoreRecord>> {
        if self.at == self.keys.len() {
            let len = self.left.min(BLOCK);
            if len == 0 {
                return Ok(None);
            }
            self.keys.resize(len, 0);
            self.flags.resize(len, 0);
            self.inbox.read(bytemuck::cast_slice_mut(&mut self.keys))?;
            self.inbox.read(&mut self.flags)?;
            self.left -= len;
            self.at = 0;
        }
        let record = ScoreRecord { key: self.keys[self.at], positive: self.flags[self.at] == 1 };
        self.at += 1;
        Ok(Some(record))
    }
}

#[cfg(test)]
mod tests {
    use std::cmp::Ordering;
    use std::sync::Arc;

    use super::*;
    use crate::engine::comm::{FileGroup, NoHooks, Operation, ProcessGroup, Recipient, complete};
    use crate::engine::turns::Control;

    /// A message as it arrives; `fill` writes it.
    fn message(fill: impl FnOnce(&mut dyn Outbox)) -> Box<dyn Inbox> {
        let groups = FileGroup::in_memory(&Arc::new(Control::in_memory(1, 1).unwrap()));
        let mut outbox = groups[0].outbox(Operation::CompareScores).unwrap();
        outbox.begin(Recipient::Rank(0)).unwrap();
        fill(&mut *outbox);
        let collective = complete(&groups[0], outbox.post().unwrap(), &NoHooks).unwrap();
        groups[0].inbox(&collective, 0).unwrap()
    }

    /// Random scores with many ties and zeros of both signs, distributed over some ranks, some of which may have none.
    fn dealt(seed: u64, len: usize, ranks: usize) -> Vec<Vec<(f64, bool)>> {
        let mut state = seed;
        let mut random = |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 33) % below
        };
        let mut dealt = vec![Vec::new(); ranks];
        for _ in 0..len {
            let score = match random(12) {
                0 => -0.0,
                1 => f64::INFINITY,
                n => (n as f64 - 6.0) * random(40) as f64,
            };
            dealt[random(ranks as u64) as usize].push((score, random(3) == 0));
        }
        dealt
    }

    fn counted(dealt: &[Vec<(f64, bool)>]) -> PairCount {
        let sent = |scores: &Vec<(f64, bool)>| {
            let records = scores.iter().filter_map(|(score, p)| ScoreRecord::new(*score, *p));
            message(|outbox| send(records.collect(), outbox).unwrap())
        };
        let mut inboxes: Vec<_> = dealt.iter().map(sent).collect();
        let pairs = count(&mut inboxes).unwrap();
        assert!(inboxes.iter().all(|inbox| inbox.remaining() == 0));
        pairs
    }

    #[test]
    fn pairs_are_those_of_a_count_one_by_one() {
        for seed in 0..40 {
            let dealt = dealt(seed, 300, 1 + seed as usize % 5);
            let all: Vec<_> = dealt.iter().flatten().copied().collect();
            let of = |which| all.iter().filter(move |(_, p)| *p == which).map(|(score, _)| *score);
            let mut naive = PairCount::default();
            for positive in of(true) {
                naive.positives += 1;
                for negative in of(false) {
                    naive.wins += match positive.partial_cmp(&negative).unwrap() {
                        Ordering::Greater => 2,
                        Ordering::Equal => 1,
                        Ordering::Less => 0,
                    };
                }
            }
            naive.negatives = of(false).count() as i64;
            assert_eq!(counted(&dealt), naive, "seed {seed}");
        }
    }

    #[test]
    fn runs_of_many_blocks_are_merged() {
        let dealt = dealt(7, 3 * BLOCK + 5, 2);
        let together: Vec<_> = dealt.iter().flatten().copied().collect();
        assert_eq!(counted(&dealt), counted(&[together, Vec::new()]));
        let equal = vec![vec![(1.0, true); BLOCK], vec![(1.0, false); 2 * BLOCK]];
        let pairs = counted(&equal);
        assert_eq!(pairs.wins, pairs.positives * pairs.negatives, "ties count half");
    }

    #[test]
    fn a_message_that_announces_too_much_is_refused() {
        let mut inboxes = [message(|outbox| outbox.write(&1_000_u64.to_le_bytes()).unwrap())];
        assert!(count(&mut inboxes).unwrap_err().to_string().contains("announces 1000 scores"));
    }
}
