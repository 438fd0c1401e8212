//! Message passing with user-defined messages.

use rayon::prelude::*;
use tch::{Kind, Tensor};

use super::aggregate::Reduce;
use super::edge_chunks::{CHUNKS_AT_ONCE, EdgeChunk, add, chunks};
use super::edge_reduce::{Collect, Collected, message_gradient};
use super::edge_softmax::check_edge_values;
use super::pushed::add_pushed;
use super::segment_grad::{Code, SegmentGrad};
use crate::engine::comm::Collective;
use crate::engine::spill::PointerTensor;
use crate::engine::tape::graphs::graph::{Graph, Pulled};
use crate::engine::tape::graphs::row_layout::RowLayout;
use crate::engine::tape::parameters::Parameter;
use crate::engine::tape::record::{Begun, Computation, PausingAdjoint, Tape};
use crate::engine::tape::var::Var;
use crate::engine::tensor;
use crate::engine::tensor::Shared;
use crate::graph::SortedEdges;
use crate::words::error::{Error, Result};

/// A batch of edges for a message function.
pub struct EdgeBatch<'e> {
    /// The source's row of each edge, `[edges, width of src]`.
    pub src: &'e Tensor,
    /// The destination's row of each edge, `[edges, width of dst]`.
    pub dst: &'e Tensor,
    /// Values of each edge, `[edges, width of edge]`; without rows if there are none.
    pub edge: &'e Tensor,
    /// Weight of each edge, `[edges, 1]`; without rows if the graph has no weights.
    pub weight: &'e Tensor,
    /// Type of each edge, `int64 [edges]`; empty if the graph has no types.
    pub etype: &'e Tensor,
    /// The values of the parameters.
    pub parameters: &'e [Tensor],
}

/// The inputs of [`Tape::propagate`].
pub struct Propagation<'p> {
    /// Rows of the sources, `[num_sources, _]`.
    pub src: Var,
    /// Rows of the destinations, `[num_destinations, _]`.
    pub dst: Var,
    /// Values of the edges, `[num_edges, _]`, in the order of [`Graph::shards`]: features, or results of [`Tape::apply_edges`]
    /// and [`Tape::edge_softmax`].
    pub edge: Option<Var>,
    /// Parameters of the messages.
    pub parameters: &'p [Parameter],
}

