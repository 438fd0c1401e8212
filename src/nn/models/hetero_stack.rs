//! A model on graphs with several types of nodes and edges.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::jumping_knowledge::{JumpMode, JumpingKnowledge};
use super::model_config::{ModelConfig, OutputSide};
use crate::engine::tape::{Graph, HeteroGraphShardManager, ParameterBuilder};
use crate::nn::conv::ModelKind;
use crate::nn::conv::hetero_graph_conv::{HeteroGraphConv, RelationMerge, module_name};
use crate::nn::describe::Place;
use crate::nn::linear::Linear;
use crate::nn::normalization::Normalization;
use crate::nn::weights::state_dict::stored_width;
use crate::words::error::{Error, Result};

/// Configuration of a [`HeteroStack`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HeteroConfig {
    /// Kind of the relations' layers, their number and width, and the operations between them.
    pub model: ModelConfig,
    /// How the results of several relations into one node type are merged.
    pub merge: RelationMerge,
}

/// A linear map per node type to one width, then layers of [`HeteroGraphConv`] with ReLU (with attention, ELU) and
/// dropout between them; the last layer returns the outputs of one node type, the target, or of [several
/// types](HeteroStack::with_outputs).
///
/// A type without incoming relations keeps its rows from layer to layer. The operations between layers are, in this
/// order: a residual (a type's input is added to the merged results where the widths are equal), a normalisation per
/// node type, activation and dropout. Jumping knowledge joins the target's rows after all layers. Every layer has all
/// relations, as in DGL's examples; relations that the outputs do not depend on are not computed. With
/// [`ModelKind::Rgcn`], a layer is [`HeteroGraphConv::relational`].
///
/// State-dict keys: `linears.<node type>.weight` `[width, features]` and `linears.<node type>.bias` (DGL's
/// `HeteroLinear`); `convs.i.*` for the i-th layer, `norms.i.<node type>.*` for its normalisations; `lin.*` for
/// [`JumpingKnowledge`].
///
/// Edge features come from [the graph](HeteroGraphShardManager::set_edge_source); their width may differ by relation.
///
/// ```
/// use sar::nn::{GcnOptions, HeteroConfig, HeteroStack, ModelConfig, ModelKind, Norm, RelationMerge};
/// use sar::testing::{TestHeteroGraph, assert_near, hetero_output};
///
/// let graph = TestHeteroGraph::default()
///     .nodes("author", 2)
///     .nodes("paper", 2)
///     .edges("author", "writes", "paper", &[[0, 0], [1, 0], [1, 1]])
///     .edges("paper", "cites", "paper", &[[0, 1]]);
/// let kind = ModelKind::Gcn(GcnOptions { norm: Norm::None, ..GcnOptions::default() });
/// let model = ModelConfig { kind, layers: 1, hidden: 1, dropout: 0.0, ..ModelConfig::default() };
/// let config = HeteroConfig { model, merge: RelationMerge::Sum };
/// // Authors' rows are doubled, papers' are kept; one layer adds the sums along edges.
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
    pub(super) linears: Vec<Option<Linear>>,
    pub(super) layers: Vec<RelationLayer>,
    /// Jumping knowledge of each target, if there is any.
    pub(super) jumps: Option<Vec<JumpingKnowledge>>,
    /// Whether the outputs depend on a type's rows after a number of layers: by number of layers and node type.
    pub(super) wanted: Vec<Vec<bool>>,
    pub(super) kind: ModelKind,
    width: i64,
    pub(super) dropout: f64,
    pub(super) residual: bool,
    /// The node types that have outputs.
    pub(super) targets: Vec<usize>,
}

/// A node type for which a [`HeteroStack`] has outputs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HeteroOutput {
    /// Id of the node type.
    pub ntype: usize,
    /// Width of its outputs.
    pub out_feats: i64,
}

/// A layer, and the operations after it for each node type.
pub(super) struct RelationLayer {
    pub(super) conv: HeteroGraphConv,
    pub(super) norms: Vec<Option<Box<dyn Normalization>>>,
}

impl HeteroConfig {
    /// Width of the node types' rows between the layers, including learned rows.
    pub fn width(&self) -> i64 {
        self.model.hidden * self.model.kind.facts().heads
    }

