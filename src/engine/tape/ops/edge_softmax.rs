//! Softmax of edge values over in-edges.

use tch::{Device, Kind, Tensor};

use crate::engine::spill::PointerTensor;
use crate::engine::tape::graphs::graph::Graph;
use crate::engine::tape::record::{Adjoint, Tape};
use crate::engine::tape::var::{Target, Var};
use crate::engine::tensor;
use crate::engine::tensor::with_real;
use crate::kernels::EdgeSoftmax;
use crate::words::error::{Error, Result};

impl<'a> Tape<'a> {
    /// `a[e] = exp(scores[e]) / sum of exp(scores[e']) over the in-edges e' of e's destination`, column by column:
    /// `dgl.nn.functional.edge_softmax`. Scores and result are edge values, `[num_edges, heads]`, in the order of
    /// [`Graph::shards`]. This rank has all in-edges of its destinations, whoever owns the sources, so there is no collective.
    ///
    /// [`attend`](Tape::attend) computes the same followed by a weighted sum, without any matrix that has a row per edge.
    ///
    /// # Errors
    /// If the number of rows of scores is not the number of edges.
    pub fn edge_softmax(&mut self, graph: &'a dyn Graph, scores: &Var) -> Result<Var> {
        let _span = self.span("edge softmax");
        let edges = graph.num_edges()?;
        check_edge_values("scores", scores, edges)?;
        let (heads, kind) = (scores.width(), scores.kind());
        let rows = graph.num_destinations() as i64;
        let mut y = tensor::empty(&[edges, heads], kind)?;
        let mut largest = Tensor::f_full([rows, heads], f64::NEG_INFINITY, (kind, Device::Cpu))?;
        let mut sum = tensor::zeros(&[rows, heads], kind)?;
        {
            let scores = scores.pin()?;
            with_real!(kind, T => {
                let scores = &tensor::slice::<T>(&scores);
                for_shards(graph, heads, |softmax, place| {
                    let state = (&mut tensor::slice_mut(&mut largest), &mut tensor::slice_mut(&mut sum));
                    softmax.accumulate(&scores[place], state.0, state.1);
                })?;
                let (largest, sum) = (&tensor::slice(&largest), &tensor::slice(&sum));
                let y = &mut tensor::slice_mut::<T>(&mut y);
                for_shards(graph, heads, |softmax, place| {
                    softmax.normalise(&scores[place.clone()], largest, sum, &mut y[place]);
                })
            })?;
        }
        let y = self.manager().track("edge-softmax", y);
        let y = self.var(y, scores.needs_grad());
        if let Some(scores) = scores.target() {
            self.record(&y, EdgeSoftmaxAdjoint { graph, scores, output: y.clone() });
        }
        Ok(y)
    }
}

/// Checks that edge values have a row per edge.
pub(in crate::engine::tape) fn check_edge_values(
    what: &str,
    values: &Var,
    edges: i64,
) -> Result<()> {
    if values.size()[0] == edges {
        return Ok(());
    }
    let problem = format!("{} rows for {edges} edges of this partition", values.size()[0]);
    Err(Error::config(what, problem).with_hint("edge values have one row per edge of the graph"))
}

/// Passes the edges of each shard to `work`, with the range of their values.
fn for_shards(
    graph: &dyn Graph,
    heads: i64,
    mut work: impl FnMut(EdgeSoftmax<'_>, std::ops::Range<usize>),
) -> Result<()> {
    let heads = heads as usize;
    let mut first = 0;
    for shard in graph.shards() {
        let edges = shard.by_dst()?;
        let end = first + shard.num_edges() * heads;
        work(EdgeSoftmax { by_dst: &edges.ends, heads }, first..end);
        first = end;
    }
    Ok(())
}

struct EdgeSoftmaxAdjoint<'a> {
    graph: &'a dyn Graph,
    scores: Target,
    output: Var,
}

/// With d the sum of `a gy` over the in-edges of the destination, the gradient of a score is `a (gy - d)`.
impl Adjoint for EdgeSoftmaxAdjoint<'_> {
    fn adjoint(self: Box<Self>, tape: &mut Tape<'_>, gradient: PointerTensor) -> Result<()> {
        let EdgeSoftmaxAdjoint { graph, scores, output } = *self;
        let (heads, kind): (i64, Kind) = (output.width(), gradient.kind());
        let mut delta = tensor::zeros(&[graph.num_destinations() as i64, heads], kind)?;
        let mut gscores = tensor::empty(gradient.size(), kind)?;
        {
            let (y, gy) = (output.pin()?, gradient.pin()?);
            with_real!(kind, T => {
                let (y, gy) = (&tensor::slice::<T>(&y), &tensor::slice::<T>(&gy));
                for_shards(graph, heads, |softmax, place| {
                    let delta = &mut tensor::slice_mut(&mut delta);
                    softmax.inner_products(&y[place.clone()], &gy[place], delta);
                })?;
                let delta = &tensor::slice(&delta);
                let gscores = &mut tensor::slice_mut::<T>(&mut gscores);
                for_shards(graph, heads, |softmax, place| {
                    let (y, gy) = (&y[place.clone()], &gy[place.clone()]);
                    softmax.adjoint(y, gy, delta, &mut gscores[place]);
                })
            })?;
        }
        drop((output, gradient));
        let gscores = tape.manager().track("gradient", gscores);
        tape.add_grad(Some(&scores), gscores)
    }
}