impl<'a> Tape<'a> {
    /// `y[v] = reduce over in-edges u -> v of message(src[u], dst[v], edge)`, `[num_destinations, width of a message]`;
    /// 0 for nodes without in-edges. One collective.
    ///
    /// `message` is any torch code that takes a batch of edges and returns one row per edge, `[edges, width]`, with a
    /// fixed width. Several threads run it, and the backward pass runs it again with gradients on, so it must be a pure
    /// function. Messages are never kept: their memory does not depend on the number of edges. The gradient of a
    /// maximum or minimum goes to the first of equal messages.
    ///
    /// Edge features can come from the partition, if the shards were loaded with `EdgeData::ids`:
    ///
    /// ```ignore
    /// let features = EdgeFeatures::find(&partition, "feat", counters)?;
    /// let features = features.read(&graph.edge_ids()?, Kind::Float)?;
    /// let edge = tape.input(&manager.track("edge-features", features));
    /// let inputs = Propagation { src, dst, edge: Some(edge), parameters: &[weight] };
    /// // DGL's u_mul_e, after a linear map of the edge features.
    /// tape.propagate(graph, inputs, Reduce::Sum, |e| {
    ///     Ok(e.src.f_mul(&e.edge.f_mm(&e.parameters[0])?)?)
    /// })
    /// ```
    ///
    /// For a learned row per edge type, pass a parameter `[types, width]` and select from it in the message:
    /// `parameters[0].f_index_select(0, etype)`.
    ///
    /// # Errors
    /// If the message function fails or does not return one row per edge, in the type of `src`, or edge values do not have
    /// one row per edge.
    pub fn propagate(
        &mut self,
        graph: &'a dyn Graph,
        inputs: Propagation<'_>,
        reduce: Reduce,
        message: impl Fn(&EdgeBatch<'_>) -> Result<Tensor> + Send + Sync + 'static,
    ) -> Result<Var> {
        self.collect(graph, inputs, Collect::Reduce(reduce), message)?.finish(self)
    }

    /// The messages as edge values, `[num_edges, width of a message]`, in the order of [`Graph::shards`]: DGL's
    /// `apply_edges`. One collective.
    ///
    /// # Errors
    /// As for [`propagate`](Tape::propagate).
    pub fn apply_edges(
        &mut self,
        graph: &'a dyn Graph,
        inputs: Propagation<'_>,
        message: impl Fn(&EdgeBatch<'_>) -> Result<Tensor> + Send + Sync + 'static,
    ) -> Result<Var> {
        self.begin_apply_edges(graph, inputs, message)?.finish(self)
    }

    /// [`apply_edges`](Tape::apply_edges) up to its pause.
    ///
    /// # Errors
    /// As for [`propagate`](Tape::propagate).
    pub fn begin_apply_edges(
        &mut self,
        graph: &'a dyn Graph,
        inputs: Propagation<'_>,
        message: impl Fn(&EdgeBatch<'_>) -> Result<Tensor> + Send + Sync + 'static,
    ) -> Begun<'a, Var> {
        self.collect(graph, inputs, Collect::Each, message)
    }

    fn collect(
        &mut self,
        graph: &'a dyn Graph,
        inputs: Propagation<'_>,
        how: Collect,
        message: impl Fn(&EdgeBatch<'_>) -> Result<Tensor> + Send + Sync + 'static,
    ) -> Begun<'a, Var> {
        let spans = self.spans("propagate");
        let _span = spans();
        let Propagation { src, dst, edge, parameters } = inputs;
        if let Some(edge) = &edge {
            check_edge_values("edge values", edge, graph.num_edges()?)?;
        }
        let code = move |inputs: &[Tensor], parameters: &[Tensor]| {
            let [src, dst, edge, weight, etype] = inputs else {
                return Err(Error::internal("messages of other inputs"));
            };
            message(&EdgeBatch { src, dst, edge, weight, etype, parameters })
        };
        let messages = Messages { code: Box::new(code), parameters: parameters.to_vec() };
        let inputs = [Some(&src), Some(&dst), edge.as_ref()];
        inputs.into_iter().flatten().try_for_each(Var::check_matrix)?;
        let needs_grad = inputs.into_iter().flatten().any(Var::needs_grad);
        let record = self.records() && (needs_grad || !parameters.is_empty());
        let (layout, kind) = ([src.rows()], src.kind());
        let values = messages.values(self)?;
        let width = messages.width(inputs.map(|v| v.map_or(0, Var::width)), kind, &values)?;
        let mut rows = Collected::new(how, [how.rows(graph)?, width], kind)?;
        let posted = {
            let (src, dst) = (src.pin()?, dst.pin()?);
            let edge = edge.as_ref().map(Var::pin).transpose()?;
            let ends = Inputs { src: &src, dst: &dst, edge: edge.as_deref() };
            messages.collect(&*graph.local_shard().by_dst()?, ends, &values, &mut rows)?;
            graph.pull(&[&src], &layout, record)?
        };
        drop(values);
        let src = record.then_some(src);
        let paused = rows.pause(self.manager())?;
        let computation = Computation::after(self, graph, posted, move |tape, collective| {
            let mut rows = paused.resume()?;
            {
                let (values, dst) = (messages.values(tape)?, dst.pin()?);
                let edge = edge.as_ref().map(Var::pin).transpose()?;
                graph.pulled(collective.as_ref(), &layout, &mut |shard, parts| {
                    let ends = Inputs { src: &parts[0], dst: &dst, edge: edge.as_deref() };
                    messages.collect(&*shard.by_dst()?, ends, &values, &mut rows)
                })?;
            }
            let (mut value, winner) = rows.finish();
            if how == Collect::Reduce(Reduce::Mean) {
                value = over_degrees(graph, value)?;
            }
            let y = tape.manager().track_rows("propagated", value)?;
            let y = tape.var(y, record);
            if let Some(src) = src {
                let winner = winner.map(|winner| tape.manager().track("winning-edges", winner));
                let ends = (src, dst, edge);
                let adjoint =
                    PropagateAdjoint { graph, ends, messages, how, winner, layout, collective };
                tape.record(&y, adjoint);
            }
            Ok(y)
        })?;
        Ok(computation.within(spans))
    }
}

/// Divides each row by the destination's in-degree, at least 1.
fn over_degrees(graph: &dyn Graph, mut rows: Tensor) -> Result<Tensor> {
    let degrees = graph.in_degrees().pin()?.f_to_kind(rows.kind())?;
    Ok(rows.f_div_(&degrees.f_clamp_min(1)?.f_unsqueeze(1)?)?)
}

/// A message function.
struct Messages {
    code: Box<Code>,
    parameters: Vec<Parameter>,
}

impl Messages {
    fn values(&self, tape: &Tape<'_>) -> Result<Vec<Tensor>> {
        self.parameters.iter().map(|p| tape.parameters().value(*p)).collect()
    }

    /// Width of a message, determined by passing an edge with zeros.
    fn width(&self, [src, dst, edge]: [i64; 3], kind: Kind, values: &[Tensor]) -> Result<i64> {
        let zeros = |shape: &[i64], kind| tensor::zeros(shape, kind);
        let inputs = [
            zeros(&[1, src], kind)?,
            zeros(&[1, dst], kind)?,
            zeros(&[1, edge], kind)?,
            zeros(&[1, 1], kind)?,
            zeros(&[1], Kind::Int64)?,
        ];
        let message = (self.code)(&inputs, values)?;
        check(&message, 1)?;
        Ok(message.size()[1])
    }

    /// Computes the messages of a shard's edges and adds them to the result.
    fn collect(
        &self,
        edges: &SortedEdges,
        inputs: Inputs<'_>,
        values: &[Tensor],
        rows: &mut Collected,
    ) -> Result<()> {
        let Inputs { src, dst, edge } = inputs;
        let (src, dst, edge) = (Shared(src), Shared(dst), edge.map(Shared));
        let first = rows.edges();
        let values: Vec<_> = values.iter().map(Shared).collect();
        let compute = |chunk: EdgeChunk<'_>| {
            let values: Vec<_> = values.iter().map(|v| v.whole()).collect();
            let edge = edge.map(Shared::whole);
            let inputs = chunk.inputs([&src.whole(), &dst.whole()], edge.as_ref(), first)?;
            let messages = (self.code)(&inputs, &values)?;
            check(&messages, chunk.dst.len())?;
            Ok((chunk.dst, messages.f_contiguous()?))
        };
        for_chunks(edges, compute, |(dst, messages)| rows.take(&messages, &dst))
    }

    /// Adds to `gradients` the adjoints of the messages of a shard's edges.
    fn collect_adjoint(
        &self,
        edges: &SortedEdges,
        inputs: Inputs<'_>,
        values: &[Tensor],
        output: &Output<'_>,
        gradients: &mut Gradients,
    ) -> Result<Tensor> {
        let Inputs { src, dst, edge } = inputs;
        let mut src_gradient = tensor::zeros(&src.size(), src.kind())?;
        let first = gradients.edges;
        gradients.edges += edges.ends.num_entries() as i64;
        let (src, dst, edge) = (Shared(src), Shared(dst), edge.map(Shared));
        let values: Vec<_> = values.iter().map(Shared).collect();
        let (gy, winner) = (Shared(output.gy), output.winner.map(Shared));
        let (how, needs) = (output.how, output.needs);
        let compute = |chunk: EdgeChunk<'_>| {
            let values: Vec<_> = values.iter().map(|v| v.whole()).collect();
            let edge = edge.map(Shared::whole);
            let inputs = chunk.inputs([&src.whole(), &dst.whole()], edge.as_ref(), first)?;
            let run = SegmentGrad::run(&*self.code, inputs, &needs, values)?;
            let winner = winner.map(Shared::whole);
            let number = first + chunk.begin() as i64;
            let gm = message_gradient(how, &gy.whole(), winner.as_ref(), &chunk.dst, number)?;
            Ok((run.vjp(&gm)?, chunk.src().to_vec(), chunk.dst, number))
        };
        for_chunks(edges, compute, |((inputs, parameters), src, dst, number)| {
            if let Some(Some(gradient)) = inputs.first() {
                add(&gradient.f_contiguous()?, &src, &mut src_gradient)?;
            }
            if let Some(Some(gradient)) = inputs.get(1) {
                add(&gradient.f_contiguous()?, &dst, &mut gradients.dst)?;
            }
            if let (Some(Some(gradient)), Some(all)) = (inputs.get(2), &gradients.edge) {
                all.f_narrow(0, number, dst.len() as i64)?.f_copy_(gradient)?;
            }
            for (sum, gradient) in gradients.parameters.iter_mut().zip(parameters) {
                if let Some(gradient) = gradient {
                    *sum = sum.f_add(&gradient)?;
                }
            }
            Ok(())
        })?;
        Ok(src_gradient)
    }
}

