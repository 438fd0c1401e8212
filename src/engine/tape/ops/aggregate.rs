//! Aggregation over in-edges: the operation that exchanges rows between partitions.

use std::rc::Rc;

use tch::{Kind, Tensor};

use super::dense::column_sums;
use crate::engine::spill::{PointerTensor, ShardPointer};
use crate::engine::tape::graphs::graph::Graph;
use crate::engine::tape::graphs::row_layout::RowLayout;
use crate::engine::tape::parameters::Parameter;
use crate::engine::tape::record::{Begun, Computation, PausingAdjoint, Tape};
use crate::engine::tape::var::{Target, Var};
use crate::engine::tensor;
use crate::engine::tensor::with_element;
use crate::graph::{Csr, SortedEdges};
use crate::kernels::{Element, Spmm, scatter_add_rows};
use crate::words::error::{Error, Result};

/// Reduction of the messages along a node's in-edges to one row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reduce {
    /// Sum of the messages.
    Sum,
    /// Sum of the messages divided by the in-degree; 0 without in-edges.
    Mean,
    /// Largest value, column by column; 0 without in-edges.
    Max,
    /// Smallest value, column by column; 0 without in-edges.
    Min,
}

/// An aggregation for [`Tape::aggregate`]: y = `onto` + `bias` + scale ∘ reduce(w · x).
pub struct Aggregation {
    pub(in crate::engine::tape) reduce: Reduce,
    pub(in crate::engine::tape) weighted: bool,
    pub(in crate::engine::tape) scale: Option<PointerTensor>,
    pub(in crate::engine::tape) onto: Option<Var>,
    pub(in crate::engine::tape) bias: Option<Parameter>,
}

impl Aggregation {
    /// A plain reduction.
    pub fn new(reduce: Reduce) -> Self {
        Aggregation { reduce, weighted: false, scale: None, onto: None, bias: None }
    }

    /// Multiplies each message by its edge's weight.
    #[must_use]
    pub fn weighted(self, weighted: bool) -> Self {
        Aggregation { weighted, ..self }
    }

    /// Multiplies each row of a sum by a factor, `scale`, `[num_destinations]`.
    #[must_use]
    pub fn scaled(self, scale: Option<PointerTensor>) -> Self {
        Aggregation { scale, ..self }
    }

    /// Adds the result to a value, `[num_destinations, width]`, in place if it is moved in as the only handle.
    #[must_use]
    pub fn onto(self, onto: Var) -> Self {
        Aggregation { onto: Some(onto), ..self }
    }

    /// Adds a bias, `[width]`, to every row.
    #[must_use]
    pub fn bias(self, bias: Option<Parameter>) -> Self {
        Aggregation { bias, ..self }
    }
}

impl<'a> Tape<'a> {
    /// Aggregates the rows of `x` (`[num_sources, width]`) along the in-edges of each destination, `[num_destinations,
    /// width]`. Move `x` in if it is not used again, so that it need not outlive the pause. One collective.
    ///
    /// Other ranks' source rows are added rank by rank while they are read (sequential aggregation). A row's edges are
    /// summed in a fixed order, so the result does not depend on which ranks are resident. If the tape
    /// [remembers](Tape::remembering) aggregates of constants, these are computed once.
    ///
    /// # Errors
    /// If weights, a scale, `onto` or a bias are combined with a maximum or minimum, or weights are used on a graph
    /// without weights.
    pub fn aggregate(&mut self, graph: &'a dyn Graph, x: Var, how: Aggregation) -> Result<Var> {
        self.begin_aggregate(graph, x, how)?.finish(self)
    }

