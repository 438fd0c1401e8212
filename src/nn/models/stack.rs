//! Models that are a stack of layers.

use tch::Tensor;

use super::jumping_knowledge::{JumpMode, JumpingKnowledge};
use super::model_config::ModelConfig;
use crate::engine::tape::{Graph, ParameterBuilder, Tape, Var};
use crate::error::{Error, Result};
use crate::nn::conv::ModelKind;
use crate::nn::conv::layer::{Conv, ConvInput, Model};
use crate::nn::describe::{Place, Sizes};
use crate::nn::normalization::{Normalization, add};

/// Layers with an optional normalisation, an activation and dropout between them; none after the last, unless jumping knowledge
/// joins the outputs of all layers. The activation is ReLU, with attention ELU.
///
/// The i-th layer's parameters are named `convs.i.*`, as those of a PyTorch module with `self.convs = nn.ModuleList(...)`;
/// those of the normalisation after it are named `norms.i.*`, and those of the linear layer of [`JumpingKnowledge`] `lin.*`.
pub struct Stack {
    layers: Vec<Layer>,
    jump: Option<JumpingKnowledge>,
    kind: ModelKind,
    dropout: f64,
}

struct Layer {
    conv: Box<dyn Conv>,
    norm: Option<Box<dyn Normalization>>,
    /// Whether the input is added to the output of `conv`.
    residual: bool,
}

impl Stack {
    /// Creates the model.
    ///
    /// # Errors
    /// If there are no layers, a width is 0, or a layer does not support its width.
    pub fn new(
        parameters: &mut ParameterBuilder,
        config: &ModelConfig,
        sizes: Sizes,
    ) -> Result<Self> {
        config.hidden_layers().check()?;
        let kind = config.kind;
        let width = config.hidden * kind.heads();
        let jumps = config.jumping_knowledge != JumpMode::None;
        let layers = (0..config.layers).map(|i| {
            let last = i + 1 == config.layers && !jumps;
            let place = Place {
                in_feats: if i == 0 { sizes.in_feats } else { width },
                out_feats: if last { sizes.out_feats } else { config.hidden },
                last,
                num_rels: sizes.num_rels,
                dropout: config.dropout,
                residual: config.residual,
            };
            let conv = parameters.scope(&format!("convs.{i}"), |p| kind.conv(p, place))?;
            let output = if last { sizes.out_feats } else { width };
            // Attention layers add their input themselves.
            let residual = config.residual && !kind.is_attention() && place.in_feats == output;
            let norm = parameters.scope(&format!("norms.{i}"), |p| {
                if last { None } else { config.norm.make(p, width) }
            });
            Ok(Layer { conv, norm, residual })
        });
        let layers = layers.collect::<Result<_>>()?;
        let all = (config.layers, width);
        let jump =
            JumpingKnowledge::new(parameters, config.jumping_knowledge, all, sizes.out_feats);
        Ok(Stack { layers, jump, kind, dropout: config.dropout })
    }

    /// Applies what follows a layer that is not the last; `layer` is the index of the next one.
    fn hidden<'a>(
        &self,
        tape: &mut Tape<'a>,
        graph: &'a dyn Graph,
        x: Var,
        norm: Option<&dyn Normalization>,
        layer: usize,
    ) -> Result<Var> {
        let x = match norm {
            Some(norm) => norm.forward(tape, graph, x)?,
            None => x,
        };
        tape.enter_layer(layer);
        if self.kind.is_attention() {
            // Attention layers drop their input themselves.
            return tape.segment("elu", &[&x], &[], |x: &[Tensor], _| Ok(x[0].f_elu()?));
        }
        tape.relu_dropout(graph.destination_ids(), x, self.dropout)
    }
}

impl Model for Stack {
    fn forward<'a>(&self, tape: &mut Tape<'a>, graphs: &[&'a dyn Graph], x: Var) -> Result<Var> {
        if graphs.len() != self.layers.len() {
            let problem = format!("{} graphs for {} layers", graphs.len(), self.layers.len());
            return Err(Error::Internal(problem));
        }
        let mut x = x;
        let mut outputs: Vec<Var> = Vec::new();
        for (i, (layer, graph)) in self.layers.iter().zip(graphs).enumerate() {
            tape.enter_layer(i);
            let input = ConvInput::new(tape, *graph, x)?;
            let own = layer.residual.then(|| input.dst.clone());
            x = layer.conv.forward(tape, input)?;
            if let Some(own) = own {
                x = add(tape, &x, &own)?;
            }
            if i + 1 < self.layers.len() || self.jump.is_some() {
                x = self.hidden(tape, *graph, x, layer.norm.as_deref(), i + 1)?;
            }
            if self.jump.is_some() {
                // Of the earlier outputs, too, only the rows of these nodes are needed.
                for output in &mut outputs {
                    *output = tape.destinations(*graph, output)?;
                }
                outputs.push(x.clone());
            }
        }
        match &self.jump {
            Some(jump) => jump.forward(tape, &outputs),
            None => Ok(x),
        }
    }
}
