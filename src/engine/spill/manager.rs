//! Tracks a rank's values, and spills them around a pause.

use std::cell::{Cell, OnceCell, RefCell};
use std::rc::{Rc, Weak};
use std::time::Instant;

use tracing::debug;

use super::dtype::{ComputeDtype, SpillDtype};
use super::pointer::{Pointer, Spillable};
use super::room::to_pack;
use super::shard::ShardPointer;
use super::store::SpillStore;
use super::value::Spill;
use crate::engine::turns::{Phase, TurnLock, Work};
use crate::event::{SpanKind, span_of};
use crate::graph::GraphShard;
use crate::platform::heap::{give_memory_back, map_blocks};
use crate::platform::{anonymous_bytes, blocks};
use crate::words::error::{Error, Result};

/// Values smaller than this, in bytes, stay in memory until the pause and share a file when they are written, because
/// there are many of them and each file has a cost.
const SMALL: u64 = 1 << 20;

/// Keeps the values of one rank within the memory that it may claim: SAR's `PartitionDataManager`. (A user's program
/// gets SAR's `partition_data`, `features`, `labels` and `masks` from [`Rank`](crate::run::Rank).)
///
/// Tensors are registered with [`track`](PartitionDataManager::track). At a pause ([`precall_func`]), tensors for which
/// the rank can claim no memory are spilled; each is written to disk at most once. Then the rank gives up its turn;
/// [`callback_func`] takes the next one. A tensor is read again when it is next used.
///
/// [`precall_func`]: PartitionDataManager::precall_func
/// [`callback_func`]: PartitionDataManager::callback_func
pub struct PartitionDataManager {
    lock: TurnLock,
    store: Rc<SpillStore>,
    tracked: RefCell<Vec<Weak<dyn Spillable>>>,
    /// Values that are not used before the next pause.
    idle: RefCell<Vec<Weak<dyn Spillable>>>,
    /// The error of a value among these that could not be written.
    failure: RefCell<Option<Error>>,
    /// Length of the list of values at which dropped ones are removed.
    longest: Cell<usize>,
    resumed: Cell<Option<Instant>>,
    /// Start of the turn, by the store's clock.
    turn_began: Cell<u64>,
    /// Kind of the ranks' current work.
    work: Cell<Work>,
    /// Memory of this process before it kept values, in bytes.
    base: u64,
    /// Size in bytes below which values count as small.
    small: Cell<u64>,
    /// Stand-in runs only: maximum memory at a pause, in bytes.
    stand_in: OnceCell<Option<Rc<Cell<u64>>>>,
    /// Type in which rows that outlive an operation are held.
    pub spill_dtype: Cell<SpillDtype>,
    /// Type of computations in layers.
    pub compute_dtype: Cell<ComputeDtype>,
}

impl PartitionDataManager {
    /// Creates a manager without values.
    pub fn new(lock: TurnLock, store: Rc<SpillStore>) -> Rc<Self> {
        Rc::new(PartitionDataManager {
            lock,
            store,
            tracked: RefCell::default(),
            idle: RefCell::default(),
            failure: RefCell::default(),
            longest: Cell::new(64),
            resumed: Cell::new(None),
            turn_began: Cell::new(0),
            work: Cell::new(Work::Training),
            base: anonymous_bytes("self").unwrap_or(0),
            small: Cell::new(SMALL),
            stand_in: OnceCell::new(),
            spill_dtype: Cell::default(),
            compute_dtype: Cell::default(),
        })
    }

    /// Prepares for a stand-in graph of `scale` times the real size. Memory is only recorded, in `waiting`, which becomes the
    /// maximum of the process's anonymous memory at a pause, in bytes. It never counts as kept, because a process's other
    /// memory does not shrink with the graph. Without `waiting`, freed memory is not returned.
    pub fn stand_in(&self, scale: f64, waiting: Option<Rc<Cell<u64>>>) {
        self.small.set((SMALL as f64 * scale) as u64);
        // Set once per rank.
        let _ = self.stand_in.set(waiting);
    }

