//! Aggregation by edge type.

use tch::Tensor;

use super::pushed::add_pushed;
use crate::engine::spill::{PointerTensor, ShardPointer};
use crate::engine::tape::graphs::graph::Graph;
use crate::engine::tape::record::{Begun, Computation, PausingAdjoint, Tape};
use crate::engine::tape::var::{Target, Var};
use crate::engine::tensor;
use crate::engine::tensor::with_real;
use crate::graph::SortedEdges;
use crate::kernels::{typed_sum, typed_sum_adjoint};
use crate::words::error::{Error, Result};

impl<'a> Tape<'a> {
    /// For each destination, the sums of `x` (`[num_sources, width]`) over its in-edges of each of `num_types` types,
    /// side by side: `[num_destinations, num_types * width]`. One collective.
    ///
    /// # Errors
    /// If the graph was loaded without edge types.
    pub fn aggregate_typed(
        &mut self,
        graph: &'a dyn Graph,
        x: Var,
        num_types: usize,
    ) -> Result<Var> {
        self.begin_aggregate_typed(graph, x, num_types)?.finish(self)
    }

    /// [`aggregate_typed`](Tape::aggregate_typed) up to its pause.
    ///
    /// # Errors
    /// As for [`aggregate_typed`](Tape::aggregate_typed).
    pub fn begin_aggregate_typed(
        &mut self,
        graph: &'a dyn Graph,
        x: Var,
        num_types: usize,
    ) -> Begun<'a, Var> {
        let spans = self.spans("aggregate");
        let _span = spans();
        let (target, kind, width) = (x.target(), x.kind(), x.width() as usize);
        let shape = [graph.num_destinations() as i64, (num_types * width) as i64];
        let mut sums = tensor::zeros(&shape, kind)?;
        let add = move |shard: &ShardPointer, x: &Tensor, y: &mut Tensor| -> Result<()> {
            let edges = shard.by_dst()?;
            let Some(types) = edge_types(&edges)? else { return Ok(()) };
            with_real!(kind, T => {
                let (x, y) = (&tensor::slice::<T>(x), &mut tensor::slice_mut::<T>(y));
                typed_sum(&edges.ends, types, num_types, width, x, y);
                Ok(())
            })
        };
        let layout = [x.rows()];
        let posted = {
            let rows = x.pin()?;
            add(graph.local_shard(), &rows, &mut sums)?;
            graph.pull(&[&rows], &layout, false)?
        };
        drop(x);
        let partial = self.manager().track_rows("partial-sum", sums)?;
        let computation = Computation::after(self, graph, posted, move |tape, collective| {
            let mut sums = partial.take()?;
            graph.pulled(collective.as_ref(), &layout, &mut |shard, parts| {
                add(shard, &parts[0], &mut sums)
            })?;
            let value = tape.manager().track_rows("aggregate", sums)?;
            let y = tape.var(value, target.is_some());
            if let Some(x) = target {
                tape.record(&y, TypedAdjoint { graph, x, num_types });
            }
            Ok(y)
        })?;
        Ok(computation.within(spans))
    }
}

struct TypedAdjoint<'a> {
    graph: &'a dyn Graph,
    x: Target,
    num_types: usize,
}

impl<'a> PausingAdjoint<'a> for TypedAdjoint<'a> {
    fn begin(self: Box<Self>, tape: &mut Tape<'a>, gradient: PointerTensor) -> Begun<'a> {
        let TypedAdjoint { graph, x, num_types } = *self;
        let (width, kind) = (x.size[1], gradient.kind());
        let (posted, partial) = {
            let gy = gradient.pin()?;
            let gradient_of = |shard: &ShardPointer| -> Result<Tensor> {
                let mut gx = tensor::zeros(&[shard.num_sources() as i64, width], kind)?;
                let edges = shard.by_src()?;
                let Some(types) = edge_types(&edges)? else { return Ok(gx) };
                with_real!(kind, T => {
                    let (gy, gx) = (&tensor::slice::<T>(&gy), &mut tensor::slice_mut::<T>(&mut gx));
                    typed_sum_adjoint(&edges.ends, types, num_types, width as usize, gy, gx);
                    Ok(())
                })?;
                Ok(gx)
            };
            let posted = graph.push(None, &mut |shard, _| Ok(vec![gradient_of(shard)?]))?;
            (posted, gradient_of(graph.local_shard())?)
        };
        drop(gradient);
        add_pushed(tape, graph, posted, [partial], [Some(x)])
    }
}

/// The types of edges; `None` if there are no edges.
fn edge_types(edges: &SortedEdges) -> Result<Option<&[u16]>> {
    if edges.ends.num_entries() == 0 {
        return Ok(None);
    }
    let missing = || Error::config("edge types", "the model uses edge types, but none are loaded");
    edges.types.as_deref().ok_or_else(missing).map(Some)
}