/// Computes a result for each chunk of a shard's edges, several in parallel, and passes the results on in order.
fn for_chunks<'s, R: Send>(
    edges: &'s SortedEdges,
    compute: impl Fn(EdgeChunk<'s>) -> Result<R> + Sync,
    mut take: impl FnMut(R) -> Result<()>,
) -> Result<()> {
    let mut chunks = chunks(edges).peekable();
    while chunks.peek().is_some() {
        let some: Vec<_> = chunks.by_ref().take(CHUNKS_AT_ONCE).collect();
        let results: Vec<R> = some.into_par_iter().map(&compute).collect::<Result<_>>()?;
        results.into_iter().try_for_each(&mut take)?;
    }
    Ok(())
}

fn check(messages: &Tensor, edges: usize) -> Result<()> {
    let size = messages.size();
    if size.len() == 2 && size[0] == edges as i64 {
        return Ok(());
    }
    let problem = format!("returned {size:?} for {edges} edges; it must return one row for each");
    Err(Error::config("message function", problem))
}

/// Rows of sources and destinations, and values of edges.
struct Inputs<'i> {
    src: &'i Tensor,
    dst: &'i Tensor,
    edge: Option<&'i Tensor>,
}

/// The output, as far as the adjoint needs it, and the inputs that need a gradient.
struct Output<'o> {
    how: Collect,
    gy: &'o Tensor,
    winner: Option<&'o Tensor>,
    needs: [bool; 5],
}

