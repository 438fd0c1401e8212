//! Models that are a stack of layers.

use tch::Tensor;

use super::jumping_knowledge::{JumpMode, JumpingKnowledge};
use super::model_config::ModelConfig;
use crate::engine::tape::{Graph, ParameterBuilder, Tape, Var};
use crate::nn::conv::ModelKind;
use crate::nn::conv::layer::{Conv, ConvInput, Model, last_destinations};
use crate::nn::describe::{Place, Sizes};
use crate::nn::linear::{Linear, Network};
use crate::nn::normalization::{Normalization, add};
use crate::words::error::{Error, Result};

/// Layers with an optional normalisation, an activation (ReLU; ELU with attention) and dropout between them. Nothing
/// follows the last layer, unless jumping knowledge joins the outputs of all layers.
///
/// Keys of parameters: `convs.i.*` for the i-th layer, as in a PyTorch module with `self.convs = nn.ModuleList(...)`,
/// `norms.i.*` for the normalisation after it, `lin.*` for the linear layer of [`JumpingKnowledge`].
///
/// Layers that use the first layer's input lie between two linear maps, `lins.0.*` (followed by ReLU) and `lins.1.*`,
/// as in the GCNII examples of DGL and PyTorch Geometric. Jumping knowledge takes the place of the second.
///
/// ```
/// use sar::nn::{GinOptions, ModelConfig, ModelKind, Sizes, Stack};
/// use sar::testing::{TestGraph, assert_near, model_output};
///
/// // 0 -> 1, 0 -> 2, 1 -> 2 and 2 -> 3 on two ranks.
/// let graph = TestGraph::of(4, &[[0, 1], [0, 2], [1, 2], [2, 3]], &[2]);
/// let features: [&[f64]; 4] = [&[1.0], &[2.0], &[3.0], &[4.0]];
/// let kind = ModelKind::Gin(GinOptions::default());
/// let config = ModelConfig { kind, layers: 2, hidden: 1, dropout: 0.0, ..ModelConfig::default() };
/// let sizes = Sizes { in_feats: 1, out_feats: 1, num_rels: 1, edge_feats: 0 };
/// let values: [(&str, &[f64]); 2] =
///     [("convs.0.apply_func.weight", &[1.0]), ("convs.1.apply_func.weight", &[1.0])];
/// let rows = model_output(&graph, 2, &features, &values, |p| Stack::new(p, &config, sizes))?;
/// // The first layer gives 1, 3, 6 and 7.
/// assert_near(&rows, &[1.0, 4.0, 10.0, 13.0]);
/// # Ok::<(), sar::Error>(())
/// ```
pub struct Stack {
    first: Option<Linear>,
    layers: Vec<Layer>,
    last: Option<Linear>,
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
    /// If the number of layers or the hidden width is 0, or a layer does not support its width.
    pub fn new(
        parameters: &mut ParameterBuilder,
        config: &ModelConfig,
        sizes: Sizes,
    ) -> Result<Self> {
        config.hidden_layers().check()?;
        let kind = config.kind;
        let width = config.hidden * kind.facts().heads;
        let jumps = config.jumping_knowledge != JumpMode::None;
        let mapped = kind.spec().initial_rows;
        let first =
            mapped.then(|| parameters.scope("lins.0", |p| Linear::new(p, sizes.in_feats, width)));
        let layers = (0..config.layers).map(|i| {
            let last = i + 1 == config.layers && !jumps && !mapped;
            let place = Place {
                in_feats: if i == 0 && !mapped { sizes.in_feats } else { width },
                out_feats: if last { sizes.out_feats } else { config.hidden },
                number: i + 1,
                mean_of_heads: last,
                num_rels: sizes.num_rels,
                edge_feats: sizes.edge_feats,
                dropout: config.dropout,
                residual: config.residual,
            };
            let conv = parameters.scope(&format!("convs.{i}"), |p| kind.conv(p, place))?;
            let output = if last { sizes.out_feats } else { width };
            // Attention layers add the residual themselves.
            let residual = config.residual && !kind.spec().attention && place.in_feats == output;
            let norm = parameters.scope(&format!("norms.{i}"), |p| {
                if last { None } else { config.norm.make(p, width) }
            });
            Ok(Layer { conv, norm, residual })
        });
        let layers = layers.collect::<Result<_>>()?;
        let mode = config.jumping_knowledge;
        let jump = JumpingKnowledge::new(parameters, mode, config.layers, width, sizes.out_feats);
        let last = (mapped && !jumps)
            .then(|| parameters.scope("lins.1", |p| Linear::new(p, width, sizes.out_feats)));
        Ok(Stack { first, layers, last, jump, kind, dropout: config.dropout })
    }

