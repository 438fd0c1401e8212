//! Attention over in-edges.

use tch::{Device, Tensor};

use super::attention_edges::{Edges, Outputs, Running, ShardGradients, Sources, Walk};
use super::dense::column_sums;
use super::pushed::add_pushed;
use crate::engine::comm::Collective;
use crate::engine::spill::{PointerTensor, ShardPointer};
use crate::engine::tape::graphs::graph::{Graph, Pulled};
use crate::engine::tape::graphs::row_layout::RowLayout;
use crate::engine::tape::parameters::Parameter;
use crate::engine::tape::record::{Begun, Computation, PausingAdjoint, Tape};
use crate::engine::tape::var::Var;
use crate::engine::tensor;
use crate::engine::tensor::{Shared, map_row_blocks};
use crate::words::error::{Error, Result};

/// Score of an edge u -> v per head.
pub enum Scoring {
    /// `leaky_relu(src[u] + dst[v])`, both `[.., heads]`: GAT.
    Additive {
        /// Scores of the sources, `[num_sources, heads]`.
        src: Var,
        /// Scores of the destinations, `[num_destinations, heads]`.
        dst: Var,
    },
    /// `<vector, leaky_relu(messages[u] + dst[v])>` over the head's columns: GATv2.
    Dynamic {
        /// Rows of the destinations, `[num_destinations, heads * width]`.
        dst: Var,
        /// The attention vector, `heads * width` elements.
        vector: Parameter,
    },
}

/// The arguments of [`Tape::attend`].
pub struct Attend {
    /// Number of heads.
    pub heads: usize,
    /// How edges are scored.
    pub scoring: Scoring,
    /// Slope of the leaky ReLU for negative scores.
    pub negative_slope: f64,
    /// Probability that an edge's attention is dropped after the softmax, per head.
    pub dropout: f64,
}

impl<'a> Tape<'a> {
    /// `y[v, h] = sum over in-edges u -> v of softmax_u(score(u, v, h)) · messages[u, h]`; 0 for nodes without
    /// in-edges. One collective.
    ///
    /// `messages` is `[num_sources, heads * width]`, head by head; the result is `[num_destinations, heads * width]`.
    /// Scores, softmax and sum are computed in one pass over the edges, without any matrix that has a row per edge. The
    /// backward pass walks the edges by source; it reads received sources' rows again instead of having them sent a
    /// second time.
    ///
    /// # Errors
    /// If the width of the messages is not a multiple of the number of heads, or the dropout is not in [0, 1).
    pub fn attend(&mut self, graph: &'a dyn Graph, messages: Var, how: Attend) -> Result<Var> {
        self.begin_attend(graph, messages, how)?.finish(self)
    }

    /// [`attend`](Tape::attend) up to its pause.
    ///
    /// # Errors
    /// As for [`attend`](Tape::attend).
    pub fn begin_attend(
        &mut self,
        graph: &'a dyn Graph,
        messages: Var,
        how: Attend,
    ) -> Begun<'a, Var> {
        let spans = self.spans("attend");
        let _span = spans();
        let Attend { heads, scoring, negative_slope, dropout } = how;
        messages.check_matrix()?;
        let (columns, kind) = (messages.width(), messages.kind());
        if heads == 0 || columns % heads as i64 != 0 {
            let problem = format!("{columns} columns cannot be divided among {heads} heads");
            return Err(Error::config("heads", problem));
        }
        if !(0.0..1.0).contains(&dropout) {
            let problem = format!("must be at least 0 and below 1, not {dropout}");
            return Err(Error::config("attention dropout", problem));
        }
        let dropout = self.dropout_key().map(|key| (key, dropout)).filter(|(_, p)| *p > 0.0);
        let (scores, dst, vector) = match scoring {
            Scoring::Additive { src, dst } => (Some(src), dst, None),
            Scoring::Dynamic { dst, vector } => (None, dst, Some(vector)),
        };
        let needs = |var: &Option<Var>| var.as_ref().is_some_and(Var::needs_grad);
        let trained =
            messages.needs_grad() || needs(&scores) || dst.needs_grad() || vector.is_some();
        let sources = Sources { messages, scores };
        let edges = Edges { heads, dst, vector, negative_slope, dropout };
        let layout = sources.layout(dropout.is_some());
        let record = self.records() && trained;

