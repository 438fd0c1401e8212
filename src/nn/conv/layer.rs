//! The interfaces of layers and models.

use tch::Kind;

use crate::engine::spill::Pointer;
use crate::engine::tape::{Begun, Computation, Graph, Tape, Var};
use crate::words::error::{Error, Result};

/// A graph layer. Types implement one of the two methods.
pub trait Conv {
    /// Maps the features of a graph's nodes to `[num_destinations, out]`. The default runs [`begin`](Conv::begin).
    ///
    /// # Errors
    /// If the graph lacks the layer's inputs, or the results cannot be kept.
    fn forward<'a>(&self, tape: &mut Tape<'a>, input: ConvInput<'a>) -> Result<Var> {
        self.begin(tape, input)?.finish(tape)
    }

    /// [`forward`](Conv::forward) up to the first pause, so that the layers of several relations can [share their
    /// pauses](Tape::join). The default runs [`forward`](Conv::forward), with its own pauses.
    ///
    /// # Errors
    /// As for [`forward`](Conv::forward).
    fn begin<'a>(&self, tape: &mut Tape<'a>, input: ConvInput<'a>) -> Begun<'a, Var> {
        self.forward(tape, input).map(Computation::Complete)
    }
}

/// The input of a layer.
pub struct ConvInput<'a> {
    /// The edges and the nodes at their ends; for a layer of several steps, the graph of the first step.
    pub graph: &'a dyn Graph,
    /// The graphs of the other steps. The destinations of a step are the sources of the next one.
    pub further: Vec<&'a dyn Graph>,
    /// Features of the sources, `[num_sources, in]`.
    pub src: Var,
    /// Features of the destinations of the last step, `[num_destinations, in]`; a clone of `src` where both are the
    /// same nodes.
    pub dst: Var,
    /// Input of the stack's first layer, `[num_destinations, in]`, for layers that use it again.
    pub initial: Option<Var>,
}

impl<'a> ConvInput<'a> {
    /// Input of a layer with one step.
    pub fn new(graph: &'a dyn Graph, src: Var, dst: Var) -> Self {
        ConvInput { graph, further: Vec::new(), src, dst, initial: None }
    }

    /// Input of a layer of several steps on graphs of one node type, from features of the first step's sources; the
    /// destinations are among them.
    ///
    /// # Errors
    /// If there is no graph, or the rows of the destinations cannot be found.
    pub fn of_sources(
        tape: &mut Tape<'a>,
        graphs: &[&'a dyn Graph],
        src: Var,
    ) -> Result<ConvInput<'a>> {
        let [graph, further @ ..] = graphs else {
            return Err(Error::internal("a layer without a graph"));
        };
        let dst = last_destinations(tape, graphs, &src)?;
        Ok(ConvInput { graph: *graph, further: further.to_vec(), src, dst, initial: None })
    }
}

/// A model: its forward pass over a tape.
pub trait Model {
    /// Computes the constant part of the forward pass, once, before all steps: maps input features to the input of
    /// [`forward`](Model::forward), one row per node, or per node among `rows` (own rows, ascending). The default returns the
    /// rows of `x`.
    ///
    /// # Errors
    /// If libtorch refuses an operation (`Tensor`), or a value cannot be read back (`Io`, `Corrupt`).
    fn precompute<'a>(
        &self,
        tape: &mut Tape<'a>,
        _: &'a dyn Graph,
        x: Var,
        rows: Option<&Pointer<Vec<u32>>>,
    ) -> Result<Var> {
        kept_rows(tape, &x, rows)
    }

    /// Maps input features to the last layer's output. `graphs` holds one graph per layer
    /// ([`ModelConfig::num_graphs`](crate::nn::ModelConfig::num_graphs)); for full-graph training all are the same.
    ///
    /// # Errors
    /// If the number of graphs is wrong, or an operation fails.
    fn forward<'a>(&self, tape: &mut Tape<'a>, graphs: &[&'a dyn Graph], x: Var) -> Result<Var>;
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

/// `x` itself, or copies of these rows of it.
pub(in crate::nn) fn kept_rows(
    tape: &mut Tape<'_>,
    x: &Var,
    rows: Option<&Pointer<Vec<u32>>>,
) -> Result<Var> {
    let Some(rows) = rows else { return Ok(x.clone()) };
    let kept = tape.rows(x, rows)?;
    tape.store(&kept)
}

/// Returns an error if a node has no in-edges, as DGL does.
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

/// Whether the destinations are among the sources, so that the results of sources include those of destinations.
pub(in crate::nn) fn ends_coincide(graph: &dyn Graph, src: &Var, dst: &Var) -> bool {
    src.is(dst) || graph.destination_rows().is_some()
}

/// Whether a layer with a linear aggregator should aggregate before it multiplies by its weight.
///
/// Rows that cross partitions have the width `in` or `out`. If the layer multiplies first, the weight's gradient is
/// computed from the pushed gradient, so no aggregate is kept. But this takes a push in the backward pass, which
/// aggregating first avoids for constant inputs (`needs_grad` false).
///
/// A sampled block has several times as many sources as destinations, and no rows cross partitions. There the number of
/// multiplied rows decides, unless inputs are so wide that aggregating them costs more. (Ranks may decide differently
/// only where no rank waits.)
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
