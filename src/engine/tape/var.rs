//! Values on the tape.

use std::rc::Rc;

use tch::{Kind, Tensor};

use crate::engine::spill::{Hold, Lent, PartitionDataManager, Pinned, PointerTensor};
use crate::engine::tape::graphs::row_layout::RowLayout;
use crate::words::error::{Error, Result};

/// A handle to a value of the forward pass: a matrix with one row per node.
///
/// Clones are cheap and share the value. A value is freed, in memory and on disk, once the model has dropped its
/// handles and no adjoint needs it. So a model should move its handles into the next operation. A value that only
/// adjoints need may leave memory at once.
#[derive(Clone)]
pub struct Var(Rc<Node>);

struct Node {
    id: usize,
    needs_grad: bool,
    constant: bool,
    value: PointerTensor,
    /// Declared after the value, so that a value without other handles is freed rather than released.
    _hold: Hold,
}

/// A value that adjoints and recipes hold; it does not count as used by the model.
#[derive(Clone)]
pub(super) struct Saved {
    pub(super) value: PointerTensor,
    /// Target of the value's gradient, if it needs one.
    pub(super) target: Option<Target>,
}

impl Saved {
    /// The value for a recipe, in the type in which it is held. Values that depend on a parameter count as computed,
    /// others (such as features) as read.
    pub(super) fn lend(&self, manager: &Rc<PartitionDataManager>) -> Result<Lent<Tensor>> {
        Lent::new(manager, &self.value, self.target.is_some())
    }
}

/// Address of a value's gradient.
#[derive(Debug, Clone)]
pub(super) struct Target {
    pub(super) id: usize,
    pub(super) size: Vec<i64>,
}

impl Var {
    pub(super) fn new(id: usize, needs_grad: bool, value: PointerTensor, hold: Hold) -> Self {
        Var(Rc::new(Node { id, needs_grad, constant: false, value, _hold: hold }))
    }

    pub(super) fn constant(id: usize, value: PointerTensor, hold: Hold) -> Self {
        Var(Rc::new(Node { id, needs_grad: false, constant: true, value, _hold: hold }))
    }

    /// Target of this value's gradient; `None` if it needs none. It does not keep the value alive.
    pub(super) fn target(&self) -> Option<Target> {
        let Node { id, needs_grad, value, .. } = &*self.0;
        needs_grad.then(|| Target { id: *id, size: value.size().to_vec() })
    }

    /// The value in the form that adjoints and recipes store.
    pub(super) fn saved(&self) -> Saved {
        Saved { value: self.value(), target: self.target() }
    }

    /// Whether this is the only handle to a value that must be written before it can leave memory. If so, the value may
    /// be changed in place, and the result kept instead.
    pub(super) fn is_spare(&self) -> bool {
        let value = &self.0.value;
        Rc::strong_count(&self.0) == 1 && value.is_unique() && value.is_unwritten()
    }

    /// Whether both are handles to the same value.
    pub fn is(&self, other: &Var) -> bool {
        Rc::ptr_eq(&self.0, &other.0)
    }

    /// Whether the value needs a gradient, because it depends on a parameter.
    pub fn needs_grad(&self) -> bool {
        self.0.needs_grad
    }

    /// Whether the value is equal in all passes.
    pub(super) fn is_constant(&self) -> bool {
        self.0.constant
    }

    /// Numbers of rows and columns.
    pub fn size(&self) -> &[i64] {
        self.0.value.size()
    }

    /// Number of columns.
    pub fn width(&self) -> i64 {
        self.0.value.size()[1]
    }

    /// Checks that the value is a matrix, for operations that need columns.
    pub(super) fn check_matrix(&self) -> Result<()> {
        let (size, label) = (self.size(), self.0.value.label());
        if size.len() == 2 {
            return Ok(());
        }
        let problem = format!("has shape {size:?}, but this operation takes a row per node");
        Err(Error::config(label, problem)
            .with_hint("make a vector a column, with f_unsqueeze(1), before it is tracked"))
    }

    /// Element type.
    pub fn kind(&self) -> Kind {
        self.0.value.kind()
    }

    /// The value, kept in memory while the result exists.
    ///
    /// # Errors
    /// If the value cannot be read back (`Io`, `Corrupt`) or computed again.
    pub fn pin(&self) -> Result<Pinned<Tensor>> {
        self.0.value.pin()
    }

    /// The value in the type in which it is held, kept in memory while the result exists.
    pub(super) fn pin_held(&self) -> Result<Pinned<Tensor>> {
        self.0.value.pin_held()
    }

    /// Element type in which the value is held.
    pub(super) fn held_kind(&self) -> Kind {
        self.0.value.held_kind()
    }

    /// Layout of the value's rows in messages.
    pub(super) fn rows(&self) -> RowLayout {
        RowLayout {
            width: self.width() as usize,
            kind: self.kind(),
            exact: self.0.value.exact_dtype(),
        }
    }

    /// [`rows`](Self::rows), in the type in which the value is held.
    pub(super) fn held_rows(&self) -> RowLayout {
        RowLayout { kind: self.held_kind(), ..self.rows() }
    }

    /// The tracked value alone, without its place on the tape.
    pub fn value(&self) -> PointerTensor {
        self.0.value.clone()
    }

    /// The value for changes in place, in the type in which it is held, or in which it is used. It is a copy if other
    /// handles exist.
    pub(super) fn into_tensor(self, as_held: bool) -> Result<Tensor> {
        match Rc::try_unwrap(self.0) {
            Ok(node) => node.value.into_tensor(as_held),
            Err(shared) => shared.value.clone().into_tensor(as_held),
        }
    }
}