        let mut state =
            Running::start(graph.num_destinations() as i64, heads as i64, columns, kind)?;
        let posted = {
            let pinned = edges.pin(self.parameters(), graph)?;
            let parts = sources.pin(graph, dropout.is_some())?;
            let parts: Vec<&Tensor> = parts.iter().map(|part| &**part).collect();
            pinned.walk(graph.local_shard(), &parts, Walk::Forward(&mut state))?;
            graph.pull(&parts, &layout, record)?
        };
        let sources = record.then_some(sources);
        let [largest, sum, weighted] = [state.largest, state.sum, state.weighted]
            .map(|part| self.manager().track("attention-state", part));
        let computation = Computation::after(self, graph, posted, move |tape, collective| {
            let (largest, sum, weighted) = (largest.take()?, sum.take()?, weighted.take()?);
            let mut state = Running { largest, sum, weighted };
            {
                let pinned = edges.pin(tape.parameters(), graph)?;
                graph.pulled(collective.as_ref(), &layout, &mut |shard, parts| {
                    let parts: Vec<_> = parts.iter().collect();
                    pinned.walk(shard, &parts, Walk::Forward(&mut state))
                })?;
            }
            let Running { largest, mut sum, weighted: y } = state.finish(heads as i64)?;
            let y = tape.manager().track_rows("attention", y)?;
            let y = tape.var(y, record);
            if let Some(sources) = sources {
                let softmax = [largest, sum.f_log_()?];
                let softmax = softmax.map(|part| tape.manager().track("log-sum", part));
                let output = y.value();
                let adjoint =
                    AttendAdjoint { graph, sources, edges, layout, softmax, output, collective };
                tape.record(&y, adjoint);
            }
            Ok(y)
        })?;
        Ok(computation.within(spans))
    }
}

impl Running {
    fn start(rows: i64, heads: i64, columns: i64, kind: tch::Kind) -> Result<Self> {
        Ok(Running {
            largest: Tensor::f_full([rows, heads], f64::NEG_INFINITY, (kind, Device::Cpu))?,
            sum: tensor::zeros(&[rows, heads], kind)?,
            weighted: tensor::zeros(&[rows, columns], kind)?,
        })
    }

    /// Divides the weighted sums, which become the result.
    fn finish(self, heads: i64) -> Result<Self> {
        {
            let (sum, weighted) = (Shared(&self.sum), Shared(&self.weighted));
            map_row_blocks(sum.0.size()[0], |start, len| {
                // Without in-edges the sum is 0, and so is the result.
                let sum = sum.rows(start, len)?;
                let sum = sum.f_masked_fill(&sum.f_eq(0)?, 1)?.f_unsqueeze(2)?;
                let _divided = weighted.rows(start, len)?.f_view([len, heads, -1])?.f_div_(&sum)?;
                Ok(())
            })?;
        }
        Ok(self)
    }
}

struct AttendAdjoint<'a> {
    graph: &'a dyn Graph,
    sources: Sources,
    edges: Edges,
    layout: Vec<RowLayout>,
    /// Largest score, and logarithm of the sum of exponentials.
    softmax: [PointerTensor; 2],
    output: PointerTensor,
    collective: Option<Collective>,
}

