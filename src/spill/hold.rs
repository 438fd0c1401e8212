//! Who works with a value.

use std::cell::Cell;
use std::ops::Deref;
use std::rc::{Rc, Weak};

use tch::Tensor;

use super::manager::PartitionDataManager;
use super::pointer::{Pinned, PointerTensor, Spillable};
use crate::error::Result;

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

/// A value for a recipe. If it had to be computed again itself, the manager lets go of it behind that: it can be once more.
pub(crate) struct Lent {
    value: Pinned<Tensor>,
    /// Goes behind the value, which is in use before.
    _hold: Option<Hold>,
}

impl Lent {
    /// Brings a value into memory, as it is held.
    pub(crate) fn new(manager: &Rc<PartitionDataManager>, value: &PointerTensor) -> Result<Self> {
        let computed = value.has_recipe() && !value.is_resident();
        let hold = computed.then(|| Hold::new(manager, value, &Rc::new(Cell::new(true))));
        Ok(Lent { value: value.pin_held()?, _hold: hold })
    }
}

impl Deref for Lent {
    type Target = Tensor;

    fn deref(&self) -> &Tensor {
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
