//! Memory that the simulator shares with the processes it watches: planned faults, and counted calls.

use std::mem::size_of;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use super::call::{Call, KINDS, Kind, PLACES, Place};
use super::fault::{Action, Fault};
use super::machines::Cut;

/// Number of processes of a run that are distinguished; a planned run forks workers for two small graphs before its own.
pub(crate) const PROCESSES: usize = 24;
/// Number of machines of a run.
pub(crate) const MACHINES: usize = 3;
/// Number of processes of a machine of several, whose runs are not planned.
pub(crate) const PER_MACHINE: usize = PROCESSES / MACHINES;
/// Number of faults of a run.
const FAULTS: usize = 3;
const RECORD: usize = 400;

const ORDER: Ordering = Ordering::SeqCst;

/// Numbers of calls by process, place and kind.
pub(crate) type Counts = [[[u64; KINDS.len()]; PLACES.len()]; PROCESSES];

/// The shared memory. All of it is atomic, so that zeroed memory is a valid one.
#[repr(C)]
pub(crate) struct Board {
    counts: [[[AtomicU64; KINDS.len()]; PLACES.len()]; PROCESSES],
    slots: [Slot; FAULTS],
    /// Whether the disk is full for good.
    full: AtomicU32,
    /// Pieces that each machine has sent.
    pieces: [AtomicU64; MACHINES],
    /// The machine that is cut off, from 1, and the number of pieces that it sends before; afterwards, whether it is.
    cut: AtomicU32,
    cut_at: AtomicU64,
    is_cut: AtomicU32,
    /// Whether a fault has struck that pauses the run.
    pub(crate) pause: AtomicU32,
}

/// A planned fault.
#[repr(C)]
struct Slot {
    planned: AtomicU32,
    action: AtomicU32,
    process: AtomicU32,
    kinds: AtomicU32,
    places: AtomicU32,
    nth: AtomicU64,
    detail: AtomicU64,
    seen: AtomicU64,
    struck: AtomicU32,
    record: [AtomicU32; RECORD],
}

/// A fault that strikes now.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Strike {
    pub(crate) action: Action,
    pub(crate) detail: u64,
}

const ACTIONS: [Action; 15] = [
    Action::InputOutput,
    Action::Refuse,
    Action::DiskFull,
    Action::StaysFull,
    Action::Short,
    Action::ShortThenFull,
    Action::Signal,
    Action::Flip,
    Action::Kill,
    Action::KillHalfway,
    Action::KillLauncher,
    Action::Interrupt,
    Action::Pause,
    Action::PauseKill,
    Action::PauseInterrupt,
];

/// The one board of this process and of those it forks.
pub(crate) fn board() -> &'static Board {
    static BOARD: OnceLock<&'static Board> = OnceLock::new();
    BOARD.get_or_init(|| {
        let (access, how) =
            (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED | libc::MAP_ANONYMOUS);
        // SAFETY: new memory, of the size of a board, which is never unmapped.
        let memory =
            unsafe { libc::mmap(std::ptr::null_mut(), size_of::<Board>(), access, how, -1, 0) };
        assert_ne!(memory, libc::MAP_FAILED, "no memory");
        // SAFETY: it is zeroed, aligned to a page, and holds atomics only.
        unsafe { &*memory.cast::<Board>() }
    })
}

impl Board {
    /// Plans faults for the next run, and sets all counts to zero.
    pub(crate) fn plan(&self, faults: &[Fault], cut: Option<Cut>) {
        assert!(faults.len() <= FAULTS);
        self.counts.iter().flatten().flatten().for_each(|count| count.store(0, ORDER));
        self.full.store(0, ORDER);
        self.pause.store(0, ORDER);
        self.pieces.iter().for_each(|pieces| pieces.store(0, ORDER));
        self.cut.store(cut.map_or(0, |cut| cut.machine as u32 + 1), ORDER);
        self.cut_at.store(cut.map_or(0, |cut| cut.nth), ORDER);
        self.is_cut.store(0, ORDER);
        for (i, slot) in self.slots.iter().enumerate() {
            slot.seen.store(0, ORDER);
            slot.struck.store(0, ORDER);
            let Some(fault) = faults.get(i) else {
                slot.planned.store(0, ORDER);
                continue;
            };
            let bits = |set: &mut dyn Iterator<Item = u32>| set.fold(0, |bits, n| bits | 1 << n);
            slot.planned.store(1, ORDER);
            slot.action.store(fault.action as u32, ORDER);
            slot.process.store(fault.process as u32, ORDER);
            slot.kinds.store(bits(&mut fault.kinds.iter().map(|k| *k as u32)), ORDER);
            slot.places.store(bits(&mut fault.places.iter().map(|p| *p as u32)), ORDER);
            slot.nth.store(fault.nth, ORDER);
            slot.detail.store(fault.detail, ORDER);
        }
    }