    /// Widths of the targets' outputs in a weights file.
    ///
    /// # Errors
    /// If the file cannot be read or does not have the layers, or no relation leads into a target.
    pub fn stored_out_feats(
        &self,
        path: &Path,
        graph: &HeteroGraphShardManager,
        targets: &[usize],
    ) -> Result<Vec<i64>> {
        let width = |target: &usize| self.stored_width_of(path, graph, *target, targets.len() > 1);
        targets.iter().map(width).collect()
    }

    /// Width of one type's outputs; `several` says whether the model has outputs of several types.
    fn stored_width_of(
        &self,
        path: &Path,
        graph: &HeteroGraphShardManager,
        target: usize,
        several: bool,
    ) -> Result<i64> {
        let into = graph.relations().iter().find(|relation| relation.dst_type == target);
        let into = into.ok_or_else(|| no_relation(graph, target))?;
        let OutputSide { key, side } = self.model.output_side();
        if several && self.model.jumping_knowledge != JumpMode::None {
            return stored_width(path, &format!("jumps.{}.{key}", graph.ntypes()[target]), side);
        }
        if self.model.kind.spec().edge_types {
            return stored_width(path, &key, side);
        }
        let layer = format!("convs.{}.", self.model.layers.saturating_sub(1));
        let within = format!("{layer}mods.{}.", module_name(graph, into));
        stored_width(path, &key.replacen(&layer, &within, 1), side)
    }
}

impl HeteroStack {
    /// Creates the model for the node type `target`. `widths` holds the width of each node type's features; types
    /// without features (`None`) get learned rows of [`HeteroConfig::width`].
    ///
    /// # Errors
    /// If the number of layers or the width is 0, a relation cannot have this kind of layer, or no relation leads into the
    /// target.
    pub fn new(
        parameters: &mut ParameterBuilder,
        graph: &HeteroGraphShardManager,
        config: &HeteroConfig,
        widths: &[Option<i64>],
        target: usize,
        out_feats: i64,
    ) -> Result<Self> {
        let output = HeteroOutput { ntype: target, out_feats };
        HeteroStack::with_outputs(parameters, graph, config, widths, &[output])
    }

    /// Like [`new`](HeteroStack::new), with outputs of several node types. In the last layer, relations into other
    /// types have the width of the first output. With jumping knowledge and more than one output, a type's keys are
    /// `jumps.<node type>.lin.*`.
    ///
    /// # Errors
    /// As for [`new`](HeteroStack::new), or if `outputs` is empty.
    pub fn with_outputs(
        parameters: &mut ParameterBuilder,
        graph: &HeteroGraphShardManager,
        config: &HeteroConfig,
        widths: &[Option<i64>],
        outputs: &[HeteroOutput],
    ) -> Result<Self> {
        let HeteroConfig { model, merge } = config;
        let ModelConfig { kind, layers, hidden, dropout, jumping_knowledge, .. } = *model;
        let usual = checked_width(graph, config, outputs)?;
        let targets: Vec<usize> = outputs.iter().map(|output| output.ntype).collect();
        let width = config.width();
        let linears = graph.ntypes().iter().zip(widths).map(|(name, features)| {
            let features = (*features)?;
            Some(parameters.scope(&format!("linears.{name}"), |p| Linear::new(p, features, width)))
        });
        let linears = linears.collect();
        let jumps = jumping_knowledge != JumpMode::None;
        let stack = (0..layers).map(|i| {
            let last = i + 1 == layers && !jumps;
            // Heads are averaged before a sum or mean of relations, which gives the same rows and keeps narrower ones.
            let mean_of_heads = last && merge.is_linear();
            let merged_heads = if last && !mean_of_heads { kind.facts().heads } else { 1 };
            let out_feats = |ntype: usize| {
                let output = outputs.iter().find(|output| output.ntype == ntype);
                output.map_or(usual, |output| output.out_feats)
            };
            let place = |ntype: usize, edge_feats: i64| Place {
                in_feats: width,
                out_feats: if last { out_feats(ntype) } else { hidden },
                number: i + 1,
                mean_of_heads,
                num_rels: graph.relations().len(),
                edge_feats,
                dropout,
                residual: false,
            };
            let conv = parameters.scope(&format!("convs.{i}"), |parameters| match kind {
                ModelKind::Rgcn(options) => {
                    let config = options.config(place(targets[0], 0));
                    HeteroGraphConv::relational(parameters, graph, *merge, config)
                }
                _ => HeteroGraphConv::new(parameters, graph, *merge, |parameters, relation| {
                    let features = relation.graph.edge_inputs().map(|inputs| &inputs.features);
                    let edge_feats = features.map_or(0, |features| features.size()[1]);
                    kind.conv(parameters, place(relation.dst_type, edge_feats)).map(Some)
                }),
            })?;
            let norms = graph.ntypes().iter().enumerate().map(|(ntype, name)| {
                let follows = !last && graph.relations().iter().any(|r| r.dst_type == ntype);
                let key = format!("norms.{i}.{name}");
                parameters.scope(&key, |p| if follows { model.norm.make(p, width) } else { None })
            });
            let conv = conv.with_mean_of_heads(merged_heads);
            Ok(RelationLayer { conv, norms: norms.collect() })
        });
        let stack = stack.collect::<Result<_>>()?;
        let jumps = outputs.iter().map(|HeteroOutput { ntype, out_feats }| {
            let jump = |p: &mut ParameterBuilder| {
                JumpingKnowledge::new(p, jumping_knowledge, layers, width, *out_feats)
            };
            match outputs {
                [_] => jump(parameters),
                _ => parameters.scope(&format!("jumps.{}", graph.ntypes()[*ntype]), jump),
            }
        });
        let jumps = jumps.collect();
        let wanted = wanted_types(graph, layers, &targets);
        Ok(HeteroStack {
            linears,
            layers: stack,
            jumps,
            wanted,
            kind,
            width,
            dropout,
            residual: model.residual,
            targets,
        })
    }

