//! Values on the tape.

use std::rc::Rc;

use tch::{Kind, Tensor};

use crate::engine::spill::{Hold, Lent, PartitionDataManager, Pinned, PointerTensor};
use crate::engine::tape::graphs::graph::RowLayout;
use crate::engine::tensor;
use crate::error::Result;

/// A handle on a value of the forward pass: a matrix with one row per node.
///
/// Clones are cheap and share the value. A value is freed, in memory and on disk, when the model has dropped its handles and no
/// adjoint needs it, so a model that moves its handles into the next operation keeps nothing too long. A value that only
/// adjoints need may leave memory at once.
#[derive(Clone)]
pub struct Var(Rc<Node>);

struct Node {
    id: usize,
    needs_grad: bool,
    constant: bool,
    value: PointerTensor,
    /// Comes after the value in the order of drops: a value without other handles is gone rather than let go of.
    _hold: Hold,
}

/// A value held by adjoints and recipes, which does not count as one that the model uses.
#[derive(Clone)]
pub(super) struct Saved {
    pub(super) value: PointerTensor,
    /// The target of its gradient, if it needs one.
    pub(super) target: Option<Target>,
}

impl Saved {
    /// The value for a recipe, in the type it is held in. A value that depends on a parameter is computed; others are read, as
    /// features are.
    pub(super) fn lend(&self, manager: &Rc<PartitionDataManager>) -> Result<Lent<Tensor>> {
        Lent::new(manager, &self.value, self.target.is_some())
    }
}

/// The address of a value's gradient.
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

    /// The target of this value's gradient; `None` if it needs none. It does not keep the value.
    pub(super) fn target(&self) -> Option<Target> {
        let Node { id, needs_grad, value, .. } = &*self.0;
        needs_grad.then(|| Target { id: *id, size: value.size().to_vec() })
    }

    /// The value in the form that an adjoint or a recipe stores.
    pub(super) fn saved(&self) -> Saved {
        Saved { value: self.value(), target: self.target() }
    }

    /// Whether this is the only handle on a value that has to be written before it can leave memory. If so, it may be changed
    /// in place, and the result kept instead.
    pub(super) fn is_spare(&self) -> bool {
        let value = &self.0.value;
        Rc::strong_count(&self.0) == 1 && value.is_unique() && value.is_unwritten()
    }

    /// Whether both are handles on the same value.
    pub fn is(&self, other: &Var) -> bool {
        Rc::ptr_eq(&self.0, &other.0)
    }

    /// Whether this value needs a gradient, because it depends on a parameter.
    pub fn needs_grad(&self) -> bool {
        self.0.needs_grad
    }

    /// Whether this value is the same in all passes.
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

    /// Element type.
    pub fn kind(&self) -> Kind {
        self.0.value.kind()
    }

    /// The value, held in memory while the result lives.
    ///
    /// # Errors
    /// If the value cannot be read back (`Io`, `Corrupt`) or computed again.
    pub fn pin(&self) -> Result<Pinned<Tensor>> {
        self.0.value.pin()
    }

    /// The value in the type it is held in, in memory while the result lives.
    pub(super) fn pin_held(&self) -> Result<Pinned<Tensor>> {
        self.0.value.pin_held()
    }

    /// The element type in which the value is held.
    pub(super) fn held_kind(&self) -> Kind {
        self.0.value.held_kind()
    }

    /// The layout of the value's rows in messages.
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

    /// The value, without its place in the forward pass.
    pub fn value(&self) -> PointerTensor {
        self.0.value.clone()
    }

    /// The value for a change in place, in the type in which it is used.
    pub(super) fn into_tensor(self) -> Result<Tensor> {
        match Rc::try_unwrap(self.0) {
            Ok(node) if node.value.is_unique() => node.value.take(),
            Ok(node) => node.value.copied(),
            Err(shared) => shared.value.copied(),
        }
    }

    /// The value for a change in place, in the type it is held in: the tensor itself if this is the only handle on it,
    /// otherwise a copy.
    pub(super) fn into_held(self) -> Result<Tensor> {
        match Rc::try_unwrap(self.0) {
            Ok(node) if node.value.is_unique() => node.value.take_held(),
            Ok(node) => tensor::copy(&*node.value.pin_held()?),
            Err(shared) => tensor::copy(&*shared.value.pin_held()?),
        }
    }
}