    /// Input of the first layer, and the initial rows for layers that use them.
    fn input<'a>(
        &self,
        tape: &mut Tape<'a>,
        graph: &'a dyn Graph,
        x: Var,
    ) -> Result<(Var, Option<Var>)> {
        let Some(first) = &self.first else { return Ok((x, None)) };
        tape.enter_layer(0);
        let x = first.forward(tape, x)?;
        let initial = tape.relu(x)?;
        let x = tape.dropout(graph.source_ids(), &initial, self.dropout)?;
        Ok((x, Some(initial)))
    }

    /// Applies the operations between two layers; `layer` is the index of the second one.
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
        if self.kind.spec().attention {
            // Attention layers apply dropout to their input themselves.
            return tape.segment("elu", &[&x], &[], |x: &[Tensor], _| Ok(x[0].f_elu()?));
        }
        tape.relu_dropout(graph.destination_ids(), x, self.dropout)
    }
}

impl Model for Stack {
    fn forward<'a>(&self, tape: &mut Tape<'a>, graphs: &[&'a dyn Graph], x: Var) -> Result<Var> {
        let per_layer = graphs.len() / self.layers.len();
        if per_layer * self.layers.len() != graphs.len() || per_layer == 0 {
            let problem = format!("{} graphs for {} layers", graphs.len(), self.layers.len());
            return Err(Error::config("graphs", problem));
        }
        let (mut x, mut initial) = self.input(tape, graphs[0], x)?;
        let mut outputs: Vec<Var> = Vec::new();
        let ends = self.jump.is_some() || self.last.is_some();
        for (i, (layer, graphs)) in self.layers.iter().zip(graphs.chunks(per_layer)).enumerate() {
            tape.enter_layer(i);
            let mut input = ConvInput::of_sources(tape, graphs, x)?;
            if let Some(rows) = &mut initial {
                *rows = last_destinations(tape, graphs, rows)?;
                input.initial = Some(rows.clone());
            }
            let own = layer.residual.then(|| input.dst.clone());
            x = layer.conv.forward(tape, input)?;
            if let Some(own) = own {
                x = add(tape, &x, &own)?;
            }
            if i + 1 < self.layers.len() || ends {
                let graph = graphs[graphs.len() - 1];
                x = self.hidden(tape, graph, x, layer.norm.as_deref(), i + 1)?;
                if tape.ends_after(i + 1) {
                    return Ok(x);
                }
            }
            if self.jump.is_some() {
                // Keep the same nodes' rows of the earlier outputs.
                for output in &mut outputs {
                    *output = last_destinations(tape, graphs, output)?;
                }
                outputs.push(if self.kind.spec().attention {
                    // The next layer drops the same elements of its input.
                    let nodes = graphs[graphs.len() - 1].destination_ids();
                    tape.dropout(nodes, &x, self.dropout)?
                } else {
                    x.clone()
                });
            }
        }
        match (&self.jump, &self.last) {
            (Some(jump), _) => jump.forward(tape, &outputs),
            (None, Some(last)) => last.forward(tape, x),
            (None, None) => Ok(x),
        }
    }
}

impl ModelConfig {
    /// Creates the model.
    ///
    /// # Errors
    /// If the number of layers or the hidden width is 0, or a layer does not support its width.
    pub fn build(&self, parameters: &mut ParameterBuilder, sizes: Sizes) -> Result<Box<dyn Model>> {
        Ok(match self.kind.whole_model(parameters, self.hidden_layers(), sizes)? {
            Some(model) => model,
            None => Box::new(Stack::new(parameters, self, sizes)?),
        })
    }
}
