//! Aggregation by maximum or minimum.

use tch::{Kind, Tensor};

use super::aggregate::{Aggregation, Reduce};
use super::pushed::add_pushed;
use crate::engine::spill::{PointerTensor, ShardPointer};
use crate::engine::tape::graphs::graph::Graph;
use crate::engine::tape::record::{Begun, Computation, PausingAdjoint, Tape};
use crate::engine::tape::var::{Target, Var};
use crate::engine::tensor;
use crate::engine::tensor::with_real;
use crate::kernels::{NO_SOURCE, Selection, select, select_adjoint};
use crate::words::error::{Error, Result};

impl<'a> Tape<'a> {
    /// y[v, j] = the largest (smallest) x[u, j] over the in-edges u -> v; 0 without in-edges. The gradient goes to one
    /// edge, the first with the selected value.
    pub(in crate::engine::tape) fn aggregate_select(
        &mut self,
        graph: &'a dyn Graph,
        x: Var,
        how: &Aggregation,
    ) -> Begun<'a, Var> {
        if how.weighted || how.scale.is_some() || how.onto.is_some() || how.bias.is_some() {
            let problem = "edge weights, scales and sums do not combine with a maximum or minimum";
            return Err(Error::config("aggregator", problem));
        }
        let selection = match how.reduce {
            Reduce::Min => Selection::Min,
            _ => Selection::Max,
        };
        let (target, kind) = (x.target(), x.kind());
        let size = [graph.num_destinations() as i64, x.width()];
        let mut state = Selected::new(selection, &size, kind)?;
        let layout = [x.rows()];
        let posted = {
            let rows = x.pin()?;
            state.take_from(graph.local_shard(), &rows)?;
            graph.pull(&[&rows], &layout, false)?
        };
        drop(x);
        let Selected { value, source, base, .. } = state;
        let value = self.manager().track_rows("partial-maximum", value)?;
        let source = self.manager().track("partial-source", source);
        Computation::after(self, graph, posted, move |tape, collective| {
            let (value, source) = (value.take()?, source.take()?);
            let mut state = Selected { selection, value, source, base };
            graph.pulled(collective.as_ref(), &layout, &mut |shard, parts| {
                state.take_from(shard, &parts[0])
            })?;
            let value = tape.manager().track_rows("maximum", state.value)?;
            let y = tape.var(value, target.is_some());
            if let Some(x) = target {
                let source = tape.manager().track("source", state.source);
                tape.record(&y, SelectAdjoint { graph, x, source });
            }
            Ok(y)
        })
    }
}

/// The selected value of each element so far, and the number of its source, counted through the own shard and then the
/// other ranks' shards in order.
struct Selected {
    selection: Selection,
    value: Tensor,
    source: Tensor,
    base: u32,
}

impl Selected {
    fn new(selection: Selection, size: &[i64], kind: Kind) -> Result<Self> {
        let mut source = tensor::empty(size, Kind::Int)?;
        bytemuck::cast_slice_mut(&mut tensor::slice_mut::<i32>(&mut source)).fill(NO_SOURCE);
        Ok(Selected { selection, value: tensor::zeros(size, kind)?, source, base: 0 })
    }

    fn take_from(&mut self, shard: &ShardPointer, x: &Tensor) -> Result<()> {
        let (width, base) = (x.size()[1] as usize, self.base);
        let edges = shard.by_dst()?;
        with_real!(x.kind(), T => {
            let value = &mut tensor::slice_mut::<T>(&mut self.value);
            let source = &mut tensor::slice_mut::<i32>(&mut self.source);
            let source = bytemuck::cast_slice_mut(source);
            let x = &tensor::slice::<T>(x);
            select(&edges.ends, self.selection, x, width, base, value, source);
            Ok(())
        })?;
        self.base = next_base(self.base, shard)?;
        Ok(())
    }
}

fn next_base(base: u32, shard: &ShardPointer) -> Result<u32> {
    u32::try_from(shard.num_sources())
        .ok()
        .and_then(|columns| base.checked_add(columns))
        .filter(|base| *base != NO_SOURCE)
        .ok_or_else(|| Error::internal("more than 2^32 sources of one partition"))
}

struct SelectAdjoint<'a> {
    graph: &'a dyn Graph,
    x: Target,
    source: PointerTensor,
}

impl<'a> PausingAdjoint<'a> for SelectAdjoint<'a> {
    fn begin(self: Box<Self>, tape: &mut Tape<'a>, gradient: PointerTensor) -> Begun<'a> {
        let SelectAdjoint { graph, x, source } = *self;
        let (width, kind) = (gradient.size()[1], gradient.kind());
        let (posted, partial) = {
            let (gy, source) = (gradient.pin()?, source.pin()?);
            let source = tensor::slice::<i32>(&source);
            let source: &[u32] = bytemuck::cast_slice(&source);
            let mut base = 0;
            let mut gradient_of = |shard: &ShardPointer| -> Result<Tensor> {
                let mut gx = tensor::zeros(&[shard.num_sources() as i64, width], kind)?;
                let edges = shard.by_src()?;
                with_real!(kind, T => {
                    let gx = &mut tensor::slice_mut::<T>(&mut gx);
                    let gy = &tensor::slice::<T>(&gy);
                    select_adjoint(&edges.ends, source, gy, width as usize, base, gx);
                    Ok(())
                })?;
                base = next_base(base, shard)?;
                Ok(gx)
            };
            // In the order of the forward pass: the own shard first.
            let partial = gradient_of(graph.local_shard())?;
            (graph.push(None, &mut |shard, _| Ok(vec![gradient_of(shard)?]))?, partial)
        };
        drop((gradient, source));
        add_pushed(tape, graph, posted, [partial], [Some(x)])
    }
}
