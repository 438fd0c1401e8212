//! Handles to values that are in memory, on disk, or both.

use std::cell::{Cell, OnceCell, RefCell};
use std::ops::Deref;
use std::rc::Rc;

use tracing::debug;

use super::room::ValueSizes;
use super::store::{SpillFile, SpillStore, SpillWriter};
use super::value::Spill;
use super::value_file::Extent;
use crate::event::{SpanKind, span_of};
use crate::words::error::{Error, ErrorKind, Result};

/// Remedy for a pin that is held across a pause.
const UNPIN: &str =
    "drop the result of `pin` before the collective: the memory of a rank that waits goes to disk";

/// A handle to an immutable value. Clones share it; the value and its file are removed with the last one.
///
/// Created by [`PartitionDataManager::track`](super::PartitionDataManager::track) and
/// [`track_made`](super::PartitionDataManager::track_made).
pub struct Pointer<T: Spill>(Rc<Slot<T>>);

/// A value, in memory or on disk.
pub(super) struct Slot<T: Spill> {
    label: String,
    layout: T::Layout,
    store: Rc<SpillStore>,
    /// Last time at which the value was pinned or created, by the store's clock.
    used: Cell<u64>,
    holds: Cell<usize>,
    /// Size of the packed value in bytes, if packing at least halves it.
    packed_len: OnceCell<Option<u64>>,
    state: RefCell<State<T>>,
}

struct State<T> {
    resident: Option<Rc<T>>,
    /// The packed form in memory, if the value is not resident.
    packed: Option<(Rc<SpillFile>, Extent)>,
    backing: Backing<T>,
}

/// How a value can be restored after it has left memory.
enum Backing<T> {
    /// No way yet: the value must be written first.
    None,
    /// By reading it from a spill file.
    File(Rc<SpillFile>, Extent),
    /// By a function that reads it from the user's data, or computes it from other pointers.
    Recipe(Rc<dyn Fn() -> Result<T>>),
}

/// Keeps a value in memory while this exists.
pub struct Pinned<T>(Rc<T>);

impl<T> Deref for Pinned<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T: Spill> Clone for Pointer<T> {
    fn clone(&self) -> Self {
        Pointer(self.0.clone())
    }
}

impl<T: Spill> Pointer<T> {
    /// A value in memory, or one with a recipe.
    pub(super) fn new(
        label: &str,
        layout: T::Layout,
        value: Option<T>,
        recipe: Option<Rc<dyn Fn() -> Result<T>>>,
        store: Rc<SpillStore>,
    ) -> Self {
        let backing = recipe.map_or(Backing::None, Backing::Recipe);
        Pointer(Rc::new(Slot {
            label: label.to_owned(),
            layout,
            used: Cell::new(store.tick()),
            holds: Cell::new(0),
            packed_len: OnceCell::new(),
            state: RefCell::new(State { resident: value.map(Rc::new), packed: None, backing }),
            store,
        }))
    }

    pub(super) fn slot(&self) -> &Rc<Slot<T>> {
        &self.0
    }

    pub(super) fn layout(&self) -> &T::Layout {
        &self.0.layout
    }

    /// Brings the value into memory and keeps it there while the result exists. Rows that are held in another type than
    /// they are used in are converted on each call.
    ///
    /// # Errors
    /// If the value cannot be read back (`Io`, `Corrupt`) or computed again.
    pub fn pin(&self) -> Result<Pinned<T>> {
        let held = self.pin_held()?;
        let widened = held.widened(&self.0.layout)?;
        Ok(widened.map_or(held, |value| Pinned(Rc::new(value))))
    }

    /// Like [`pin`](Self::pin), without converting the value from the type in which it is held.
    ///
    /// # Errors
    /// As for [`pin`](Self::pin).
    pub fn pin_held(&self) -> Result<Pinned<T>> {
        self.0.used.set(self.0.store.tick());
        if let Some(value) = &self.0.state.borrow().resident {
            return Ok(Pinned(value.clone()));
        }
        let value = Rc::new(self.0.bring_back()?);
        let mut state = self.0.state.borrow_mut();
        (state.resident, state.packed) = (Some(value.clone()), None);
        Ok(Pinned(value))
    }