    /// Tracks a value; `label` appears in names of spill files. A tensor that is not contiguous is copied.
    pub fn track<T: Spill>(&self, label: &str, value: T) -> Pointer<T> {
        let value = value.kept();
        let layout = value.layout();
        self.track_as(label, layout, value)
    }

    /// Tracks a shard; `label` appears in names of spill files.
    pub fn track_shard(&self, label: &str, shard: GraphShard) -> ShardPointer {
        let GraphShard { by_dst, by_src } = shard;
        ShardPointer { by_dst: self.track(label, by_dst), by_src: self.track(label, by_src) }
    }

    /// Tracks a value that is used in another type than it is held in, according to its layout.
    pub(super) fn track_as<T: Spill>(
        &self,
        label: &str,
        layout: T::Layout,
        value: T,
    ) -> Pointer<T> {
        self.register(Pointer::new(label, layout, Some(value), None, self.store.clone()))
    }

    /// Tracks a value that never needs a file, because `recipe` always produces the same value, with this layout.
    pub fn track_made<T: Spill>(
        &self,
        label: &str,
        layout: T::Layout,
        value: Option<T>,
        recipe: Rc<dyn Fn() -> Result<T>>,
    ) -> Pointer<T> {
        self.register(Pointer::new(label, layout, value, Some(recipe), self.store.clone()))
    }

    fn register<T: Spill>(&self, pointer: Pointer<T>) -> Pointer<T> {
        let slot: Rc<dyn Spillable> = pointer.slot().clone();
        let mut tracked = self.tracked.borrow_mut();
        tracked.push(Rc::downgrade(&slot));
        if tracked.len() > self.longest.get() {
            tracked.retain(|slot| slot.strong_count() > 0);
            self.longest.set(64 + 2 * tracked.len());
        }
        pointer
    }

    /// Runs before the wait of a collective: values beyond the rank's claim leave memory, then the turn is given up.
    ///
    /// # Errors
    /// If a value cannot be spilled (`Io`, `OutOfDisk`), or is pinned (`Worker`).
    pub fn precall_func(&self) -> Result<()> {
        if let Some(error) = self.failure.take() {
            return Err(error);
        }
        self.lock.set_cached(self.store.cached_bytes());
        let moved = self.store.counters().totals();
        self.lock.status().moved.set(moved.written + moved.read);
        self.make_room()?;
        self.idle.borrow_mut().clear();
        self.lock.release();
        Ok(())
    }

    /// Records that a value is not used before the next pause. If memory already holds more than may be kept through
    /// the pause, such values leave now, least recently used first. Errors are reported at the next pause.
    pub(super) fn let_go(&self, value: &Rc<dyn Spillable>) {
        self.idle.borrow_mut().push(Rc::downgrade(value));
        if self.failure.borrow().is_none()
            && let Err(error) = self.spill_idle()
        {
            self.failure.replace(Some(error));
        }
    }

    fn spill_idle(&self) -> Result<()> {
        let mut slots: Vec<_> = self.idle.borrow().iter().filter_map(Weak::upgrade).collect();
        // A small value would take a file of its own and free little memory.
        slots.retain(|slot| {
            slot.holds().get() == 0
                && !slot.is_pinned()
                && slot.resident_bytes() >= self.small.get()
        });
        if slots.is_empty() {
            return Ok(());
        }
        let (resident, rest) = (self.resident_bytes(), self.lock.status().unspillable());
        let room = self.lock.room_to_wait(&[resident + rest]).saturating_sub(rest);
        self.pack(&slots, room)?;
        self.spill(slots, room)
    }

