//! Sums over in-edges with a factor per edge and head.

use tch::Tensor;

use super::edge_softmax::check_edge_values;
use super::pushed::add_pushed;
use crate::engine::comm::Collective;
use crate::engine::spill::{PointerTensor, ShardPointer};
use crate::engine::tape::graphs::graph::{Graph, Pulled};
use crate::engine::tape::graphs::row_layout::RowLayout;
use crate::engine::tape::record::{Begun, Computation, PausingAdjoint, Tape};
use crate::engine::tape::var::Var;
use crate::engine::tensor;
use crate::engine::tensor::with_real;
use crate::kernels::EdgeSum;
use crate::words::error::{Error, Result};

impl<'a> Tape<'a> {
    /// `y[v, h] = sum over in-edges e = u -> v of factors[e, h] · x[u, h]`: DGL's `update_all(fn.u_mul_e, fn.sum)`. One
    /// collective.
    ///
    /// `x` is `[num_sources, heads * width]`, head by head; `factors` are edge values, `[num_edges, heads]`, in the
    /// order of [`Graph::shards`]; the result is `[num_destinations, heads * width]`. Messages are never kept.
    ///
    /// # Errors
    /// If factors do not have one row per edge, or the width of `x` is not a multiple of the number of heads.
    pub fn weighted_sum(&mut self, graph: &'a dyn Graph, x: Var, factors: &Var) -> Result<Var> {
        self.begin_weighted_sum(graph, x, factors.clone())?.finish(self)
    }

    /// [`weighted_sum`](Tape::weighted_sum) up to its pause.
    ///
    /// # Errors
    /// As for [`weighted_sum`](Tape::weighted_sum).
    pub fn begin_weighted_sum(
        &mut self,
        graph: &'a dyn Graph,
        x: Var,
        factors: Var,
    ) -> Begun<'a, Var> {
        let spans = self.spans("weighted sum");
        let _span = spans();
        check_edge_values("factors", &factors, graph.num_edges()?)?;
        let (heads, columns, kind) = (factors.width() as usize, x.width(), x.kind());
        if heads == 0 || columns % heads as i64 != 0 {
            let problem = format!("{columns} columns cannot be divided among {heads} heads");
            return Err(Error::config("heads", problem));
        }
        let record = self.records() && (x.needs_grad() || factors.needs_grad());
        let layout = [x.rows()];
        let mut y = tensor::zeros(&[graph.num_destinations() as i64, columns], kind)?;
        let mut edges = EdgeValues { heads, first: 0 };
        let posted = {
            let (rows, factors) = (x.pin()?, factors.pin()?);
            edges.add(graph.local_shard(), &factors, &rows, &mut y)?;
            graph.pull(&[&rows], &layout, record)?
        };
        let x = record.then_some(x);
        let partial = self.manager().track_rows("partial-sum", y)?;
        let computation = Computation::after(self, graph, posted, move |tape, collective| {
            let mut y = partial.take()?;
            {
                let factors = factors.pin()?;
                graph.pulled(collective.as_ref(), &layout, &mut |shard, parts| {
                    edges.add(shard, &factors, &parts[0], &mut y)
                })?;
            }
            let y = tape.manager().track_rows("weighted-sum", y)?;
            let y = tape.var(y, record);
            if let Some(x) = x {
                tape.record(&y, WeightedSumAdjoint { graph, x, factors, layout, collective });
            }
            Ok(y)
        })?;
        Ok(computation.within(spans))
    }
}

/// Values of edges, read shard by shard.
struct EdgeValues {
    heads: usize,
    /// Number of edges of the previous shards.
    first: i64,
}

impl EdgeValues {
    /// Values of the next shard's edges.
    fn next(&mut self, shard: &ShardPointer, values: &Tensor) -> Result<Tensor> {
        let count = shard.num_edges() as i64;
        let values = values.f_narrow(0, self.first, count)?;
        self.first += count;
        Ok(values)
    }

