//! A rank's edges, and the operations along them.

mod attention;
mod halo;
mod local;
mod messages;
mod select;
mod softmax;
mod sums;
mod world;

pub(crate) use attention::{Attention, Gradients, State, attend, send_attention_gradients};
pub(crate) use halo::{add_halo_gradients, halo_rows, send_halo_gradients};
pub(crate) use local::{Layer, LocalGraph};
pub(crate) use messages::{Keep, Kept, add_own_rows, share_rows};
pub(crate) use sar::kernels::Destinations;
pub(crate) use select::{select_neighbours, select_own_adjoint, send_select_gradients};
pub(crate) use softmax::{edge_softmax, edge_softmax_adjoint};
pub(crate) use sums::{Factors, adjoint_of_own, factor_gradients, send_gradients, sum};
pub(crate) use world::World;