    /// Width of the learned rows of types without features.
    pub fn width(&self) -> i64 {
        self.width
    }

    /// The node types that have outputs, in the order of the outputs.
    pub fn targets(&self) -> &[usize] {
        &self.targets
    }

    /// Number of layers.
    pub fn num_layers(&self) -> usize {
        self.layers.len()
    }
}

/// Whether the targets' outputs depend on a node type's rows, for each number of layers from 0 to all.
fn wanted_types(
    graph: &HeteroGraphShardManager,
    layers: usize,
    targets: &[usize],
) -> Vec<Vec<bool>> {
    let mut wanted = vec![vec![false; graph.ntypes().len()]];
    for target in targets {
        wanted[0][*target] = true;
    }
    for _ in 0..layers {
        let mut before = wanted[wanted.len() - 1].clone();
        let into = graph.relations().iter().filter(|r| wanted[wanted.len() - 1][r.dst_type]);
        into.for_each(|relation| before[relation.src_type] = true);
        wanted.push(before);
    }
    wanted.reverse();
    wanted
}

/// Checks the settings of a stack, and gives the width of its first output.
fn checked_width(
    graph: &HeteroGraphShardManager,
    config: &HeteroConfig,
    outputs: &[HeteroOutput],
) -> Result<i64> {
    let HeteroConfig { model, merge } = config;
    let ModelConfig { kind, layers, hidden, jumping_knowledge, .. } = *model;
    if layers == 0 || hidden < 1 {
        return Err(Error::config(
            "layers",
            "a model needs at least one layer and a width of at least 1",
        ));
    }
    if !kind.spec().relations || *merge == RelationMerge::Stack {
        let problem =
            "each relation needs a layer for one relation, and all results need one width";
        let kinds = ModelKind::names("or", |kind| kind.spec().relations);
        return Err(Error::config("layer", problem)
            .with_hint(format!("use {kinds}, and a merge other than stack")));
    }
    let led_to = |ntype: usize| graph.relations().iter().any(|r| r.dst_type == ntype);
    if let Some(output) = outputs.iter().find(|output| !led_to(output.ntype)) {
        return Err(no_relation(graph, output.ntype));
    }
    let Some(HeteroOutput { out_feats: usual, .. }) = outputs.first() else {
        return Err(Error::config("target", "the model has no outputs"));
    };
    let one_width = outputs.iter().all(|output| output.out_feats == *usual);
    if kind.spec().edge_types && jumping_knowledge == JumpMode::None && !one_width {
        let problem = "the weights of all edge types have one shape, but node types have outputs of several widths";
        return Err(Error::config("model.kind", problem)
            .with_hint("use another model, or ‹model.jumping_knowledge=cat›"));
    }
    Ok(*usual)
}

fn no_relation(graph: &HeteroGraphShardManager, target: usize) -> Error {
    let name = graph.ntypes().get(target).map_or("?", String::as_str);
    Error::config("target", format!("no edge ends at a node of type {name}"))
        .with_hint("add reverse edges, so that these nodes receive messages")
}
