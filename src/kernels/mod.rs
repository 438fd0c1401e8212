//! Sparse and dense kernels over slices: each forward pass next to its adjoint, generic over the element type.
//!
//! All of them are deterministic: threads get blocks of destination rows, and a row is summed in one fixed order.

mod attention;
mod attention_score;
mod bf16;
mod bf16_matmul;
mod bf16_tile;
mod blocks;
pub(crate) mod dropout;
mod edge_softmax;
mod edge_sum;
pub(crate) mod matmul;
mod philox;
mod real;
mod reduce;
pub(crate) mod relu;
mod rows;
mod simd;
mod spmm;
mod typed;
mod uniform;
pub(crate) mod zeros;

pub use attention::{Attention, AttentionDropout, Destinations};
pub use attention_score::{AdditiveScore, DynamicScore, EdgeHead, Score};
pub use bf16::{narrow_to_bf16, widen_bf16};
pub use bf16_matmul::{matmul_bf16, matmul_bf16_in_place, matmul_over_rows_bf16};
pub use dropout::{DropoutKey, dropout};
pub use edge_softmax::EdgeSoftmax;
pub use edge_sum::EdgeSum;
pub use matmul::{Matrix, matmul, matmul_in_place, matmul_over_rows};
pub(crate) use philox::philox4x32;
pub use real::{Element, Real};
pub use reduce::{NO_SOURCE, Selection, select, select_adjoint};
pub use relu::{relu, relu_adjoint};
pub use rows::{gather_rows, scatter_add_rows};
pub use spmm::Spmm;
pub use typed::{typed_sum, typed_sum_adjoint};
pub use uniform::uniform_rows;
pub use zeros::{WordSize, count_words, pack_words, unpack_words};
