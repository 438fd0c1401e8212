//! Holds: recorded uses of a value.

use std::cell::Cell;
use std::ops::Deref;
use std::rc::{Rc, Weak};

use super::manager::PartitionDataManager;
use super::pointer::{Pinned, Pointer, Spillable};
use super::value::Spill;
use crate::words::error::Result;

/// Records that a value is in use. If other handles remain after the last hold, the manager may drop the value from
/// memory until it is needed again.
pub struct Hold {
    manager: Rc<PartitionDataManager>,
    value: Weak<dyn Spillable>,
    lets_go: Rc<Cell<bool>>,
}

impl Hold {
    /// A hold on a value of `manager`. The value may be released while `lets_go` is true, which means that a pause
    /// comes before its next use.
    pub fn new<T: Spill>(
        manager: &Rc<PartitionDataManager>,
        value: &Pointer<T>,
        lets_go: &Rc<Cell<bool>>,
    ) -> Self {
        let slot: Rc<dyn Spillable> = value.slot().clone();
        slot.holds().set(slot.holds().get() + 1);
        let (manager, lets_go) = (manager.clone(), lets_go.clone());
        Hold { manager, value: Rc::downgrade(&slot), lets_go }
    }
}

/// A value that a recipe uses. If the value itself had to be recomputed, the manager may release it afterwards, because
/// it can be recomputed again.
pub struct Lent<T: Spill> {
    value: Pinned<T>,
    /// Declared after the value, so that the value is dropped first.
    _hold: Option<Hold>,
}

impl<T: Spill> Lent<T> {
    /// Brings a value into memory, in the type in which it is held. `computed` says whether this takes computation
    /// rather than reading files.
    ///
    /// # Errors
    /// If the value cannot be read back (`Io`, `Corrupt`) or computed again.
    pub fn new(
        manager: &Rc<PartitionDataManager>,
        value: &Pointer<T>,
        computed: bool,
    ) -> Result<Self> {
        let computed = computed && value.has_recipe() && !value.is_resident();
        let hold = computed.then(|| Hold::new(manager, value, &Rc::new(Cell::new(true))));
        Ok(Lent { value: value.pin_held()?, _hold: hold })
    }
}

impl<T: Spill> Deref for Lent<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        let Some(value) = self.value.upgrade() else { return };
        value.holds().set(value.holds().get() - 1);
        if self.lets_go.get() {
            self.manager.let_go(&value);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::sync::Arc;

    use super::*;
    use crate::engine::array::Array;
    use crate::engine::spill::SpillStore;
    use crate::engine::turns::{Control, TurnLock};
    use crate::io::{DiskStorage, IoCounters};

    /// Minimum size in bytes of a value that is worth releasing.
    const LARGE: usize = 1 << 20;

    struct Rank {
        manager: Rc<PartitionDataManager>,
        lets_go: Rc<Cell<bool>>,
    }

    impl Rank {
        /// A rank that may keep `share` bytes.
        fn new(folder: &Path, share: u64) -> Self {
            let control = Arc::new(Control::in_memory(1, 1).unwrap());
            control.set_parked_share(share);
            let storage = Arc::new(DiskStorage::default());
            let store = SpillStore::new(folder, storage, IoCounters::default());
            let manager = PartitionDataManager::new(TurnLock::new(control, 0), store);
            // Values alone count, whatever memory other tests of this process take.
            manager.stand_in(1.0, None);
            manager.callback_func().unwrap();
            Rank { manager, lets_go: Rc::new(Cell::new(true)) }
        }

        fn value(&self, bytes: usize) -> (Pointer<Array>, Hold) {
            let value = self.manager.track("value", ones(bytes));
            let hold = Hold::new(&self.manager, &value, &self.lets_go);
            (value, hold)
        }
    }

    fn ones(bytes: usize) -> Array {
        Array::from_slice(&[bytes as i64], &vec![1_u8; bytes]).unwrap()
    }

    #[test]
    fn a_large_value_leaves_with_its_last_hold() {
        let folder = tempfile::tempdir().unwrap();
        let rank = Rank::new(folder.path(), 0);
        let ((value, hold), (small, of_small)) = (rank.value(LARGE), rank.value(LARGE - 1));
        let other = Hold::new(&rank.manager, &value, &rank.lets_go);
        drop((hold, of_small));
        assert!(value.is_resident());
        drop(other);
        assert!(!value.is_resident() && small.is_resident());
        assert_eq!(rank.manager.store().counters().totals().written, LARGE as u64);
        assert_eq!(value.pin().unwrap().bytes().len(), LARGE);
        rank.manager.precall_func().unwrap();
        assert_eq!(rank.manager.store().counters().totals().written, 2 * LARGE as u64 - 1);
    }

    #[test]
    fn values_leave_room_for_memory_that_cannot_be_spilled() {
        let folder = tempfile::tempdir().unwrap();
        let rank = Rank::new(folder.path(), 3 * LARGE as u64);
        rank.manager.lock().status().set_unspillable(2 * LARGE as u64);
        let [(a, of_a), (b, of_b)] = [(); 2].map(|()| rank.value(LARGE));
        drop(of_a);
        assert!(!a.is_resident() && b.is_resident());
        drop(of_b);
        assert!(b.is_resident());
    }

    #[test]
    fn what_fits_the_share_is_pinned_or_is_needed_before_the_pause_stays() {
        let folder = tempfile::tempdir().unwrap();
        let rank = Rank::new(folder.path(), 2 * LARGE as u64);
        let [(a, of_a), (b, of_b)] = [(); 2].map(|()| rank.value(LARGE));
        drop(a.pin().unwrap());
        drop((of_a, of_b));
        assert!(a.is_resident() && b.is_resident());
        let (c, of_c) = rank.value(LARGE);
        drop(of_c);
        assert!(a.is_resident() && !b.is_resident() && c.is_resident(), "b was used longest ago");
        let pinned = [b.pin().unwrap(), c.pin().unwrap()];
        let (d, of_d) = rank.value(LARGE);
        drop(of_d);
        assert!(!a.is_resident() && b.is_resident() && c.is_resident() && !d.is_resident());
        drop(pinned);
        rank.lets_go.set(false);
        let (e, of_e) = rank.value(LARGE);
        drop(of_e);
        assert!(e.is_resident());
    }

    #[test]
    fn what_a_recipe_computed_for_another_is_computed_again() {
        let folder = tempfile::tempdir().unwrap();
        let rank = Rank::new(folder.path(), 0);
        let (layout, recipe) = (ones(LARGE).layout().clone(), Rc::new(|| Ok(ones(LARGE))));
        let value = rank.manager.track_made("x", layout, None, recipe);
        let lend = |computed| drop(Lent::new(&rank.manager, &value, computed).unwrap());
        lend(true);
        assert!(!value.is_resident());
        lend(false);
        assert!(value.is_resident());
        lend(true);
        assert!(value.is_resident(), "others use it too");
    }
}
