//! Graph layers, one file each, and the list of all kinds of models.

use super::describe::{Describe, Facts, HiddenLayers, Place, Sizes, StackLayer, model_kinds};
use super::model_spec::ModelSpec;
use super::models::appnp::{Appnp, AppnpConfig};
use super::models::sgc::{Sgc, SgcOptions};
use super::models::sign::{Sign, SignOptions};
use crate::engine::tape::ParameterBuilder;
use crate::words::error::{Error, Result};

mod edge_attention;
pub(super) mod egat;
pub(super) mod gat;
pub(super) mod gatv2;
pub(super) mod gcn;
pub(super) mod gcn2;
pub(super) mod gin;
pub(super) mod heads;
pub(super) mod hetero_graph_conv;
pub(super) mod hops;
pub(super) mod layer;
pub(super) mod rgcn;
pub(super) mod sage;
pub(super) mod symmetric_norm;
pub(super) mod tag;

pub use egat::{EgatConv, EgatConvConfig, EgatOutput};
pub use gat::GatConv;
pub use gatv2::Gatv2Conv;
pub use gcn::{GcnConv, GcnConvConfig, GcnOptions, Norm};
pub use gcn2::{Gcn2Conv, Gcn2ConvConfig, Gcn2Options};
pub use gin::{GinConv, GinConvConfig, GinOptions};
pub use heads::{AttentionConfig, HeadMerge, Heads};
pub use hetero_graph_conv::{HeteroGraphConv, RelationMerge};
pub use hops::Hops;
pub use layer::{Conv, ConvInput, Model};
pub use rgcn::{Regularizer, RgcnConv, RgcnConvConfig, RgcnOptions};
pub use sage::{SageAggregator, SageConv, SageConvConfig, SageOptions};
pub use tag::{TagConv, TagConvConfig, TagOptions};

model_kinds! {
    layers {
        /// Layers of [`SageConv`].
        Sage(SageOptions) => SageConv,
        /// Layers of [`GcnConv`].
        Gcn(GcnOptions) => GcnConv,
        /// Layers of [`GatConv`]; heads are concatenated between layers and averaged in the last.
        Gat(Heads) => GatConv,
        /// Layers of [`Gatv2Conv`]; heads are concatenated between layers and averaged in the last.
        Gatv2(Heads) => Gatv2Conv,
        /// Layers of [`EgatConv`]; heads are concatenated between layers and averaged in the last.
        Egat(Heads) => EgatConv,
        /// Layers of [`GinConv`] with a linear map inside.
        Gin(GinOptions) => GinConv,
        /// Layers of [`RgcnConv`].
        Rgcn(RgcnOptions) => RgcnConv,
        /// Layers of [`TagConv`].
        Tag(TagOptions) => TagConv,
        /// Layers of [`Gcn2Conv`] between two linear maps.
        Gcn2(Gcn2Options) => Gcn2Conv,
    }
    models {
        /// An [`Appnp`].
        Appnp(AppnpConfig) => Appnp, Appnp::new;
        /// An [`Sgc`].
        Sgc(SgcOptions) => Sgc, Sgc::like_others;
        /// A [`Sign`].
        Sign(SignOptions) => Sign, Sign::new;
    }
}
