//! The control block shared by all ranks of a run: a mapped file between processes, plain memory between threads.
#![allow(unsafe_code)] // one cast of mapped memory to the shared structs
#![allow(clippy::cast_ptr_alignment)] // a map begins on a page and every part of it is a multiple of 64 bytes

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;

use memmap2::{MmapMut, MmapRaw};
use rustix::io::{pread, retry_on_intr};
use tracing::debug;

use super::cells::Cell32;
use super::futex::FutexWord;
use super::grant::Grant;
use super::growth::GrowthTable;
use super::pool::Pool;
use super::protocol::{Protocol, Stop};
use super::run_status::{Request, RunStatus};
use super::status::RankStatus;
use super::work::Work;
use crate::io::new_private_file;
use crate::words::error::{Error, Result};

const MAGIC: u32 = u32::from_le_bytes(*b"SARC");
const VERSION: u32 = 12;
/// Largest number of workers on one machine; a larger one is a mistake.
const MAX_RANKS: u32 = 4096;

/// First part of the block, followed by one [`RankStatus`] per rank. `README.md` has the byte table.
#[repr(C, align(64))]
struct Header {
    magic: Cell32,
    version: Cell32,
    ranks: Cell32,
    work: Cell32,
    carriers: Cell32,
    grants: [Grant; Work::ALL.len()],
    asks: Cell32,
    protocol: Protocol<FutexWord>,
    pool: Pool<FutexWord>,
    run: RunStatus,
    growth: [GrowthTable; Work::ALL.len()],
}

/// Shared state of a run on this machine: the protocol's words, and the status of each rank that runs here.
#[derive(Debug)]
pub struct Control {
    map: MmapRaw,
    ranks: u32,
}

impl Control {
    /// Creates the control file of a run with `ranks` ranks on this machine, at most `slots` of which may be resident
    /// at a time.
    ///
    /// # Errors
    /// If the numbers are out of range (`Config`), or the file exists or cannot be written (`Io`, `OutOfDisk`).
    pub fn create(path: &Path, ranks: usize, slots: usize) -> Result<Self> {
        let (ranks, slots) = checked(ranks, slots)?;
        let refused = |e| Error::io("create", path, e);
        let mut file = new_private_file().open(path).map_err(refused)?;
        // Written first, because it marks the folder as ours, which is then removed if this process is killed.
        file.write_all(bytemuck::bytes_of(&MAGIC)).map_err(refused)?;
        // Written rather than extended: on a full disk, the first use of a page without a block would raise SIGBUS.
        let rest = size_for(ranks) - size_of_val(&MAGIC);
        file.write_all(&vec![0; rest]).map_err(refused)?;
        let map = MmapRaw::map_raw(&file).map_err(refused)?;
        Ok(Self::initialise(map, ranks, slots))
    }