    /// Runs after a collective is complete: takes the next turn. Values are read when they are used. If the user has
    /// paused the run, all values leave memory, and the turn is taken when it continues.
    ///
    /// # Errors
    /// If the run is being stopped (`Aborted`, `Interrupted`), or a value cannot be written before a pause (`Io`, `OutOfDisk`).
    pub fn callback_func(&self) -> Result<()> {
        self.pause_if_asked()?;
        self.resumed.set(Some(Instant::now()));
        self.turn_began.set(self.store.tick());
        // Messages that all ranks have read are gone.
        self.lock.set_cached(self.store.cached_bytes());
        self.lock.acquire(|| self.give_way())?;
        // If the rank may keep as much as it ever uses, freed blocks are kept for reuse.
        blocks::set_room(self.lock.parked_share());
        Ok(())
    }

    /// Spills what the launcher has asked this rank to give up while it waits, least recently used values first.
    ///
    /// # Errors
    /// If a value cannot be written (`Io`, `OutOfDisk`).
    pub fn give_way(&self) -> Result<()> {
        let excess = self.lock.excess();
        if excess == 0 {
            return Ok(());
        }
        let room = self.lock.status().kept() - excess;
        let mut slots = self.values();
        slots.retain(|slot| !slot.is_pinned());
        let rest = self.lock.status().unspillable();
        self.spill(slots, room.saturating_sub(rest))?;
        self.settle(room);
        debug!(excess, "gave way");
        Ok(())
    }

    /// Waits, with all values on disk, while the user has paused the run. The rank must not have the turn.
    ///
    /// # Errors
    /// If the run is being stopped (`Aborted`, `Interrupted`), or a value cannot be written (`Io`, `OutOfDisk`).
    pub fn pause_if_asked(&self) -> Result<()> {
        self.lock.pause(|| {
            self.spill(self.values(), 0)?;
            self.settle(0);
            Ok(())
        })
    }

    /// Time at which the last collective was complete, before this rank waited for its turn: about the same on all
    /// ranks.
    pub fn last_collective(&self) -> Option<Instant> {
        self.resumed.get()
    }

    /// Prepares for a kind of work that may take more or less memory than the work before: values beyond this rank's
    /// share leave memory, and a pass over the full graph gets an allocator for large values. Returns whether the
    /// work is new. All ranks call this, with or without a turn, and then wait for one another (a
    /// [`barrier`](crate::engine::comm::barrier)) before any of them starts the work.
    ///
    /// # Errors
    /// If a value cannot be written (`Io`, `OutOfDisk`).
    pub fn begin_work(&self, work: Work) -> Result<bool> {
        if self.work.replace(work) == work {
            return Ok(false);
        }
        let rest = self.lock.status().unspillable();
        self.spill(self.values(), self.lock.first_share_of(work).saturating_sub(rest))?;
        // Blocks freed by batches do not suit an evaluation, and vice versa.
        map_blocks(work.is_pass());
        self.settle(0);
        self.lock.begin(work);
        self.store.share_cache(self.lock.cache_share());
        Ok(true)
    }

    /// Returns freed memory, and replaces this rank's claim by what it keeps: `kept` bytes where the system does not report
    /// it.
    fn settle(&self, kept: u64) {
        give_memory_back();
        let own = self.own_memory();
        if let Some(own) = own {
            self.lock.status().set_unspillable(own.saturating_sub(self.resident_bytes()));
        }
        self.lock.keep(own.unwrap_or(kept));
    }

    /// The tracked values. A copy of the list: a borrow of it while files are written would turn the mistake of tracking a
    /// value there into a panic.
    fn values(&self) -> Vec<Rc<dyn Spillable>> {
        self.tracked.borrow().iter().filter_map(Weak::upgrade).collect()
    }

    /// Bytes of tracked values in memory.
    pub fn resident_bytes(&self) -> u64 {
        self.values().iter().map(|value| value.resident_bytes()).sum()
    }

    /// Additional bytes that this rank may keep in memory while it waits.
    pub fn spare_share(&self) -> u64 {
        // Memory that is not of tracked values stays, too.
        let all = self.own_memory().unwrap_or(0).max(self.resident_bytes());
        self.lock.parked_share().saturating_sub(all)
    }

