//! A model on graphs with several types of nodes and edges.

use serde::{Deserialize, Serialize};
use tch::Tensor;

use super::hetero_graph_conv::{HeteroGraphConv, RelationMerge};
use super::linear::{Linear, Network};
use super::model_kind::{ModelKind, Place};
use crate::error::{Error, Result};
use crate::tape::{HeteroGraphShardManager, ParameterBuilder, Tape, Var};

/// Configuration of a [`HeteroStack`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HeteroConfig {
    /// Which layer a relation has.
    pub kind: ModelKind,
    /// Number of layers.
    pub layers: usize,
    /// Width of all node types between the layers; of each head, with attention.
    pub hidden: i64,
    /// Dropout on the input of every layer but the first; with attention, of every layer.
    pub dropout: f64,
    /// How the results of several relations into one node type become one.
    pub merge: RelationMerge,
}

/// A linear map per node type to one width, then layers of [`HeteroGraphConv`] with ReLU (with attention ELU) and dropout
/// between them; the last gives the outputs of one node type, the target.
///
/// A type that no relation ends at keeps its rows from layer to layer. State-dict keys: `linears.<node type>.weight`
/// `[width, features]` and `linears.<node type>.bias` (DGL's `HeteroLinear`), and those of the i-th layer below `convs.i`.
/// The last layer has the relations into the target only.
pub struct HeteroStack {
    linears: Vec<Option<Linear>>,
    convs: Vec<HeteroGraphConv>,
    kind: ModelKind,
    width: i64,
    dropout: f64,
    target: usize,
}

impl HeteroStack {
    /// Makes the model for the node type `target`. `widths` are those of the node types' features; types without features
    /// (`None`) are given learned rows of [`width`](HeteroStack::width) instead.
    ///
    /// # Errors
    /// If there is no layer or no width, the layer is none that a relation can have, or no relation ends at the target.
    pub fn new(
        parameters: &mut ParameterBuilder,
        graph: &HeteroGraphShardManager,
        config: &HeteroConfig,
        widths: &[Option<i64>],
        (target, out_feats): (usize, i64),
    ) -> Result<Self> {
        let HeteroConfig { kind, layers, hidden, dropout, merge } = *config;
        if layers == 0 || hidden < 1 {
            return Err(Error::config("layers", "a model has at least one layer and a width"));
        }
        if kind.uses_edge_types() || merge == RelationMerge::Stack {
            let problem = "relations have layers of one relation each, and results of one width";
            return Err(Error::config("layer", problem)
                .with_hint("use another layer than RGCN, and another merge than stack"));
        }
        if !graph.relations().iter().any(|relation| relation.dst_type == target) {
            let name = graph.ntypes().get(target).map_or("?", String::as_str);
            return Err(Error::config("target", format!("no edge ends at a node of type {name}")));
        }
        let width = hidden * kind.heads();
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
                last,
                num_rels: 1,
                dropout,
                residual: false,
            };
            parameters.scope(&format!("convs.{i}"), |parameters| {
                HeteroGraphConv::new(parameters, graph, merge, |parameters, relation| {
                    let needed = !last || relation.dst_type == target;
                    needed.then(|| kind.conv(parameters, place)).transpose()
                })
            })
        });
        let convs = convs.collect::<Result<_>>()?;
        Ok(HeteroStack { linears, convs, kind, width, dropout, target })
    }

    /// Width of the learned rows of types without features.
    pub fn width(&self) -> i64 {
        self.width
    }

    /// From one input per node type, `[own nodes of the type, features]` or learned rows, to the target's outputs, `[own
    /// nodes of the target, out]`.
    ///
    /// # Errors
    /// If there is not one input per node type.
    pub fn forward<'a>(
        &self,
        tape: &mut Tape<'a>,
        graph: &'a HeteroGraphShardManager,
        inputs: Vec<Var>,
    ) -> Result<Var> {
        if inputs.len() != self.linears.len() {
            let problem = format!("{} inputs of {} node types", inputs.len(), self.linears.len());
            return Err(Error::config("inputs", problem));
        }
        tape.enter_layer(0);
        let inputs = self.linears.iter().zip(inputs).map(|(linear, x)| match linear {
            Some(linear) => linear.forward(tape, x),
            None => Ok(x),
        });
        let mut rows: Vec<Option<Var>> = inputs.map(|x| x.map(Some)).collect::<Result<_>>()?;
        for (i, conv) in self.convs.iter().enumerate() {
            tape.enter_layer(i);
            let results = conv.forward(tape, graph, &rows)?;
            if i + 1 == self.convs.len() {
                rows = results;
                break;
            }
            tape.enter_layer(i + 1);
            for (ntype, result) in results.into_iter().enumerate() {
                if let Some(result) = result {
                    rows[ntype] = Some(self.between(tape, graph, ntype, &result)?);
                }
            }
        }
        let missing = || Error::Internal("the last layer gives the target no result".to_owned());
        rows.swap_remove(self.target).ok_or_else(missing)
    }

    fn between(
        &self,
        tape: &mut Tape<'_>,
        graph: &HeteroGraphShardManager,
        ntype: usize,
        x: &Var,
    ) -> Result<Var> {
        if self.kind.is_attention() {
            // Attention layers drop their input themselves.
            return tape.segment("elu", &[x], &[], |x: &[Tensor], _| Ok(x[0].f_elu()?));
        }
        let x = tape.relu(x)?;
        tape.dropout(graph.node_ids(ntype), &x, self.dropout)
    }
}
