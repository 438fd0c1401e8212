//! The forward pass of a model on graphs with several types of nodes and edges.

use tch::Tensor;

use super::hetero_stack::{HeteroStack, RelationLayer};
use crate::engine::tape::{Graph, HeteroGraph, Tape, Var};
use crate::nn::linear::Network;
use crate::nn::normalization::add;
use crate::words::error::{Error, Result};

/// Rows by node type; `None` for types that no output depends on.
type TypedRows = Vec<Option<Var>>;

impl HeteroStack {
    /// Maps one input per node type, `[sources of the type, features]` or learned rows, to the outputs of the first
    /// target, `[destinations of the target, out]`. `graphs` holds one graph per layer. For full-graph training all are
    /// the same, and sources and destinations are a rank's own nodes.
    ///
    /// # Errors
    /// If the number of inputs differs from the number of node types, or the number of graphs from the number of
    /// layers.
    pub fn forward<'a, G: Graph>(
        &self,
        tape: &mut Tape<'a>,
        graphs: &[&'a HeteroGraph<G>],
        inputs: Vec<Var>,
    ) -> Result<Var> {
        Ok(self.forward_all(tape, graphs, inputs)?.swap_remove(0))
    }

    /// Like [`forward`](HeteroStack::forward), to the outputs of all targets.
    ///
    /// # Errors
    /// As for [`forward`](HeteroStack::forward).
    pub fn forward_all<'a, G: Graph>(
        &self,
        tape: &mut Tape<'a>,
        graphs: &[&'a HeteroGraph<G>],
        inputs: Vec<Var>,
    ) -> Result<Vec<Var>> {
        if graphs.len() != self.layers.len() {
            let problem = format!("{} graphs for {} layers", graphs.len(), self.layers.len());
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
        let mut rows: TypedRows = inputs.collect::<Result<_>>()?;
        // The targets' rows after each layer, for jumping knowledge.
        let mut kept: Vec<Vec<Var>> = vec![Vec::new(); self.targets.len()];
        for (i, (layer, graph)) in self.layers.iter().zip(graphs).enumerate() {
            tape.enter_layer(i);
            let results = layer.conv.forward_into(tape, graph, &rows, &self.wanted[i + 1])?;
            let end = i + 1 == self.layers.len();
            tape.enter_layer(i + 1);
            rows = if end && self.jumps.is_none() {
                self.with_residuals(tape, graph, results, &rows)?
            } else {
                self.between(tape, graph, layer, results, rows, &self.wanted[i + 1])?
            };
            if tape.ends_after(i + 1) {
                break;
            }
            if self.jumps.is_some() {
                self.keep(tape, graph, &rows, &mut kept)?;
                if end {
                    drop(rows);
                    return self.joined(tape, kept);
                }
            }
        }
        let missing = || {
            let problem = "the outputs do not depend on the predicted nodes' own rows after it";
            Error::config("layer", problem).with_hint("name another layer")
        };
        let rows = self.targets.iter().map(|target| rows[*target].take().ok_or_else(missing));
        rows.collect()
    }

    /// Applies normalisation, activation and dropout to a layer's merged results; types without results keep their
    /// rows, if `wanted`. The normalisations of all types [share their pause](Tape::join).
    fn between<'a, G: Graph>(
        &self,
        tape: &mut Tape<'a>,
        graph: &'a HeteroGraph<G>,
        layer: &RelationLayer,
        results: TypedRows,
        own: TypedRows,
        wanted: &[bool],
    ) -> Result<TypedRows> {
        let results = self.with_residuals(tape, graph, results, &own)?;
        let mut rows: TypedRows = Vec::new();
        for (ntype, (result, own)) in results.iter().zip(own).enumerate() {
            rows.push(match own {
                Some(own) if result.is_none() && wanted[ntype] => {
                    Some(graph.destinations(tape, ntype, &own)?)
                }
                _ => None,
            });
        }
        let (mut types, mut begun) = (Vec::new(), Vec::new());
        for (ntype, result) in results.into_iter().enumerate() {
            let Some(result) = result else { continue };
            let mut into = graph.relations().iter().filter(|relation| relation.dst_type == ntype);
            match (layer.norms[ntype].as_deref(), into.next()) {
                // Any graph whose destinations are the type's nodes can sum their statistics.
                (Some(norm), Some(relation)) => {
                    types.push(ntype);
                    begun.push(norm.begin(tape, &relation.graph, result)?);
                }
                _ => rows[ntype] = Some(self.activated(tape, graph, ntype, result)?),
            }
        }
        for (ntype, normalised) in types.into_iter().zip(tape.join(begun)?) {
            rows[ntype] = Some(self.activated(tape, graph, ntype, normalised)?);
        }
        Ok(rows)
    }

    /// Adds the own rows of each type's destinations to their results where the widths are equal.
    fn with_residuals<G: Graph>(
        &self,
        tape: &mut Tape<'_>,
        graph: &HeteroGraph<G>,
        results: TypedRows,
        own: &[Option<Var>],
    ) -> Result<TypedRows> {
        let results = results.into_iter().zip(own).enumerate();
        let results = results.map(|(ntype, (result, own))| match (result, own) {
            (Some(result), Some(own)) if self.residual && own.width() == result.width() => {
                let own = graph.destinations(tape, ntype, own)?;
                add(tape, &result, &own).map(Some)
            }
            (result, _) => Ok(result),
        });
        results.collect()
    }

    fn activated<G: Graph>(
        &self,
        tape: &mut Tape<'_>,
        graph: &HeteroGraph<G>,
        ntype: usize,
        x: Var,
    ) -> Result<Var> {
        if self.kind.spec().attention {
            // Attention layers apply dropout to their input themselves.
            return tape.segment("elu", &[&x], &[], |x: &[Tensor], _| Ok(x[0].f_elu()?));
        }
        tape.relu_dropout(graph.node_ids(ntype), x, self.dropout)
    }

    /// Keeps the targets' rows after a layer, and of earlier layers' rows only those of the same nodes.
    fn keep<G: Graph>(
        &self,
        tape: &mut Tape<'_>,
        graph: &HeteroGraph<G>,
        rows: &[Option<Var>],
        kept: &mut [Vec<Var>],
    ) -> Result<()> {
        for (target, kept) in self.targets.iter().zip(kept) {
            for earlier in kept.iter_mut() {
                *earlier = graph.destinations(tape, *target, earlier)?;
            }
            let Some(x) = &rows[*target] else { continue };
            kept.push(if self.kind.spec().attention {
                tape.dropout(graph.node_ids(*target), x, self.dropout)?
            } else {
                x.clone()
            });
        }
        Ok(())
    }

    /// The targets' outputs, from their rows after all layers.
    fn joined(&self, tape: &mut Tape<'_>, kept: Vec<Vec<Var>>) -> Result<Vec<Var>> {
        let jumps = self.jumps.iter().flatten().zip(kept);
        jumps.map(|(jump, rows)| jump.forward(tape, &rows)).collect()
    }
}