    fn add(
        &mut self,
        shard: &ShardPointer,
        factors: &Tensor,
        x: &Tensor,
        y: &mut Tensor,
    ) -> Result<()> {
        let factors = self.next(shard, factors)?;
        let (heads, width) = (self.heads, x.size()[1] as usize / self.heads);
        let edges = shard.by_dst()?;
        let sum = EdgeSum { graph: &edges.ends, places: None, heads, width };
        with_real!(x.kind(), T => {
            let y = &mut tensor::slice_mut::<T>(y);
            sum.add_to(&tensor::slice::<T>(&factors), &tensor::slice::<T>(x), y);
            Ok(())
        })
    }

    /// Writes the gradients of a shard's factors; returns the gradient of its sources' rows.
    fn adjoint(
        &mut self,
        shard: &ShardPointer,
        of: &AdjointInputs<'_>,
        x: &Tensor,
        gfactors: &mut Option<Tensor>,
    ) -> Result<Tensor> {
        let (heads, width) = (self.heads, x.size()[1] as usize / self.heads);
        let first = self.first;
        let factors = self.next(shard, of.factors)?;
        let edges = shard.by_dst()?;
        let mut gx = tensor::zeros(&[shard.num_sources() as i64, x.size()[1]], x.kind())?;
        with_real!(x.kind(), T => {
            let gy = &tensor::slice::<T>(of.gy);
            if let Some(all) = gfactors {
                let mut own = all.f_narrow(0, first, factors.size()[0])?;
                let sum = EdgeSum { graph: &edges.ends, places: None, heads, width };
                sum.inner_products(&tensor::slice::<T>(x), gy, &mut tensor::slice_mut::<T>(&mut own));
            }
            let (by_src, places) = edges.ends.transpose();
            let sum = EdgeSum { graph: &by_src, places: Some(&places), heads, width };
            sum.add_to(&tensor::slice::<T>(&factors), gy, &mut tensor::slice_mut::<T>(&mut gx));
            Ok::<(), Error>(())
        })?;
        Ok(gx)
    }
}

/// Values that the adjoint has in memory.
struct AdjointInputs<'k> {
    factors: &'k Tensor,
    gy: &'k Tensor,
}

struct WeightedSumAdjoint<'a> {
    graph: &'a dyn Graph,
    x: Var,
    factors: Var,
    layout: [RowLayout; 1],
    collective: Option<Collective>,
}

/// The gradient of a row is the sum of `factors[e] gy[v]` over its out-edges; the gradient of a factor is `<x[u],
/// gy[v]>`. Sources' rows are read again on the ranks that received them.
impl<'a> PausingAdjoint<'a> for WeightedSumAdjoint<'a> {
    fn begin(self: Box<Self>, tape: &mut Tape<'a>, gradient: PointerTensor) -> Begun<'a> {
        let WeightedSumAdjoint { graph, x, factors, layout, collective } = *self;
        let kind = gradient.kind();
        let (x_target, factors_target) = (x.target(), factors.target());
        let mut edges = EdgeValues { heads: factors.width() as usize, first: 0 };
        let zeros = factors_target.as_ref().map(|target| tensor::zeros(&target.size, kind));
        let mut gfactors = zeros.transpose()?;
        let (posted, local) = {
            let (gy, values) = (gradient.pin()?, factors.pin()?);
            let known = AdjointInputs { factors: &values, gy: &gy };
            let local = edges.adjoint(graph.local_shard(), &known, &*x.pin()?, &mut gfactors)?;
            let kept = collective.as_ref().map(|collective| Pulled { collective, layout: &layout });
            let posted = graph.push(kept, &mut |shard, parts| {
                Ok(vec![edges.adjoint(shard, &known, &parts[0], &mut gfactors)?])
            })?;
            (posted, local)
        };
        drop((collective, gradient, x, factors));
        if let Some(gradient) = gfactors {
            tape.add_new_grad(factors_target.as_ref(), gradient)?;
        }
        add_pushed(tape, graph, posted, [local], [x_target])
    }
}