/// Gradients that the shards' edges contribute to.
struct Gradients {
    dst: Tensor,
    /// Gradient of the edges' values, if they need one.
    edge: Option<Tensor>,
    parameters: Vec<Tensor>,
    edges: i64,
}

struct PropagateAdjoint<'a> {
    graph: &'a dyn Graph,
    ends: (Var, Var, Option<Var>),
    messages: Messages,
    how: Collect,
    winner: Option<PointerTensor>,
    layout: [RowLayout; 1],
    collective: Option<Collective>,
}

/// Messages are recomputed, with gradients on, on the rank that computed them first; sources' gradients are sent to
/// their owners.
impl<'a> PausingAdjoint<'a> for PropagateAdjoint<'a> {
    fn begin(self: Box<Self>, tape: &mut Tape<'a>, gradient: PointerTensor) -> Begun<'a> {
        let PropagateAdjoint { graph, ends, messages, how, winner, layout, collective } = *self;
        let (src, dst, edge) = ends;
        let kind = gradient.kind();
        let targets = [src.target(), dst.target(), edge.as_ref().and_then(Var::target)];
        let parameter_zeros = |p: &Parameter| tensor::zeros(tape.parameters().shape(*p), kind);
        let edge_zeros = targets[2].as_ref().map(|target| tensor::zeros(&target.size, kind));
        let mut gradients = Gradients {
            dst: tensor::zeros(dst.size(), kind)?,
            edge: edge_zeros.transpose()?,
            parameters: messages.parameters.iter().map(parameter_zeros).collect::<Result<_>>()?,
            edges: 0,
        };
        let (posted, local) = {
            let mut gy = tensor::copy(&*gradient.pin()?)?;
            if how == Collect::Reduce(Reduce::Mean) {
                gy = over_degrees(graph, gy)?;
            }
            let winner = winner.as_ref().map(PointerTensor::pin).transpose()?;
            let [src_needs, dst_needs, edge_needs] = [0, 1, 2].map(|i: usize| targets[i].is_some());
            let needs = [src_needs, dst_needs, edge_needs, false, false];
            let output = Output { how, gy: &gy, winner: winner.as_deref(), needs };
            let (values, dst) = (messages.values(tape)?, dst.pin()?);
            let edge = edge.as_ref().map(Var::pin).transpose()?;
            let edge = edge.as_deref();
            let local = {
                let (edges, src) = (graph.local_shard().by_dst()?, src.pin()?);
                let ends = Inputs { src: &src, dst: &dst, edge };
                messages.collect_adjoint(&edges, ends, &values, &output, &mut gradients)?
            };
            let kept = collective.as_ref().map(|collective| Pulled { collective, layout: &layout });
            let posted = graph.push(kept, &mut |shard, parts| {
                let ends = Inputs { src: &parts[0], dst: &dst, edge };
                let edges = shard.by_dst()?;
                Ok(vec![messages.collect_adjoint(
                    &edges,
                    ends,
                    &values,
                    &output,
                    &mut gradients,
                )?])
            })?;
            (posted, local)
        };
        drop((collective, gradient, winner, src, dst, edge));
        let Gradients { dst, edge, parameters, .. } = gradients;
        for (parameter, gradient) in messages.parameters.iter().zip(parameters) {
            tape.add_parameter_grad(*parameter, gradient)?;
        }
        for (target, gradient) in targets[1..].iter().zip([Some(dst), edge]) {
            if let (Some(target), Some(gradient)) = (target, gradient) {
                tape.add_new_grad(Some(target), gradient)?;
            }
        }
        let [src, ..] = targets;
        add_pushed(tape, graph, posted, [local], [src])
    }
}