    /// Counts a call; returns the fault that it meets.
    pub(crate) fn meet(
        &self,
        process: usize,
        call: Call,
        (kind, place): (Kind, Place),
        path: &str,
    ) -> Option<Strike> {
        self.counts[process.min(PROCESSES - 1)][place as usize][kind as usize].fetch_add(1, ORDER);
        for slot in &self.slots {
            let planned = slot.planned.load(ORDER) == 1
                && slot.process.load(ORDER) as usize == process
                && slot.kinds.load(ORDER) >> kind as u32 & 1 == 1
                && slot.places.load(ORDER) >> place as u32 & 1 == 1;
            if planned && slot.seen.fetch_add(1, ORDER) == slot.nth.load(ORDER) {
                let action = ACTIONS[slot.action.load(ORDER) as usize];
                if matches!(action, Action::StaysFull | Action::ShortThenFull) {
                    self.full.store(1, ORDER);
                }
                if action.pauses() {
                    self.pause.store(1, ORDER);
                }
                slot.tell(&format!("{action:?}: {} of {path} in process {process}", call.name()));
                return Some(Strike { action, detail: slot.detail.load(ORDER) });
            }
        }
        let full = self.full.load(ORDER) == 1
            && place != Place::Input
            && Action::StaysFull.kinds().contains(&kind);
        full.then_some(Strike { action: Action::StaysFull, detail: 0 })
    }

    /// Counts a piece that a machine sends; returns whether it is cut off instead.
    pub(crate) fn cuts(&self, machine: usize) -> bool {
        let sent = self.pieces[machine].fetch_add(1, ORDER);
        let cuts = self.cut.load(ORDER) as usize == machine + 1 && sent >= self.cut_at.load(ORDER);
        if cuts {
            self.is_cut.store(1, ORDER);
        }
        cuts
    }

    /// Whether a machine has been cut off.
    pub(crate) fn is_cut(&self) -> bool {
        self.is_cut.load(ORDER) == 1
    }

    /// Number of pieces that each machine has sent.
    pub(crate) fn pieces(&self) -> [u64; MACHINES] {
        std::array::from_fn(|machine| self.pieces[machine].load(ORDER))
    }

    /// The calls that each planned fault has struck.
    pub(crate) fn struck(&self) -> Vec<Option<String>> {
        let planned = self.slots.iter().filter(|slot| slot.planned.load(ORDER) == 1);
        planned.map(|slot| (slot.struck.load(ORDER) > 0).then(|| slot.told())).collect()
    }

    pub(crate) fn counts(&self) -> Counts {
        let mut counts = [[[0; KINDS.len()]; PLACES.len()]; PROCESSES];
        for (process, places) in self.counts.iter().enumerate() {
            for (place, kinds) in places.iter().enumerate() {
                for (kind, count) in kinds.iter().enumerate() {
                    counts[process][place][kind] = count.load(ORDER);
                }
            }
        }
        counts
    }
}

impl Slot {
    fn tell(&self, text: &str) {
        for (place, letter) in self.record.iter().zip(text.chars().chain(std::iter::once('\0'))) {
            place.store(letter as u32, ORDER);
        }
        self.struck.store(1, ORDER);
    }

    fn told(&self) -> String {
        let letters = self.record.iter().map(|place| place.load(ORDER));
        letters.take_while(|letter| *letter != 0).filter_map(char::from_u32).collect()
    }
}