    /// Whether a file is a control file, of this or another version.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn marks(file: &File) -> io::Result<bool> {
        Ok(file.metadata()?.len() >= size_of_val(&MAGIC) as u64 && Self::begins(file)?)
    }

    /// Whether a file is an unfinished control file of a process that was killed while it wrote the first bytes.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn begins(file: &File) -> io::Result<bool> {
        let mut bytes = [0_u8; size_of::<u32>()];
        let read = retry_on_intr(|| pread(file, &mut bytes[..], 0))?;
        Ok(bytemuck::bytes_of(&MAGIC).starts_with(&bytes[..read]))
    }

    /// A control block in memory, for ranks that are threads of one process.
    ///
    /// # Errors
    /// If the numbers are out of range (`Config`), or memory runs out (`Internal`).
    pub fn in_memory(ranks: usize, slots: usize) -> Result<Self> {
        let (ranks, slots) = checked(ranks, slots)?;
        let map = MmapMut::map_anon(size_for(ranks))
            .map_err(|e| Error::internal(format!("no memory for the control block: {e}")))?;
        Ok(Self::initialise(map.into(), ranks, slots))
    }

    /// Maps the control file of a live run.
    ///
    /// # Errors
    /// If the file cannot be opened, or is not a control file of this version (`Input`).
    pub fn open(path: &Path) -> Result<Self> {
        let not_ours = || Error::input(path, "", "not a control file of this version");
        let file = OpenOptions::new().read(true).write(true).open(path);
        let file: File = file.map_err(|e| Error::unreadable(path, &e))?;
        let map = MmapRaw::map_raw(&file).map_err(|e| Error::unreadable(path, &e))?;
        if map.len() < size_for(0) {
            return Err(not_ours());
        }
        let mut control = Control { map, ranks: 0 };
        let header = control.header();
        let magic = header.magic.get();
        let version = header.version.get();
        let ranks = header.ranks.get();
        let fits = ranks <= MAX_RANKS && control.map.len() >= size_for(ranks);
        if magic != MAGIC || version != VERSION || !fits {
            return Err(not_ours());
        }
        control.ranks = ranks;
        Ok(control)
    }

    fn initialise(map: MmapRaw, ranks: u32, slots: u32) -> Self {
        let control = Control { map, ranks };
        let header = control.header();
        header.version.set(VERSION);
        header.ranks.set(ranks);
        header.protocol.set_slots(slots);
        header.grants.iter().for_each(|grant| grant.slots.set(slots));
        (0..ranks).for_each(|slot| control.rank(slot as usize).number.set(slot));
        // A block in memory does not have it yet. No process maps a run's file before its folder has its final name.
        header.magic.set(MAGIC);
        control
    }

    /// Number of ranks that run on this machine.
    pub fn num_ranks(&self) -> usize {
        self.ranks as usize
    }

    /// Adds one more party to every collective: the carrier of a run on several machines, which arrives last. Call this
    /// before the first rank starts.
    pub fn add_carrier(&self) {
        self.header().carriers.set(1);
    }

    /// Whether other machines take part in the run.
    pub fn has_carrier(&self) -> bool {
        self.header().carriers.get() != 0
    }

    /// Whether all ranks of this machine have arrived at the current collective; the carrier arrives after them.
    pub fn ranks_have_arrived(&self) -> bool {
        self.has_carrier() && self.header().protocol.arrived() == self.ranks
    }

    /// Number of ranks that may be resident at a time.
    pub fn slots(&self) -> usize {
        self.header().protocol.slots() as usize
    }

    /// Number of ranks that may be resident at a time during this kind of work.
    pub fn slots_of(&self, work: Work) -> usize {
        self.grant(work).slots.get() as usize
    }

    /// Sets the number of ranks that may be resident at a time during the current work, at least 1.
    pub fn set_slots(&self, slots: usize) {
        self.set_slots_of(self.work(), slots);
    }

    /// Sets the number of ranks that may be resident at a time during this kind of work, at least 1.
    pub fn set_slots_of(&self, work: Work, slots: usize) {
        debug!(slots, ?work, "ranks may be resident");
        let slots = slots.min(self.num_ranks()) as u32;
        self.grant(work).slots.set(slots);
        self.admit();
    }

    /// Admits the number of residents for the current work, even if another process changes the work meanwhile.
    fn admit(&self) {
        loop {
            let work = self.work();
            self.header().protocol.set_slots(self.grant(work).slots.get());
            if self.work() == work {
                return;
            }
        }
    }

    /// Growth in the turns of a kind of work.
    pub(crate) fn growth(&self, work: Work) -> &GrowthTable {
        &self.header().growth[work as usize]
    }

    /// The memory that ranks may keep while they wait, with their claims.
    pub(super) fn pool(&self) -> &Pool<FutexWord> {
        &self.header().pool
    }

    /// Limits during a kind of work.
    pub(super) fn grant(&self, work: Work) -> &Grant {
        &self.header().grants[work as usize]
    }

    /// Current work of the ranks; initially, training.
    pub fn work(&self) -> Work {
        Work::of(self.header().work.get())
    }

    /// Begins another kind of work, with what the ranks may take during it. One rank calls this, before it arrives at a collective
    /// that the others have not completed.
    pub fn begin(&self, work: Work) {
        debug!(?work, "begins");
        self.header().work.set(work as u32);
        self.admit();
    }

    /// Waits for turn number `ticket`, which begins beside others only if `beside` admits it beside this number of them.
    /// `idle` runs before each sleep, a few times per second.
    ///
    /// # Errors
    /// If the run is being stopped (`Aborted`, `Interrupted`), or `idle` fails.
    pub fn acquire(
        &self,
        ticket: u32,
        beside: impl Fn(u32) -> bool,
        idle: impl FnMut() -> Result<()>,
    ) -> Result<()> {
        self.header().protocol.acquire(ticket, beside, idle)
    }

    /// Asks waiting ranks to give up what they keep beyond their pool.
    pub fn ask_for_memory(&self) {
        self.header().asks.count();
        self.header().protocol.call();
    }

    /// Number of times that ranks have been asked to give up memory.
    pub(crate) fn asks(&self) -> u32 {
        self.header().asks.get()
    }

    /// Ends a turn.
    pub fn release(&self) {
        self.header().protocol.release();
    }

    /// Counts this rank, or the carrier, as arrived at the current collective.
    pub fn arrive(&self) -> u32 {
        self.header().protocol.arrive(self.ranks + self.header().carriers.get())
    }

    /// Waits until all ranks have arrived at the collective that [`arrive`](Control::arrive) returned. `idle` runs before
    /// each sleep, a few times per second.
    ///
    /// # Errors
    /// If the run is being stopped (`Aborted`, `Interrupted`), or `idle` fails.
    pub fn wait(&self, generation: u32, idle: impl FnMut() -> Result<()>) -> Result<()> {
        self.header().protocol.wait(generation, idle)
    }

    /// Makes every wait of every rank end.
    pub fn stop(&self, stop: Stop) {
        self.header().protocol.stop(stop);
    }

    /// The reason for which the run is being stopped, if it is.
    pub fn stopped(&self) -> Option<Stop> {
        self.header().protocol.stopped()
    }

    /// The status of the run for other processes, and their requests.
    pub fn run(&self) -> &RunStatus {
        &self.header().run
    }

    /// Asks something of all ranks from the same place on: after the second collective from now, as ranks may be on their way into the
    /// next one already. Any process that has mapped the file may ask.
    pub fn ask(&self, request: Request) {
        let generation = || self.header().protocol.generation();
        // A rank that is alone makes no collectives.
        let ahead = if self.num_ranks() > 1 || self.has_carrier() { 2 } else { 0 };
        loop {
            let at = generation().wrapping_add(ahead) & (u32::MAX >> 1);
            self.run().ask_at(request, at);
            // No rank has passed the place without seeing the request.
            if ahead == 0 || !self.run().is_due(request, generation()) {
                return;
            }
        }
    }

    /// Takes a request back.
    pub fn take_back(&self, request: Request) {
        self.run().take_back(request);
    }

    /// Whether a request holds for a rank that has left its last collective, and so for all.
    pub fn is_due(&self, request: Request) -> bool {
        self.run().is_due(request, self.header().protocol.generation())
    }

    /// The status of a rank that runs on this machine, by its slot; on one machine, slots are ranks.
    pub fn rank(&self, slot: usize) -> &RankStatus {
        assert!(slot < self.num_ranks(), "slot {slot} of {}", self.ranks);
        let offset = size_for(slot as u32);
        // SAFETY: the map holds `size_for(ranks)` bytes, page-aligned, and lives as long as `self`. A RankStatus consists
        // of atomics, for which every bit pattern is valid and shared change is allowed.
        unsafe { &*self.map.as_ptr().add(offset).cast::<RankStatus>() }
    }

    fn header(&self) -> &Header {
        // SAFETY: as in `rank`; the header lies at the start and every map is at least `size_for(0)` bytes long.
        unsafe { &*self.map.as_ptr().cast::<Header>() }
    }
}

