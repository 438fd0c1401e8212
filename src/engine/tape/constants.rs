//! Aggregates of constants. They are equal in all passes, so only the first pass computes them.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;

use crate::engine::spill::PointerTensor;

/// Aggregates of constants in passes of one model over the same graphs and features, by their position in the model.
///
/// An example is the first layer's aggregate of the features, unless dropout or a weight is applied to the features
/// before it. A pass that finds it here needs no rows of other ranks for it.
///
/// These passes also pause at the same operations, so they know which values are not needed before the next pause.
#[derive(Default)]
pub struct Constants {
    pub(super) aggregates: RefCell<BTreeMap<usize, PointerTensor>>,
    /// Number of operations that had begun at the last forward pause of the last training pass; `None` before one has
    /// ended.
    pub(super) last_pause: Cell<Option<usize>>,
}