    /// Claims memory for data that are not tracked and stay, up to `bytes` bytes, and returns the bytes that the rank may
    /// take, which differ between ranks. The rank must not have the turn; it takes them before its next one.
    pub fn claim_spare(&self, bytes: u64) -> u64 {
        let status = self.lock.status();
        let kept = status.kept();
        // A rank that gets nothing does not touch its claim, which others would see without what it keeps.
        if self.lock.room_to_wait(&[kept + bytes]) <= kept {
            return 0;
        }
        let room = self.lock.claim_room(&[kept, kept + bytes]).saturating_sub(kept);
        self.lock.keep(kept + room);
        status.set_unspillable(status.unspillable() + room);
        self.store.share_cache(self.lock.cache_share());
        room
    }

    /// Sets the phase of this rank, which messages name.
    pub fn set_phase(&self, phase: Phase) {
        self.lock.status().set_phase(phase);
    }

    /// The turn lock of this rank.
    pub fn lock(&self) -> &TurnLock {
        &self.lock
    }

    /// The store of this rank's spill files.
    pub fn store(&self) -> &SpillStore {
        &self.store
    }

    /// Removes the rank's spill files: SAR's `remove_files`. Rarely needed, because a value's file is removed with its
    /// last handle.
    ///
    /// # Errors
    /// If values exist whose only copy may be in a file (`Config`), or a file cannot be removed (`Io`).
    pub fn remove_files(&self) -> Result<()> {
        let slots = self.values();
        let mut needed: Vec<_> = slots.iter().filter(|slot| slot.needs_file()).collect();
        if needed.is_empty() {
            return self.store.remove_files();
        }
        let count = needed.len();
        needed.sort_by(|a, b| a.label().cmp(b.label()));
        needed.dedup_by(|a, b| a.label() == b.label());
        let labels: Vec<_> = needed.iter().map(|slot| slot.label()).collect();
        let problem = format!("{count} values still need their files: {}", labels.join(", "));
        Err(Error::config("remove_files", problem).with_hint(
            "leave the call out: the file of a value is removed with the last handle on the value",
        ))
    }

    /// Removes the rank's folder of spill files, at the end of its work. Values that are only on disk are lost.
    ///
    /// # Errors
    /// If the folder cannot be removed (`Io`).
    pub fn close(&self) -> Result<()> {
        self.tracked.borrow_mut().clear();
        self.store.remove_folder()
    }

    /// Claims memory until the next turn, and spills values beyond the claim. Models run forwards and then backwards,
    /// so the most recently used values are needed first, and the least recently used ones are spilled first.
    fn make_room(&self) -> Result<()> {
        self.tracked.borrow_mut().retain(|slot| slot.strong_count() > 0);
        let slots = self.values();
        slots.iter().try_for_each(|slot| slot.check_unpinned())?;
        let resident: u64 = slots.iter().map(|slot| slot.resident_bytes()).sum();
        self.put_idle_behind();
        let soon = self.bytes_of_next_turn(&slots);
        // Freed memory is worth keeping, too, because the system need not map and clear it again.
        let all = self.own_memory().unwrap_or(0).max(resident);
        let rest = self.lock.status().unspillable().min(all - resident);
        let mut wants = vec![rest + soon, rest + resident, all];
        if (1..all).contains(&self.lock.room_to_wait(&[all])) {
            wants.push(rest + slots.iter().map(|slot| slot.sizes().least).sum::<u64>());
        }
        let room = self.lock.claim_room(&wants);
        debug!(resident, rest, needed_soon = soon, room, "pause");
        let exceeds = room == 0 || room < all;
        if exceeds {
            let for_values = room.saturating_sub(rest);
            self.pack(&slots, for_values)?;
            self.spill(slots, for_values)?;
        }
        let kept = resident.min(room);
        // A stand-in's share is scaled with its graph, and holds no freed memory.
        if self.stand_in.get().map_or(exceeds, Option::is_some) {
            self.settle(kept);
        } else {
            self.lock.status().set_unspillable(rest);
            self.lock.keep(self.own_memory().unwrap_or(kept));
        }
        if let Some(Some(waiting)) = self.stand_in.get() {
            waiting.set(waiting.get().max(anonymous_bytes("self").unwrap_or(0)));
        }
        self.store.share_cache(self.lock.cache_share().saturating_sub(soon));
        Ok(())
    }

