//! Who still works with a value.

use std::cell::Cell;
use std::rc::{Rc, Weak};

use super::manager::PartitionDataManager;
use super::pointer::{PointerTensor, Spillable};

/// Says that somebody works with a value. When the last one of a value goes while other handles on it remain, which will need it
/// later, the manager lets go of it.
pub(crate) struct Hold {
    manager: Rc<PartitionDataManager>,
    value: Weak<dyn Spillable>,
    lets_go: Rc<Cell<bool>>,
}

impl Hold {
    /// A hold on a value that `manager` keeps. Values are let go of while `lets_go` is true: it says whether a pause lies before
    /// their next use.
    pub(crate) fn new(
        manager: &Rc<PartitionDataManager>,
        value: &PointerTensor,
        lets_go: &Rc<Cell<bool>>,
    ) -> Self {
        let slot: Rc<dyn Spillable> = value.slot().clone();
        slot.holds().set(slot.holds().get() + 1);
        let (manager, lets_go) = (manager.clone(), lets_go.clone());
        Hold { manager, value: Rc::downgrade(&slot), lets_go }
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