fn size_for(ranks: u32) -> usize {
    size_of::<Header>() + ranks as usize * size_of::<RankStatus>()
}

fn checked(ranks: usize, slots: usize) -> Result<(u32, u32)> {
    let number = u32::try_from(ranks).ok().filter(|n| (1..=MAX_RANKS).contains(n));
    let number = number.ok_or_else(|| {
        Error::config("world size", format!("must be between 1 and {MAX_RANKS}, not {ranks}"))
    })?;
    if slots == 0 {
        return Err(Error::config("resident", "at least one worker must be allowed in memory"));
    }
    // With more slots than ranks, no rank ever waits.
    Ok((number, slots.min(ranks) as u32))
}

impl From<Stop> for Error {
    fn from(stop: Stop) -> Self {
        match stop {
            Stop::Interrupted => Error::interrupted(),
            Stop::Aborted => Error::aborted(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::words::error::ErrorKind;

    #[test]
    fn the_layout_is_the_one_the_readme_states() {
        assert_eq!(size_for(0), 2560);
        assert_eq!(size_of::<RankStatus>(), 128);
        assert_eq!(std::mem::offset_of!(Header, work), 12);
        assert_eq!(std::mem::offset_of!(Header, carriers), 16);
        assert_eq!(std::mem::offset_of!(Header, grants), 20);
        assert_eq!(size_of::<Grant>(), 12);
        assert_eq!(std::mem::offset_of!(Header, asks), 20 + 12 * Work::ALL.len());
        assert_eq!(std::mem::offset_of!(Header, protocol.released), 128);
        assert_eq!(std::mem::offset_of!(Header, protocol.arrived), 192);
        assert_eq!(std::mem::offset_of!(Header, protocol.generation), 256);
        assert_eq!(std::mem::offset_of!(Header, protocol.reason), 320);
        assert_eq!(std::mem::offset_of!(Header, pool.claimed), 384);
        assert_eq!(std::mem::offset_of!(Header, run), 448);
        assert_eq!(std::mem::offset_of!(Header, growth), 512);
        assert_eq!(size_of::<GrowthTable>(), 512);
    }

    #[test]
    fn a_second_mapping_sees_the_first() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("control");
        let ours = Control::create(&path, 3, 2).unwrap();
        let theirs = Control::open(&path).unwrap();
        assert!(Control::marks(&File::open(&path).unwrap()).unwrap());
        ours.rank(2).epoch.set(7);
        ours.set_parked_share(5 << 30);
        assert_eq!(theirs.parked_share(), 5 << 30);
        theirs.set_slots(3);
        assert_eq!(ours.slots(), 3);
        ours.stop(Stop::Interrupted);
        assert_eq!((theirs.num_ranks(), theirs.slots(), theirs.rank(2).epoch.get()), (3, 3, 7));
        assert_eq!(theirs.stopped(), Some(Stop::Interrupted));
        assert_eq!(
            theirs.acquire(0, |_| true, || Ok(())).unwrap_err().kind(),
            ErrorKind::Interrupted
        );
    }

    #[test]
    fn each_kind_of_work_has_its_own_grant() {
        let control = Control::in_memory(4, 1).unwrap();
        assert_eq!(control.work(), Work::Training);
        control.set_slots(3);
        control.set_parked_share(5 << 20);
        control.begin(Work::Evaluation);
        assert_eq!((control.slots(), control.parked_share()), (1, 0));
        control.set_slots_of(Work::Evaluation, 2);
        control.set_parked_share(1 << 20);
        // What is learned of other work has no effect now.
        control.set_slots_of(Work::Training, 4);
        assert_eq!((control.slots(), control.parked_share()), (2, 1 << 20));
        control.begin(Work::Training);
        assert_eq!((control.slots(), control.parked_share()), (4, 5 << 20));
        assert!(Work::ALL.into_iter().all(|work| Work::of(work as u32) == work));
    }

    #[test]
    fn a_carrier_completes_the_collective_of_its_machine() {
        let control = Control::in_memory(2, 2).unwrap();
        control.add_carrier();
        let generation = control.arrive();
        assert!(!control.ranks_have_arrived());
        control.arrive();
        assert!(control.ranks_have_arrived());
        control.arrive();
        assert!(!control.ranks_have_arrived());
        control.wait(generation, || Ok(())).unwrap();
    }

    #[test]
    fn a_file_that_is_no_control_file_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("control");
        for content in [vec![], vec![0; 10], vec![0; 4096]] {
            std::fs::write(&path, content).unwrap();
            let error = Control::open(&path).unwrap_err();
            assert_eq!(error.exit_code(), 1, "{error}");
            assert!(!Control::marks(&File::open(&path).unwrap()).unwrap());
        }
    }
}