    /// [`aggregate`](Tape::aggregate) up to its pause.
    ///
    /// # Errors
    /// As for [`aggregate`](Tape::aggregate).
    pub fn begin_aggregate(
        &mut self,
        graph: &'a dyn Graph,
        x: Var,
        how: Aggregation,
    ) -> Begun<'a, Var> {
        let onto_constant = how.onto.as_ref().is_none_or(Var::is_constant);
        if x.is_constant() && onto_constant && how.bias.is_none() {
            return self.once(|tape| tape.reduce(graph, x, how));
        }
        self.reduce(graph, x, how)
    }

    fn reduce(&mut self, graph: &'a dyn Graph, x: Var, how: Aggregation) -> Begun<'a, Var> {
        let spans = self.spans("aggregate");
        let _span = spans();
        x.check_matrix()?;
        let computation = match how.reduce {
            Reduce::Sum => self.aggregate_sum(graph, x, how),
            Reduce::Mean => {
                let mean = |degrees: &Tensor| Ok(degrees.f_clamp_min(1)?.f_reciprocal()?);
                let scale = self.degree_scale(graph.in_degrees(), x.kind(), mean);
                self.aggregate_sum(graph, x, how.scaled(Some(scale)))
            }
            Reduce::Max | Reduce::Min => self.aggregate_select(graph, x, &how),
        };
        Ok(computation?.within(spans))
    }

    /// A factor per node, `[num_nodes]` of `kind`, for example for [`Aggregation::scaled`]. `formula` computes it from
    /// the nodes' degrees in that kind.
    pub fn degree_scale(
        &self,
        degrees: &PointerTensor,
        kind: Kind,
        formula: impl Fn(&Tensor) -> Result<Tensor> + 'static,
    ) -> PointerTensor {
        let shape = degrees.size().to_vec();
        let degrees = degrees.clone();
        let recipe = Rc::new(move || formula(&degrees.pin()?.f_to_kind(kind)?));
        self.manager().track_recipe("degree-scale", &shape, kind, None, recipe)
    }

    fn aggregate_sum(&mut self, graph: &'a dyn Graph, x: Var, how: Aggregation) -> Begun<'a, Var> {
        let Aggregation { weighted, scale, onto, bias, .. } = how;
        let (width, kind) = (x.width(), x.kind());
        let layout = [x.held_rows()];
        // Sums of constants are not exact in the narrow type in which the constants are sent.
        let exact = layout[0].exact.is_some();
        let graph = graph.for_sums(weighted).filter(|_| !exact).unwrap_or(graph);
        let adjoint = SumAdjoint {
            graph,
            weighted,
            x: x.target(),
            scale: scale.clone(),
            onto: onto.as_ref().and_then(Var::target),
            bias,
        };
        let needs_grad = adjoint.x.is_some() || adjoint.onto.is_some() || bias.is_some();
        let product = move |shard: &ShardPointer, x: &Tensor, y: &mut Tensor| {
            let scale = scale.as_ref().map(PointerTensor::pin).transpose()?;
            let edges = shard.by_dst()?;
            let factors = Factors {
                weights: edge_weights(&edges, weighted)?,
                rows: scale.as_deref(),
                columns: None,
            };
            spmm(&edges.ends, &factors, x, y)
        };
        let mut sum = match onto {
            Some(onto) => onto.into_tensor(false)?,
            None => tensor::zeros(&[graph.num_destinations() as i64, width], kind)?,
        };
        if let Some(bias) = bias {
            sum = sum.f_add_(&self.parameters().value(bias)?)?;
        }
        let posted = {
            let rows = x.pin_held()?;
            let posted = graph.pull(&[&rows], &layout, false)?;
            product(graph.local_shard(), &rows, &mut sum)?;
            posted
        };
        drop(x);
        let partial = self.manager().track_rows("partial-sum", sum)?;
        Computation::after(self, graph, posted, move |tape, collective| {
            let mut sum = partial.take()?;
            graph.pulled(collective.as_ref(), &layout, &mut |shard, parts| {
                product(shard, &parts[0], &mut sum)
            })?;
            let value = tape.manager().track_rows("aggregate", sum)?;
            let y = tape.var(value, needs_grad);
            tape.record(&y, adjoint);
            Ok(y)
        })
    }
}

struct SumAdjoint<'a> {
    graph: &'a dyn Graph,
    weighted: bool,
    x: Option<Target>,
    scale: Option<PointerTensor>,
    onto: Option<Target>,
    bias: Option<Parameter>,
}

