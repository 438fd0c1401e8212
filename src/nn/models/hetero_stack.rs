//! A model on graphs with several types of nodes and edges.

use std::path::Path;

use serde::{Deserialize, Serialize};
use tch::Tensor;

use crate::engine::tape::{
    Graph, HeteroGraph, HeteroGraphShardManager, ParameterBuilder, Tape, Var,
};
use crate::error::{Error, Result};
use crate::nn::conv::ModelKind;
use crate::nn::conv::hetero_graph_conv::{HeteroGraphConv, RelationMerge, module_name};
use crate::nn::describe::Place;
use crate::nn::linear::{Linear, Network};
use crate::nn::weights::state_dict::stored_width;

/// Configuration of a [`HeteroStack`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HeteroConfig {
    /// The layer of a relation.
    pub kind: ModelKind,
    /// Number of layers.
    pub layers: usize,
    /// Width of all node types between the layers; with attention, of each head.
    pub hidden: i64,
    /// Dropout on the input of every layer but the first; with attention, of every layer.
    pub dropout: f64,
    /// How the results of several relations into one node type are merged.
    pub merge: RelationMerge,
}

/// A linear map per node type to one width, then layers of [`HeteroGraphConv`] with ReLU (with attention, ELU) and dropout
/// between them; the last layer returns the outputs of one node type, the target.
///
/// A type into which no relation leads keeps its rows from layer to layer. State-dict keys: `linears.<node type>.weight`
/// `[width, features]` and `linears.<node type>.bias` (DGL's `HeteroLinear`), and those of the i-th layer below `convs.i`.
/// Every layer has all relations, as in DGL's examples; relations on which the outputs do not depend are not computed.
///
/// ```
/// use sar::nn::{GcnOptions, HeteroConfig, HeteroStack, ModelKind, Norm, RelationMerge};
/// use sar::testing::{TestHeteroGraph, assert_near, hetero_output};
///
/// let graph = TestHeteroGraph::default()
///     .nodes("author", 2)
///     .nodes("paper", 2)
///     .edges("author", "writes", "paper", &[[0, 0], [1, 0], [1, 1]])
///     .edges("paper", "cites", "paper", &[[0, 1]]);
/// let config = HeteroConfig {
///     kind: ModelKind::Gcn(GcnOptions { norm: Norm::None, ..GcnOptions::default() }),
///     layers: 1,
///     hidden: 1,
///     dropout: 0.0,
///     merge: RelationMerge::Sum,
/// };
/// // Authors' rows are doubled, papers' are kept; one layer adds what edges bring.
/// let values: [(&str, &[f64]); 4] = [
///     ("linears.author.weight", &[2.0]),
///     ("linears.paper.weight", &[1.0]),
///     ("convs.0.mods.writes.weight", &[1.0]),
///     ("convs.0.mods.cites.weight", &[10.0]),
/// ];
/// let papers = hetero_output(
///     &graph,
///     &[&[&[1.0], &[2.0]], &[&[3.0], &[4.0]]],
///     &values,
///     |p, graph| HeteroStack::new(p, graph, &config, &[Some(1), Some(1)], 1, 1),
///     |model, tape, graph, rows| model.forward(tape, &[graph], rows),
/// )?;
/// assert_near(&papers, &[6.0, 34.0]);
/// # Ok::<(), sar::Error>(())
/// ```
pub struct HeteroStack {
    linears: Vec<Option<Linear>>,
    convs: Vec<HeteroGraphConv>,
    /// Whether the outputs depend on a type's rows after that many layers, by layer and node type.
    wanted: Vec<Vec<bool>>,
    kind: ModelKind,
    width: i64,
    dropout: f64,
    target: usize,
}

impl HeteroConfig {
    /// Width of the node types' rows between the layers, including learned rows.
    pub fn width(&self) -> i64 {
        self.hidden * self.kind.heads()
    }

    /// The width of the outputs in a weights file of a model for the node type `target`.
    ///
    /// # Errors
    /// If the file cannot be read or does not have the layer, or no relation leads into the target.
    pub fn stored_out_feats(
        &self,
        path: &Path,
        graph: &HeteroGraphShardManager,
        target: usize,
    ) -> Result<i64> {
        let into = graph.relations().iter().find(|relation| relation.dst_type == target);
        let into = into.ok_or_else(|| no_relation(graph, target))?;
        let last = self.layers.saturating_sub(1);
        let layer = format!("convs.{last}.");
        let within = format!("{layer}mods.{}.", module_name(graph, into));
        let key = self.kind.output_key(last).replacen(&layer, &within, 1);
        stored_width(path, &key, self.kind.spec().output_side)
    }
}

