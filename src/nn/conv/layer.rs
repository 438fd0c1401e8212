//! The interfaces of layers and models.

use tch::Kind;

use crate::engine::tape::{Computation, Graph, Tape, Var};
use crate::error::{Error, Result};

/// A graph layer.
pub trait Conv {
    /// From the features of a graph's nodes to `[num_destinations, out]`.
    ///
    /// # Errors
    /// If the graph lacks the layer's inputs, or the results cannot be kept.
    fn forward<'a>(&self, tape: &mut Tape<'a>, input: ConvInput<'a>) -> Result<Var>;

    /// [`forward`](Conv::forward) up to the first pause, for layers that [share their pauses](Tape::join): those of the
    /// relations of a graph. By default it is the whole layer, whose pauses are its own.
    ///
    /// # Errors
    /// As for [`forward`](Conv::forward).
    fn begin<'a>(&self, tape: &mut Tape<'a>, input: ConvInput<'a>) -> Result<Computation<'a, Var>> {
        self.forward(tape, input).map(Computation::Complete)
    }
}

/// The input of a layer.
pub struct ConvInput<'a> {
    /// The edges, and the nodes at their two ends; in a layer of several steps, of the first step.
    pub graph: &'a dyn Graph,
    /// The graphs of the further steps. The destinations of a step are the sources of the next one.
    pub further: Vec<&'a dyn Graph>,
    /// Features of the sources, `[num_sources, in]`.
    pub src: Var,
    /// Features of the destinations of the last step, `[num_destinations, in]`; where both are the same nodes, a clone of
    /// `src`.
    pub dst: Var,
    /// The input of the first layer of the stack, `[num_destinations, in]`, for layers that return to it.
    pub initial: Option<Var>,
}

impl<'a> ConvInput<'a> {
    /// Features of the sources and of the destinations of a graph.
    pub fn new(graph: &'a dyn Graph, src: Var, dst: Var) -> Self {
        ConvInput { graph, further: Vec::new(), src, dst, initial: None }
    }

    /// Features of the sources of the first of several steps on graphs of one node type; the destinations are among them.
    ///
    /// # Errors
    /// If there is no graph, or the rows of the destinations cannot be found.
    pub fn of_sources(
        tape: &mut Tape<'a>,
        graphs: &[&'a dyn Graph],
        src: Var,
    ) -> Result<ConvInput<'a>> {
        let [graph, further @ ..] = graphs else {
            return Err(Error::internal("a layer without a graph".to_owned()));
        };
        let dst = last_destinations(tape, graphs, &src)?;
        Ok(ConvInput { graph: *graph, further: further.to_vec(), src, dst, initial: None })
    }
}

/// A model: ordinary code over a tape.
pub trait Model {
    /// The part of the forward pass that depends on constants only and is done once, before all steps: from input features to
    /// the input of [`forward`](Model::forward), row by row of the same nodes. By default it does nothing.
    ///
    /// # Errors
    /// If libtorch refuses an operation (`Tensor`), or a value cannot be read back (`Io`, `Corrupt`).
    fn precompute<'a>(&self, _: &mut Tape<'a>, _: &'a dyn Graph, x: Var) -> Result<Var> {
        Ok(x)
    }

    /// Maps input features to the last layer's output. `graphs` holds one graph per layer
    /// ([`ModelConfig::num_graphs`](crate::nn::ModelConfig::num_graphs)); for full-graph training all are the same.
    ///
    /// # Errors
    /// If the number of graphs is wrong, or an operation fails.
    fn forward<'a>(&self, tape: &mut Tape<'a>, graphs: &[&'a dyn Graph], x: Var) -> Result<Var>;

    /// Number of hidden layers: those after which a forward pass [can end](Tape::ending_after). By default it is 0.
    fn hidden_layers(&self) -> usize {
        0
    }
}

/// The rows of `x`, one per source of the first of several steps, that belong to the destinations of the last.
pub(in crate::nn) fn last_destinations(
    tape: &mut Tape<'_>,
    graphs: &[&dyn Graph],
    x: &Var,
) -> Result<Var> {
    let mut x = x.clone();
    for graph in graphs {
        x = tape.destinations(*graph, &x)?;
    }
    Ok(x)
}

/// Refuses nodes without in-edges, as DGL does.
pub(in crate::nn) fn check_in_edges(graph: &dyn Graph, output: &str) -> Result<()> {
    if graph.num_destinations() == 0 {
        return Ok(());
    }
    let without = graph.in_degrees().pin()?.f_eq(0)?.f_sum(Kind::Int64)?.f_int64_value(&[])?;
    if without == 0 {
        return Ok(());
    }
    let problem = format!(
        "{without} nodes of this partition have no in-edges, so their output would be only {output}"
    );
    let hint = "add self loops to the graph, or set allow_zero_in_degree";
    Err(Error::config("graph", problem).with_hint(hint))
}

/// Whether the destinations are also sources, so that results for sources include theirs.
pub(in crate::nn) fn ends_coincide(graph: &dyn Graph, src: &Var, dst: &Var) -> bool {
    src.is(dst) || graph.destination_rows().is_some()
}

/// Whether a layer with a linear aggregator should aggregate before it multiplies by its weight.
///
/// Rows that cross partitions have the width `in` or `out`. If the layer multiplies first, the gradient of the weight comes
/// from the pushed gradient, so no aggregate is kept. But that needs a push in the backward pass, which constant inputs
/// (`needs_grad` false) avoid when they are aggregated first.
///
/// A sampled block has several times as many sources as destinations, and no rows cross partitions: there the number of rows to
/// multiply counts, unless inputs are so wide that adding them up costs more. (Ranks may decide differently only where no rank
/// waits.)
pub(in crate::nn) fn aggregates_first(
    graph: &dyn Graph,
    x: &Var,
    in_feats: i64,
    out_feats: i64,
) -> bool {
    if graph.is_whole() && graph.num_sources() >= 2 * graph.num_destinations() {
        return in_feats <= 4 * out_feats;
    }
    let columns_if_multiplied_first = if x.needs_grad() { out_feats } else { 2 * out_feats };
    in_feats < columns_if_multiplied_first
}
