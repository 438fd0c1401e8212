//! Aggregates of constants: equal in every pass, and so computed in the first one only.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;

use crate::engine::spill::PointerTensor;

/// Aggregates of constants from passes of one model over the same graphs and features, by their place in the model.
///
/// The first layer's aggregate of the features is one, unless the features pass dropout or are multiplied by a weight first. A
/// pass that finds it here needs no rows of other ranks for it.
///
/// Such passes also pause at the same operations, and so know which values are not needed before the next pause.
#[derive(Default)]
pub struct Constants {
    pub(super) aggregates: RefCell<BTreeMap<usize, PointerTensor>>,
    /// Number of operations that the last training pass had begun at its last forward pause, once there was one.
    pub(super) last_pause: Cell<Option<usize>>,
}