impl HeteroStack {
    /// Creates the model for the node type `target`. `widths` are those of the node types' features; types without features
    /// (`None`) get learned rows of [`HeteroConfig::width`] instead.
    ///
    /// # Errors
    /// If the list of layers is empty or the width is 0, a relation cannot have this layer, or no relation leads into the target.
    pub fn new(
        parameters: &mut ParameterBuilder,
        graph: &HeteroGraphShardManager,
        config: &HeteroConfig,
        widths: &[Option<i64>],
        target: usize,
        out_feats: i64,
    ) -> Result<Self> {
        let HeteroConfig { kind, layers, hidden, dropout, merge } = *config;
        if layers == 0 || hidden < 1 {
            return Err(Error::config(
                "layers",
                "a model needs at least one layer and a width of at least 1",
            ));
        }
        if !kind.spec().relations || merge == RelationMerge::Stack {
            let problem =
                "each relation needs a layer for one relation, and all results need one width";
            let kinds = ModelKind::names("or", |kind| kind.spec().relations);
            return Err(Error::config("layer", problem)
                .with_hint(format!("use {kinds}, and another merge than stack")));
        }
        if !graph.relations().iter().any(|relation| relation.dst_type == target) {
            return Err(no_relation(graph, target));
        }
        let width = config.width();
        let linears = graph.ntypes().iter().zip(widths).map(|(name, features)| {
            let features = (*features)?;
            Some(parameters.scope(&format!("linears.{name}"), |p| Linear::new(p, features, width)))
        });
        let linears = linears.collect();
        let convs = (0..layers).map(|i| {
            let last = i + 1 == layers;
            let place = Place {
                in_feats: width,
                out_feats: if last { out_feats } else { hidden },
                number: i + 1,
                last,
                num_rels: 1,
                edge_feats: 0,
                dropout,
                residual: false,
            };
            parameters.scope(&format!("convs.{i}"), |parameters| {
                HeteroGraphConv::new(parameters, graph, merge, |parameters, _| {
                    kind.conv(parameters, place).map(Some)
                })
            })
        });
        let convs = convs.collect::<Result<_>>()?;
        let wanted = wanted_types(graph, layers, target);
        Ok(HeteroStack { linears, convs, wanted, kind, width, dropout, target })
    }

    /// Width of the learned rows of types without features.
    pub fn width(&self) -> i64 {
        self.width
    }

    /// Number of layers.
    pub fn num_layers(&self) -> usize {
        self.convs.len()
    }

    /// Maps one input per node type, `[sources of the type, features]` or learned rows, to the target's outputs, `[destinations
    /// of the target, out]`. `graphs` holds one graph per layer; for full-graph training all are the same, and sources and
    /// destinations are a rank's own nodes.
    ///
    /// # Errors
    /// If the number of inputs is not that of node types, or the number of graphs is not that of layers.
    pub fn forward<'a, G: Graph>(
        &self,
        tape: &mut Tape<'a>,
        graphs: &[&'a HeteroGraph<G>],
        inputs: Vec<Var>,
    ) -> Result<Var> {
        if graphs.len() != self.convs.len() {
            let problem = format!("{} graphs for {} layers", graphs.len(), self.convs.len());
            return Err(Error::config("graphs", problem));
        }
        if inputs.len() != self.linears.len() {
            let problem = format!("{} inputs for {} node types", inputs.len(), self.linears.len());
            return Err(Error::config("inputs", problem));
        }
        tape.enter_layer(0);
        let inputs = self.linears.iter().zip(inputs).zip(&self.wanted[0]);
        let inputs = inputs.map(|((linear, x), wanted)| match linear {
            _ if !wanted => Ok(None),
            Some(linear) => linear.forward(tape, x).map(Some),
            None => Ok(Some(x)),
        });
        let mut rows: Vec<Option<Var>> = inputs.collect::<Result<_>>()?;
        let layers = self.convs.iter().zip(graphs).zip(&self.wanted[1..]);
        for (i, ((conv, graph), wanted)) in layers.enumerate() {
            tape.enter_layer(i);
            let results = conv.forward_into(tape, graph, &rows, wanted)?;
            if i + 1 == self.convs.len() {
                rows = results;
                break;
            }
            tape.enter_layer(i + 1);
            for (ntype, result) in results.into_iter().enumerate() {
                rows[ntype] = match (result, rows[ntype].take()) {
                    (Some(result), _) => Some(self.between(tape, graph, ntype, result)?),
                    (None, Some(own)) if wanted[ntype] => {
                        Some(graph.destinations(tape, ntype, &own)?)
                    }
                    _ => None,
                };
            }
            if tape.ends_after(i + 1) {
                break;
            }
        }
        let missing = || {
            let problem = "the outputs do not depend on the predicted nodes' own rows after it";
            Error::config("layer", problem).with_hint("name another layer")
        };
        rows.swap_remove(self.target).ok_or_else(missing)
    }

    /// Number of hidden layers: those after which a forward pass [can end](Tape::ending_after).
    pub fn hidden_layers(&self) -> usize {
        self.convs.len() - 1
    }

    fn between<G: Graph>(
        &self,
        tape: &mut Tape<'_>,
        graph: &HeteroGraph<G>,
        ntype: usize,
        x: Var,
    ) -> Result<Var> {
        if self.kind.is_attention() {
            // Attention layers drop their input themselves.
            return tape.segment("elu", &[&x], &[], |x: &[Tensor], _| Ok(x[0].f_elu()?));
        }
        tape.relu_dropout(graph.node_ids(ntype), x, self.dropout)
    }
}

/// For each number of layers, from 0 to all, the node types on whose rows the target's outputs depend after that many layers.
fn wanted_types(graph: &HeteroGraphShardManager, layers: usize, target: usize) -> Vec<Vec<bool>> {
    let mut wanted = vec![vec![false; graph.ntypes().len()]];
    wanted[0][target] = true;
    for _ in 0..layers {
        let mut before = wanted[wanted.len() - 1].clone();
        let into = graph.relations().iter().filter(|r| wanted[wanted.len() - 1][r.dst_type]);
        into.for_each(|relation| before[relation.src_type] = true);
        wanted.push(before);
    }
    wanted.reverse();
    wanted
}

fn no_relation(graph: &HeteroGraphShardManager, target: usize) -> Error {
    let name = graph.ntypes().get(target).map_or("?", String::as_str);
    Error::config("target", format!("no edge ends at a node of type {name}"))
        .with_hint("add reverse edges, so that these nodes receive messages")
}
