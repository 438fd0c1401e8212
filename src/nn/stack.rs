//! Models that are a stack of layers.

use serde::{Deserialize, Serialize};

use super::conv::{Conv, Model};
use super::gcn_conv::{GcnConv, GcnConvConfig, Norm};
use super::sage_conv::{SageAggregator, SageConv, SageConvConfig};
use crate::error::{Error, Result};
use crate::tape::{Graph, ParameterBuilder, Tape, Var};

/// Which layer a model is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", tag = "layer")]
pub enum ModelKind {
    /// [`SageConv`].
    Sage {
        /// How neighbours are combined.
        aggregator: SageAggregator,
        /// Whether messages are multiplied by edge weights.
        edge_weights: bool,
    },
    /// [`GcnConv`].
    Gcn {
        /// How messages are normalised.
        norm: Norm,
        /// Whether messages are multiplied by edge weights.
        edge_weights: bool,
    },
}

impl ModelKind {
    /// The parameter of a layer, and which of its two sides, that tells the width of the layer's output.
    pub(super) fn output_weight(self) -> (&'static str, usize) {
        match self {
            ModelKind::Sage { .. } => ("fc_neigh.weight", 0),
            ModelKind::Gcn { .. } => ("weight", 1),
        }
    }
}

/// Configuration of a [`Stack`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ModelConfig {
    /// Which layer it is made of.
    #[serde(flatten)]
    pub kind: ModelKind,
    /// Number of layers.
    pub layers: usize,
    /// Width of the layers between the first and the last.
    pub hidden: i64,
    /// Dropout before every layer but the first.
    pub dropout: f64,
}

/// Three layers of GraphSAGE(mean), 128 wide, with dropout 0.5.
impl Default for ModelConfig {
    fn default() -> Self {
        let kind = ModelKind::Sage { aggregator: SageAggregator::Mean, edge_weights: false };
        ModelConfig { kind, layers: 3, hidden: 128, dropout: 0.5 }
    }
}

/// Layers with ReLU, then dropout, between them; none after the last. The i-th layer's parameters are named
/// `convs.i.*`, as those of a PyTorch module with `self.convs = nn.ModuleList(...)`.
pub struct Stack {
    convs: Vec<Box<dyn Conv>>,
    dropout: f64,
}

impl Stack {
    /// Makes the model for features of width `in_feats` and `out_feats` outputs.
    ///
    /// # Errors
    /// If there is no layer or no width.
    pub fn new(
        parameters: &mut ParameterBuilder,
        config: &ModelConfig,
        in_feats: i64,
        out_feats: i64,
    ) -> Result<Self> {
        if config.layers == 0 {
            return Err(Error::config("layers", "a model has at least one layer"));
        }
        if config.hidden < 1 {
            return Err(Error::config("hidden", "the hidden width is at least 1"));
        }
        let width = |layer: usize| if layer == 0 { in_feats } else { config.hidden };
        let convs = (0..config.layers).map(|layer| {
            let out = if layer + 1 == config.layers { out_feats } else { config.hidden };
            parameters.scope(&format!("convs.{layer}"), |parameters| {
                conv(parameters, config.kind, width(layer), out)
            })
        });
        Ok(Stack { convs: convs.collect(), dropout: config.dropout })
    }
}

fn conv(
    parameters: &mut ParameterBuilder,
    kind: ModelKind,
    in_feats: i64,
    out_feats: i64,
) -> Box<dyn Conv> {
    match kind {
        ModelKind::Sage { aggregator, edge_weights } => {
            let config = SageConvConfig { in_feats, out_feats, aggregator, edge_weights };
            Box::new(SageConv::new(parameters, config))
        }
        ModelKind::Gcn { norm, edge_weights } => {
            // The trainer warns of nodes without in-edges once; a run does not end for them.
            let allow_zero_in_degree = true;
            let config =
                GcnConvConfig { in_feats, out_feats, norm, edge_weights, allow_zero_in_degree };
            Box::new(GcnConv::new(parameters, config))
        }
    }
}

impl Model for Stack {
    fn forward<'a>(&self, tape: &mut Tape<'a>, graphs: &[&'a dyn Graph], x: Var) -> Result<Var> {
        if graphs.len() != self.convs.len() {
            let problem = format!("{} graphs for {} layers", graphs.len(), self.convs.len());
            return Err(Error::Internal(problem));
        }
        let mut x = x;
        for (layer, (conv, graph)) in self.convs.iter().zip(graphs).enumerate() {
            tape.enter_layer(layer);
            if layer > 0 {
                x = tape.relu(&x)?;
                x = tape.dropout(*graph, &x, self.dropout)?;
            }
            let destinations = tape.destinations(*graph, &x)?;
            x = conv.forward(tape, *graph, x, destinations)?;
        }
        Ok(x)
    }
}