    /// Takes the value out for changing it in place; its file is removed.
    ///
    /// # Errors
    /// If another handle to the value exists or it is pinned (`Config`), or it cannot be read back (`Io`, `Corrupt`).
    pub fn take(self) -> Result<T> {
        let layout = self.0.layout.clone();
        let held = self.take_held()?;
        Ok(held.widened(&layout)?.unwrap_or(held))
    }

    /// Like [`take`](Self::take), without converting the value from the type in which it is held.
    ///
    /// # Errors
    /// As for [`take`](Self::take).
    pub fn take_held(self) -> Result<T> {
        let pinned = self.pin_held()?;
        let slot = Rc::try_unwrap(self.0)
            .map_err(|slot| Error::config(&slot.label, "is taken while it is shared"))?;
        drop(pinned);
        let value = slot.state.into_inner().resident.map(Rc::try_unwrap);
        match value {
            Some(Ok(value)) => Ok(value),
            _ => Err(Error::config(&slot.label, "is taken while it is pinned")),
        }
    }

    /// Whether this is the only handle to the value.
    pub fn is_unique(&self) -> bool {
        Rc::strong_count(&self.0) == 1
    }

    /// Whether the value is computed or read again when needed.
    pub(super) fn has_recipe(&self) -> bool {
        matches!(self.0.state.borrow().backing, Backing::Recipe(_))
    }

    /// Whether the value is only in memory and must be written before it can leave.
    pub fn is_unwritten(&self) -> bool {
        self.0.unwritten_bytes().is_some()
    }

    /// Label of the value in file names and messages.
    pub fn label(&self) -> &str {
        &self.0.label
    }

    /// Whether the value is in memory now.
    pub fn is_resident(&self) -> bool {
        self.0.state.borrow().resident.is_some()
    }
}

impl Pointer<Vec<u32>> {
    /// Number of rows in the list.
    pub fn len(&self) -> usize {
        self.0.layout
    }

    /// Whether the list has no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl<T: Spill> Slot<T> {
    fn bring_back(&self) -> Result<T> {
        // The recipe may pin other pointers, so the state must not be borrowed while it runs.
        let state = self.state.borrow();
        if let Some((file, extent)) = &state.packed {
            let _unpacks = span_of(SpanKind::Operation, || format!("unpack {}", self.label));
            return self.load(file, *extent);
        }
        let recipe = match &state.backing {
            Backing::File(file, extent) => {
                let mut reads = span_of(SpanKind::Disk, || format!("read {} back", self.label));
                reads.set("bytes", T::byte_len(&self.layout));
                return self.load(file, *extent);
            }
            Backing::Recipe(recipe) => recipe.clone(),
            Backing::None => {
                return Err(Error::internal(format!(
                    "{} is neither in memory nor on disk",
                    self.label
                )));
            }
        };
        drop(state);
        let _makes = span_of(SpanKind::Operation, || format!("make {} again", self.label));
        recipe()
    }

    /// Packed size in bytes, if the value is resident, has no recipe, and packing at least halves it.
    fn packed_len(&self) -> Option<u64> {
        let state = self.state.borrow();
        let value = state.resident.as_ref()?;
        if matches!(state.backing, Backing::Recipe(_)) {
            return None;
        }
        let halves = |packed: &u64| packed * 2 <= T::byte_len(&self.layout);
        *self.packed_len.get_or_init(|| value.packed_len().filter(halves))
    }

    fn load(&self, file: &SpillFile, extent: Extent) -> Result<T> {
        let mut reader = file.reader(extent)?;
        let value = T::load(&self.layout, &mut reader)?;
        debug!(value = self.label, bytes = T::byte_len(&self.layout), "read back");
        reader.finish()?;
        Ok(value)
    }
}