    /// Runs `write`, which writes messages that are read again in later turns. They use no more page cache than this rank
    /// may use in each of those turns.
    ///
    /// # Errors
    /// If `write` fails.
    pub fn write_lasting<T>(&self, write: impl FnOnce() -> Result<T>) -> Result<T> {
        let share = self.store.cache_share();
        self.store.share_cache(share.min(self.lock.lasting_cache_share()));
        let written = write();
        self.store.share_cache(share);
        written
    }

    /// Marks values released in this turn as used before it, because the next turn does not use them.
    fn put_idle_behind(&self) {
        for slot in self.idle.borrow().iter().filter_map(Weak::upgrade) {
            slot.used().set(slot.used().get().min(self.turn_began.get()));
        }
    }

    /// Bytes of values that the next turn is likely to use: those that this turn has used and not released.
    fn bytes_of_next_turn(&self, slots: &[Rc<dyn Spillable>]) -> u64 {
        let began = self.turn_began.get();
        let used = slots.iter().filter(|slot| slot.used().get() > began);
        used.map(|slot| slot.resident_bytes()).sum()
    }

    /// Growth of this process's memory since before it kept values, in bytes, if the system reports it.
    fn own_memory(&self) -> Option<u64> {
        if self.stand_in.get().is_some() {
            return None;
        }
        anonymous_bytes("self").map(|bytes| bytes.saturating_sub(self.base))
    }

    /// Packs values if more of them fit into `room` bytes that way.
    fn pack(&self, slots: &[Rc<dyn Spillable>], room: u64) -> Result<()> {
        let resident = self.resident_bytes();
        let others = resident - slots.iter().map(|slot| slot.resident_bytes()).sum::<u64>();
        if resident <= room || room <= others {
            return Ok(());
        }
        let mut slots: Vec<_> = slots.iter().filter(|slot| slot.resident_bytes() > 0).collect();
        slots.sort_by_key(|slot| slot.used().get());
        let sizes: Vec<_> = slots.iter().map(|slot| slot.sizes()).collect();
        let places = to_pack(&sizes, room - others);
        places.into_iter().try_for_each(|place| slots[place].pack())
    }

    /// Spills some of the values, least recently used first, until all tracked values take at most `room` bytes of memory.
    fn spill(&self, mut slots: Vec<Rc<dyn Spillable>>, room: u64) -> Result<()> {
        let mut resident = self.resident_bytes();
        slots.sort_by_key(|slot| slot.used().get());
        let mut small = Vec::new();
        for slot in slots {
            if resident <= room {
                break;
            }
            resident -= slot.resident_bytes();
            match slot.unwritten_bytes() {
                None => slot.leave(),
                Some(bytes) if bytes < self.small.get() => small.push(slot),
                Some(_) => self.write(&[slot])?,
            }
        }
        self.write(&small)
    }

    /// Writes values into one file and drops them from memory.
    fn write(&self, slots: &[Rc<dyn Spillable>]) -> Result<()> {
        let Some(first) = slots.first() else { return Ok(()) };
        let mut spills = span_of(SpanKind::Disk, || format!("spill {}", first.label()));
        let mut writer = self.store.writer(first.label())?;
        let extents = slots.iter().map(|slot| slot.save(&mut writer));
        let extents = extents.collect::<Result<Vec<_>>>()?;
        let file = writer.finish()?;
        let bytes: u64 = slots.iter().map(|slot| slot.resident_bytes()).sum();
        debug!(value = first.label(), values = slots.len(), bytes, "spilled");
        spills.set("values", slots.len());
        spills.set("bytes", bytes);
        for (slot, extent) in slots.iter().zip(extents) {
            slot.written(file.clone(), extent);
            slot.leave();
        }
        Ok(())
    }
}