/// With a the attention and d = `<gy, y>`: the gradient of a score is a `(<gy[v], messages[u]> - d[v])`; the gradient
/// of a message is the sum of `a gy[v]` over its out-edges (the backward pass of FlashAttention: Dao et al., NeurIPS
/// 2022).
impl<'a> PausingAdjoint<'a> for AttendAdjoint<'a> {
    fn begin(self: Box<Self>, tape: &mut Tape<'a>, gradient: PointerTensor) -> Begun<'a> {
        let AttendAdjoint { graph, sources, edges, layout, softmax, output, collective } = *self;
        let kind = gradient.kind();
        let (score_width, dst_width) = edges.gradient_widths();
        let rows = graph.num_destinations() as i64;
        let mut destinations = tensor::zeros(&[rows, dst_width], kind)?;
        let (posted, local) = {
            let gy = gradient.pin()?;
            let delta = head_products(&gy, &*output.pin()?, edges.heads as i64)?;
            drop(output);
            let (largest, log_sum) = (softmax[0].pin()?, softmax[1].pin()?);
            let of = Outputs { largest: &largest, log_sum: &log_sum, delta: &delta, gy: &gy };
            let pinned = edges.pin(tape.parameters(), graph)?;
            let columns = gy.size()[1];
            let mut gradients = |shard: &ShardPointer, parts: &[&Tensor]| -> Result<[Tensor; 2]> {
                let rows = shard.num_sources() as i64;
                let mut messages = tensor::zeros(&[rows, columns], kind)?;
                let mut scores = tensor::zeros(&[rows, score_width], kind)?;
                let gradients = ShardGradients {
                    destinations: &mut destinations,
                    messages: &mut messages,
                    scores: &mut scores,
                };
                pinned.walk(shard, parts, Walk::Backward(&of, gradients))?;
                Ok([messages, scores])
            };
            let local = {
                let parts = sources.pin(graph, edges.dropout.is_some())?;
                let parts: Vec<&Tensor> = parts.iter().map(|part| &**part).collect();
                gradients(graph.local_shard(), &parts)?
            };
            let kept = collective.as_ref().map(|collective| Pulled { collective, layout: &layout });
            let posted = graph.push(kept, &mut |shard, parts| {
                Ok(gradients(shard, &parts.iter().collect::<Vec<_>>())?.into())
            })?;
            (posted, local)
        };
        drop((collective, gradient, softmax));
        let Sources { messages, scores } = &sources;
        let targets = [messages.target(), scores.as_ref().and_then(Var::target)];
        drop(sources);
        edges.hand_over(tape, destinations)?;
        drop(edges);
        add_pushed(tape, graph, posted, local, targets)
    }
}

impl Edges {
    /// Adds the destinations' gradient, and the attention vector's, which is stored in the same tensor.
    fn hand_over(&self, tape: &mut Tape<'_>, gradient: Tensor) -> Result<()> {
        let own = match self.vector {
            None => gradient,
            Some(vector) => {
                let width = self.dst.width();
                let parts = [gradient.f_narrow(1, 0, width)?, gradient.f_narrow(1, width, width)?];
                let shape = tape.parameters().shape(vector).to_vec();
                tape.add_parameter_grad(vector, column_sums(&parts[1])?.f_view(&shape[..])?)?;
                parts[0].f_contiguous()?
            }
        };
        if let Some(target) = self.dst.target() {
            tape.add_new_grad(Some(&target), own)?;
        }
        Ok(())
    }
}

/// The inner product of each head's part of two rows, `[rows, heads]`.
fn head_products(a: &Tensor, b: &Tensor, heads: i64) -> Result<Tensor> {
    let (rows, kind) = (a.size()[0], a.kind());
    let products = tensor::empty(&[rows, heads], kind)?;
    {
        let (a, b, products) = (Shared(a), Shared(b), Shared(&products));
        map_row_blocks(rows, |start, len| {
            let product = a.rows(start, len)?.f_mul(&b.rows(start, len)?)?;
            let product = product.f_view([len, heads, -1])?;
            let sum = product.f_sum_dim_intlist([2_i64].as_slice(), false, kind)?;
            products.rows(start, len)?.f_copy_(&sum)?;
            Ok(())
        })?;
    }
    Ok(products)
}