/// Operations of the manager on pointers of any type.
pub(super) trait Spillable {
    /// Name of the value in file names.
    fn label(&self) -> &str;
    /// Bytes to write before the value can leave memory; `None` if it can leave at once, or has left.
    fn unwritten_bytes(&self) -> Option<u64>;
    /// Bytes of memory that the value takes now, and packed. Both are the same for values that packing does not halve,
    /// and for values with a recipe.
    fn sizes(&self) -> ValueSizes;
    /// Packs a resident value in memory; does nothing if memory runs out.
    fn pack(&self) -> Result<()>;
    /// Whether the value can only be restored from a file.
    fn needs_file(&self) -> bool;
    /// Writes the value.
    fn save(&self, writer: &mut SpillWriter) -> Result<Extent>;
    /// Records where the value has been written.
    fn written(&self, file: Rc<SpillFile>, extent: Extent);
    /// Drops the value from memory, after it has been written if necessary.
    fn leave(&self);
    /// Fails if the value is pinned (`Worker`), because no pin may be held across a pause.
    fn check_unpinned(&self) -> Result<()>;
    /// Whether the value is pinned.
    fn is_pinned(&self) -> bool;
    /// Number of [holds](super::Hold) on the value.
    fn holds(&self) -> &Cell<usize>;
    /// Time when the value was last used, by the store's clock.
    fn used(&self) -> &Cell<u64>;
    /// Bytes of memory that the value takes now.
    fn resident_bytes(&self) -> u64;
}

impl<T: Spill> Spillable for Slot<T> {
    fn label(&self) -> &str {
        &self.label
    }

    fn unwritten_bytes(&self) -> Option<u64> {
        let state = self.state.borrow();
        let is_unwritten = state.is_in_memory() && matches!(state.backing, Backing::None);
        is_unwritten.then(|| state.bytes(&self.layout))
    }

    fn sizes(&self) -> ValueSizes {
        let now = self.resident_bytes();
        ValueSizes { now, least: self.packed_len().unwrap_or(now) }
    }

    fn pack(&self) -> Result<()> {
        let Some(len) = self.packed_len() else { return Ok(()) };
        let _packs = span_of(SpanKind::Operation, || format!("pack {}", self.label));
        let Some(mut writer) = SpillWriter::in_memory(&self.label, len) else {
            return Ok(());
        };
        let extent = self.save(&mut writer)?;
        if extent.packed.is_some() {
            let mut state = self.state.borrow_mut();
            (state.resident, state.packed) = (None, Some((writer.finish()?, extent)));
            debug!(value = self.label, bytes = extent.len, "packed");
        }
        Ok(())
    }

    fn needs_file(&self) -> bool {
        !matches!(self.state.borrow().backing, Backing::Recipe(_))
    }

    fn save(&self, writer: &mut SpillWriter) -> Result<Extent> {
        let state = self.state.borrow();
        if let Some((file, extent)) = &state.packed {
            return writer.copy(file, *extent);
        }
        if let Some(value) = &state.resident {
            value.save(writer)?;
        }
        writer.end_value()
    }

    fn written(&self, file: Rc<SpillFile>, extent: Extent) {
        self.state.borrow_mut().backing = Backing::File(file, extent);
    }

    fn leave(&self) {
        let mut state = self.state.borrow_mut();
        (state.resident, state.packed) = (None, None);
    }

    fn check_unpinned(&self) -> Result<()> {
        if self.is_pinned() {
            let problem = format!("{} is pinned at a collective", self.label);
            return Err(Error::new(ErrorKind::Worker, problem).with_hint(UNPIN));
        }
        Ok(())
    }

    fn is_pinned(&self) -> bool {
        self.state.borrow().resident.as_ref().is_some_and(|value| Rc::strong_count(value) > 1)
    }

    fn holds(&self) -> &Cell<usize> {
        &self.holds
    }

    fn used(&self) -> &Cell<u64> {
        &self.used
    }

    fn resident_bytes(&self) -> u64 {
        self.state.borrow().bytes(&self.layout)
    }
}

impl<T: Spill> State<T> {
    fn is_in_memory(&self) -> bool {
        self.resident.is_some() || self.packed.is_some()
    }

    /// Bytes of memory that the value takes.
    fn bytes(&self, layout: &T::Layout) -> u64 {
        match (&self.resident, &self.packed) {
            (Some(_), _) => T::byte_len(layout),
            (None, Some((_, extent))) => extent.len,
            (None, None) => 0,
        }
    }
}
