//! Models that are a stack of layers.

use serde::{Deserialize, Serialize};

use tch::Tensor;

use super::conv::{Conv, Model};
use super::model_kind::{ModelKind, Place};
use super::sage_conv::SageAggregator;
use crate::error::{Error, Result};
use crate::tape::{Graph, ParameterBuilder, Tape, Var};

/// Configuration of a [`Stack`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ModelConfig {
    /// Which layer it is made of.
    #[serde(flatten)]
    pub kind: ModelKind,
    /// Number of layers.
    pub layers: usize,
    /// Width of the layers between the first and the last; of each head, with attention.
    pub hidden: i64,
    /// Dropout on the input of every layer but the first; with attention, of every layer.
    pub dropout: f64,
}

/// Three layers of GraphSAGE(mean), 128 wide, with dropout 0.5.
impl Default for ModelConfig {
    fn default() -> Self {
        let kind = ModelKind::Sage { aggregator: SageAggregator::Mean, edge_weights: false };
        ModelConfig { kind, layers: 3, hidden: 128, dropout: 0.5 }
    }
}

/// What the data say of a model.
#[derive(Debug, Clone, Copy)]
pub struct Sizes {
    /// Width of the input features.
    pub in_feats: i64,
    /// Width of the last layer's output.
    pub out_feats: i64,
    /// Edge types of the graph.
    pub num_rels: usize,
}

/// Layers with an activation, then dropout, between them; none after the last. The activation is ReLU, with attention
/// ELU. The i-th layer's parameters are named `convs.i.*`, as those of a PyTorch module with
/// `self.convs = nn.ModuleList(...)`.
pub struct Stack {
    convs: Vec<Box<dyn Conv>>,
    kind: ModelKind,
    dropout: f64,
}

impl Stack {
    /// Makes the model.
    ///
    /// # Errors
    /// If there is no layer or no width, or a layer cannot have its width.
    pub fn new(
        parameters: &mut ParameterBuilder,
        config: &ModelConfig,
        sizes: Sizes,
    ) -> Result<Self> {
        if config.layers == 0 {
            return Err(Error::config("layers", "a model has at least one layer"));
        }
        if config.hidden < 1 {
            return Err(Error::config("hidden", "the hidden width is at least 1"));
        }
        let kind = config.kind;
        let convs = (0..config.layers).map(|layer| {
            let last = layer + 1 == config.layers;
            let hidden = config.hidden;
            let place = Place {
                in_feats: if layer == 0 { sizes.in_feats } else { hidden * kind.heads() },
                out_feats: if last { sizes.out_feats } else { hidden },
                last,
                num_rels: sizes.num_rels,
                dropout: config.dropout,
            };
            let scope = format!("convs.{layer}");
            parameters.scope(&scope, |parameters| kind.conv(parameters, place))
        });
        Ok(Stack { convs: convs.collect::<Result<_>>()?, kind, dropout: config.dropout })
    }

    /// What lies between two layers.
    fn between(&self, tape: &mut Tape<'_>, graph: &dyn Graph, x: &Var) -> Result<Var> {
        match self.kind {
            // Attention layers drop their input themselves.
            ModelKind::Gat(_) | ModelKind::Gatv2(_) => {
                tape.segment("elu", &[x], &[], |x: &[Tensor], _| Ok(x[0].f_elu()?))
            }
            _ => {
                let x = tape.relu(x)?;
                tape.dropout(graph.source_ids(), &x, self.dropout)
            }
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
                x = self.between(tape, *graph, &x)?;
            }
            let destinations = tape.destinations(*graph, &x)?;
            x = conv.forward(tape, *graph, x, destinations)?;
        }
        Ok(x)
    }
}
