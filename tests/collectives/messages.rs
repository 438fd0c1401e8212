//! Guards against: messages that cannot be read again, that stay too long, or whose damage is not noticed.

use std::cell::Cell;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use sar::engine::array::Array;
use sar::engine::comm::{
    Collective, FileGroup, Hooks, Operation, ProcessGroup, Recipient, barrier, broadcast, complete,
};
use sar::engine::turns::Control;
use sar::io::{DiskStorage, IoCounters};
use sar::{ErrorKind, Result};

use super::{on_every_backend, run_ranks};

/// Posts this rank's number to everyone, and keeps it.
fn post_rank(group: &dyn ProcessGroup, hooks: &dyn Hooks) -> Collective {
    let mut outbox = group.outbox(Operation::Broadcast).unwrap();
    outbox.keep();
    outbox.begin(Recipient::Everyone).unwrap();
    outbox.write(&[group.rank() as u8]).unwrap();
    complete(group, outbox.post().unwrap(), hooks).unwrap()
}

fn read_rank(group: &dyn ProcessGroup, collective: &Collective, from: usize) -> u8 {
    let mut byte = [u8::MAX];
    group.inbox(collective, from).unwrap().read(&mut byte).unwrap();
    byte[0]
}

#[test]
fn kept_messages_can_be_read_again_after_other_collectives() {
    on_every_backend(4, |group, hooks| {
        let kept = post_rank(group, hooks);
        for _ in 0..3 {
            for from in 0..group.world_size() {
                assert_eq!(read_rank(group, &kept, from), from as u8);
            }
            barrier(group, hooks).unwrap();
        }
    });
}

/// The group of a rank alone, and the file of its first message.
fn one_rank(folder: &Path) -> (FileGroup, PathBuf) {
    let control = Arc::new(Control::create(&folder.join("control"), 1, 1).unwrap());
    let storage = Arc::new(DiskStorage::default());
    let group = FileGroup::new(control, 0, folder, storage, IoCounters::default());
    (group, folder.join("outbox-0-0"))
}

#[test]
fn kept_messages_go_after_their_last_reading() {
    let folder = tempfile::tempdir().unwrap();
    let (group, file) = one_rank(folder.path());
    run_ranks(vec![group], 4, &|group, hooks| {
        let kept = post_rank(group, hooks);
        barrier(group, hooks).unwrap();
        barrier(group, hooks).unwrap();
        assert!(file.exists());
        drop(kept);
        barrier(group, hooks).unwrap();
        assert!(!file.exists());
    });
}

/// Posts elements of which most are zero, in rows, to every rank.
fn post_elements(group: &dyn ProcessGroup, hooks: &dyn Hooks, elements: &[f32]) -> Collective {
    let mut outbox = group.outbox(Operation::PushRows).unwrap();
    outbox.keep();
    for rank in 0..group.world_size() {
        outbox.begin(Recipient::Rank(rank)).unwrap();
        for rows in elements.chunks(30_001) {
            outbox.write_elements(bytemuck::cast_slice(rows), 4).unwrap();
        }
        outbox.write(&[rank as u8]).unwrap();
    }
    complete(group, outbox.post().unwrap(), hooks).unwrap()
}

/// Reads what [`post_elements`] sent, a number of elements at a time.
fn read_elements(
    group: &dyn ProcessGroup,
    collective: &Collective,
    count: usize,
    piece: usize,
) -> Result<Vec<f32>> {
    let mut inbox = group.inbox(collective, 0)?;
    assert_eq!(inbox.remaining(), 4 * count as u64 + 1);
    let (mut elements, mut rank) = (vec![1.0; count], [9]);
    for elements in elements.chunks_mut(piece) {
        inbox.read(bytemuck::cast_slice_mut(elements))?;
    }
    inbox.read(&mut rank)?;
    assert_eq!((rank[0] as usize, inbox.remaining()), (group.rank(), 0));
    Ok(elements)
}

fn mostly_zeros(count: usize) -> Vec<f32> {
    (0..count).map(|i| if i % 5 < 4 { 0.0 } else { i as f32 }).collect()
}

#[test]
fn zeros_are_left_out_of_messages_and_come_back() {
    let folder = tempfile::tempdir().unwrap();
    let control = Arc::new(Control::create(&folder.path().join("control"), 2, 2).unwrap());
    let counters = [IoCounters::default(), IoCounters::default()];
    let groups = (0..2).map(|rank| {
        let storage = Arc::new(DiskStorage::default());
        FileGroup::new(control.clone(), rank, folder.path(), storage, counters[rank].clone())
    });
    let elements = mostly_zeros(200_000);
    run_ranks(groups.collect(), 1, &|group, hooks| {
        let collective = post_elements(group, hooks, &elements);
        for piece in [1_000, 30_001, 200_000] {
            let read = read_elements(group, &collective, elements.len(), piece).unwrap();
            assert!(read == elements);
        }
    });
    let totals = counters[0].totals();
    assert!(totals.written < 2 * 800_000 / 3, "{totals:?}");
    // The barriers of the ranks are written, too.
    assert!(totals.written + totals.saved_in_writing >= 2 * 800_001, "{totals:?}");
    assert_eq!(totals.saved_in_reading, 3 * totals.saved_in_writing / 2);
}

#[test]
fn a_changed_bit_in_a_message_without_zeros_is_found() {
    let folder = tempfile::tempdir().unwrap();
    let (group, file) = one_rank(folder.path());
    let elements = mostly_zeros(40_000);
    run_ranks(vec![group], 1, &|group, hooks| {
        let collective = post_elements(group, hooks, &elements);
        let whole = std::fs::read(&file).unwrap();
        assert!(whole.len() < 160_000 / 3);
        for at in (0..whole.len()).step_by(97).chain(whole.len() - 200..whole.len()) {
            let mut changed = whole.clone();
            changed[at] ^= 4;
            std::fs::write(&file, changed).unwrap();
            let error = read_elements(group, &collective, elements.len(), 7_000).unwrap_err();
            assert!(error.kind() == ErrorKind::Corrupt, "byte {at}: {error}");
        }
    });
}

/// Flips a bit of a message after it has been sent, before it is read.
struct FlippingHooks {
    file: PathBuf,
    bit: usize,
    bits: Cell<usize>,
}

impl Hooks for FlippingHooks {
    fn precall(&self) -> Result<()> {
        let mut bytes = std::fs::read(&self.file).unwrap();
        self.bits.set(8 * bytes.len());
        bytes[self.bit / 8] ^= 1 << (self.bit % 8);
        std::fs::write(&self.file, bytes).unwrap();
        Ok(())
    }

    fn callback(&self) -> Result<()> {
        Ok(())
    }
}

#[test]
fn every_flipped_bit_of_a_message_is_reported_as_damage() {
    let (mut bit, mut bits) = (0, 1);
    while bit < bits {
        let folder = tempfile::tempdir().unwrap();
        let (group, file) = one_rank(folder.path());
        let hooks = FlippingHooks { file, bit, bits: Cell::new(0) };
        let sent = Array::from_slice(&[3, 1], &[1_f32, 2.0, 3.0]).unwrap();
        let error = broadcast(&group, vec![sent], 0, &hooks).unwrap_err();
        assert!(error.kind() == ErrorKind::Corrupt, "bit {bit}: {error}");
        (bit, bits) = (bit + 1, hooks.bits.get());
    }
}
