//! Models made of layers.

pub(super) mod appnp;
pub(super) mod correct_and_smooth;
mod hetero_forward;
pub(super) mod hetero_stack;
pub(super) mod jumping_knowledge;
pub(super) mod model_config;
pub(super) mod model_kind;
pub(super) mod sgc;
pub(super) mod sign;
pub(super) mod stack;