/// gx = Aᵀ (scale ∘ gy): each rank computes its edges' contributions to every rank's sources and pushes them to the
/// owners.
impl<'a> PausingAdjoint<'a> for SumAdjoint<'a> {
    fn begin(self: Box<Self>, tape: &mut Tape<'a>, gradient: PointerTensor) -> Begun<'a> {
        let SumAdjoint { graph, weighted, x, scale, onto, bias } = *self;
        if let Some(bias) = bias {
            let total = column_sums(&*gradient.pin_held()?)?;
            tape.add_parameter_grad(bias, total)?;
        }
        let Some(x) = x else {
            return tape.add_grad(onto.as_ref(), gradient).map(Computation::Complete);
        };
        let (width, kind, held) = (gradient.size()[1], gradient.kind(), gradient.held_kind());
        let product = move |shard: &ShardPointer, gradient: &PointerTensor, kind: Kind| {
            let gy = gradient.pin_held()?;
            let scale = scale.as_ref().map(PointerTensor::pin).transpose()?;
            let mut gx = tensor::zeros(&[shard.num_sources() as i64, width], kind)?;
            let edges = shard.by_src()?;
            let factors = Factors {
                weights: edge_weights(&edges, weighted)?,
                rows: None,
                columns: scale.as_deref(),
            };
            spmm(&edges.ends, &factors, &gy, &mut gx)?;
            Ok::<Tensor, Error>(gx)
        };
        let posted =
            graph.push(None, &mut |shard, _| Ok(vec![product(shard, &gradient, held)?]))?;
        Computation::after(tape, graph, posted, move |tape, collective| {
            // The own part is computed after the pause, so that it need not outlive it. If the result is added to
            // `onto`, the gradient outlives the pause anyway.
            let mut gx = product(graph.local_shard(), &gradient, kind)?;
            tape.add_grad(onto.as_ref(), gradient)?;
            let layout = [RowLayout::new(width as usize, held)];
            graph.pushed(collective.as_ref(), &layout, &mut |rows, parts| {
                add_rows(&parts[0], rows, &mut gx)
            })?;
            tape.add_new_grad(Some(&x), gx)
        })
    }
}

/// `x[rows[i]] += values[i]`; `rows` is ascending without duplicates.
pub(in crate::engine::tape) fn add_rows(
    values: &Tensor,
    rows: &[u32],
    x: &mut Tensor,
) -> Result<()> {
    let width = x.size()[1] as usize;
    with_element!(values.kind(), E => {
        scatter_add_rows(&tensor::slice::<E>(values), width, rows, &mut tensor::slice_mut(x));
        Ok(())
    })
}

fn edge_weights(edges: &SortedEdges, weighted: bool) -> Result<Option<&[f32]>> {
    // A shard without edges has no array of weights.
    if !weighted || edges.ends.num_entries() == 0 {
        return Ok(None);
    }
    let missing =
        || Error::config("edge weights", "the model uses edge weights, but none are loaded");
    edges.weights.as_deref().ok_or_else(missing).map(Some)
}

/// Factors of the entries of a sparse matrix.
pub(in crate::engine::tape) struct Factors<'a> {
    /// Weight of each edge.
    weights: Option<&'a [f32]>,
    /// Factor of each row.
    rows: Option<&'a Tensor>,
    /// Factor of each column.
    columns: Option<&'a Tensor>,
}

impl<'a> Factors<'a> {
    /// Weights of edges, if `weighted`.
    pub(in crate::engine::tape) fn of_edges(
        edges: &'a SortedEdges,
        weighted: bool,
    ) -> Result<Self> {
        Ok(Factors { weights: edge_weights(edges, weighted)?, rows: None, columns: None })
    }
}

/// Adds the product of a matrix and `x` to `y`, which has the type of `x` or the type of its sums.
pub(in crate::engine::tape) fn spmm(
    graph: &Csr,
    factors: &Factors<'_>,
    x: &Tensor,
    y: &mut Tensor,
) -> Result<()> {
    let width = x.size()[1] as usize;
    with_element!(x.kind(), E => {
        let rows = factors.rows.map(tensor::slice::<<E as Element>::Real>);
        let columns = factors.columns.map(tensor::slice::<<E as Element>::Real>);
        let (row_scale, col_scale) = (rows.as_deref(), columns.as_deref());
        let product = Spmm { graph, weights: factors.weights, row_scale, col_scale };
        let rows = &tensor::slice::<E>(x);
        if y.kind() == x.kind() {
            product.add_to(rows, width, &mut tensor::slice_mut::<E>(y));
        } else {
            product.add_to(rows, width, &mut tensor::slice_mut::<<E as Element>::Real>(y));
        }
        Ok(())
    })
}
