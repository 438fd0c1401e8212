//! Normalisations between layers: batch norm and layer norm.

use serde::{Deserialize, Serialize};
use tch::Tensor;

use crate::engine::tape::{
    BatchStatistics, Begun, Computation, Graph, Init, Parameter, ParameterBuilder, Tape, Var,
};
use crate::words::choice::choices;
use crate::words::error::Result;

const EPS: f64 = 1e-5;

choices! {
    /// The normalisation between two layers.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
    #[serde(rename_all = "lowercase")]
    pub enum NormKind {
        /// No normalisation
        @default None = "none",
        /// Batch normalisation with the statistics of the nodes of all partitions (`BatchNorm1d`)
        Batch = "batch",
        /// Layer normalisation (`LayerNorm`)
        Layer = "layer",
    }
}

impl NormKind {
    /// Creates a normalisation of rows of this width.
    pub(super) fn make(
        self,
        parameters: &mut ParameterBuilder,
        width: i64,
    ) -> Option<Box<dyn Normalization>> {
        match self {
            NormKind::None => None,
            NormKind::Batch => Some(Box::new(BatchNorm::new(parameters, width))),
            NormKind::Layer => Some(Box::new(LayerNorm::new(parameters, width))),
        }
    }
}

/// A normalisation of a value with one row per node. Types implement one of the two methods.
pub trait Normalization {
    /// Maps `[rows, width]` to the same shape. `graph` connects the ranks. The default runs [`begin`](Normalization::begin).
    ///
    /// # Errors
    /// If an operation fails.
    fn forward<'a>(&self, tape: &mut Tape<'a>, graph: &'a dyn Graph, x: Var) -> Result<Var> {
        self.begin(tape, graph, x)?.finish(tape)
    }

    /// [`forward`](Normalization::forward) up to its pause, so that the normalisations of several node types can [share
    /// it](Tape::join). The default runs [`forward`](Normalization::forward).
    ///
    /// # Errors
    /// As for [`forward`](Normalization::forward).
    fn begin<'a>(&self, tape: &mut Tape<'a>, graph: &'a dyn Graph, x: Var) -> Begun<'a, Var> {
        self.forward(tape, graph, x).map(Computation::Complete)
    }
}

/// SAR's `DistributedBN1D`: `torch.nn.BatchNorm1d` over the nodes of all partitions (Ioffe and Szegedy 2015), eps 1e-5,
/// momentum 0.1; an evaluation uses the running statistics. State-dict keys, all `[width]`: `weight`, `bias`,
/// `running_mean`, `running_var`; and `num_batches_tracked` (`int64`, no dimension).
///
/// ```
/// use sar::nn::{BatchNorm, Normalization};
/// use sar::testing::{TestGraph, assert_near, rows_output};
///
/// // Two nodes without edges.
/// let graph = TestGraph::of(2, &[], &[]);
/// let features: [&[f64]; 2] = [&[3.0], &[1.0]];
/// let values: [(&str, &[f64]); 4] =
///     [("weight", &[2.0]), ("bias", &[1.0]), ("running_mean", &[1.0]), ("running_var", &[4.0])];
/// let make = |p: &mut _| BatchNorm::new(p, 1);
/// let rows = rows_output(&graph, &features, &values, make, |norm, tape, graph, x| norm.forward(tape, graph, x))?;
/// assert_near(&rows, &[2.999998, 1.0]);
/// # Ok::<(), sar::Error>(())
/// ```
pub struct BatchNorm(BatchStatistics);

impl BatchNorm {
    /// Creates the layer with PyTorch's initial values: weight 1, bias 0, mean 0, variance 1.
    pub fn new(parameters: &mut ParameterBuilder, width: i64) -> Self {
        BatchNorm(BatchStatistics {
            weight: parameters.add("weight", &[width], Init::Constant(1.0)),
            bias: parameters.add("bias", &[width], Init::Zeros),
            running_mean: parameters.add_buffer("running_mean", &[width], 0.0),
            running_var: parameters.add_buffer("running_var", &[width], 1.0),
            num_batches_tracked: parameters.add_count("num_batches_tracked"),
            eps: EPS,
            momentum: 0.1,
        })
    }
}

impl Normalization for BatchNorm {
    fn begin<'a>(&self, tape: &mut Tape<'a>, graph: &'a dyn Graph, x: Var) -> Begun<'a, Var> {
        tape.begin_batch_norm(graph, x, self.0)
    }
}

/// `torch.nn.LayerNorm` over the columns of each row (Ba, Kiros and Hinton 2016), eps 1e-5. State-dict keys: `weight` and
/// `bias`, `[width]`.
///
/// ```
/// use sar::nn::{LayerNorm, Normalization};
/// use sar::testing::{TestGraph, assert_near, rows_output};
///
/// // Two nodes without edges.
/// let graph = TestGraph::of(2, &[], &[]);
/// let features: [&[f64]; 2] = [&[1.0, 3.0], &[8.0, 4.0]];
/// let values: [(&str, &[f64]); 2] = [("weight", &[1.0, 10.0]), ("bias", &[0.0, 0.5])];
/// let make = |p: &mut _| LayerNorm::new(p, 2);
/// let rows = rows_output(&graph, &features, &values, make, |norm, tape, graph, x| norm.forward(tape, graph, x))?;
/// assert_near(&rows, &[-0.999995, 10.49995, 0.999999, -9.499987]);
/// # Ok::<(), sar::Error>(())
/// ```
pub struct LayerNorm {
    weight: Parameter,
    bias: Parameter,
    width: i64,
}

impl LayerNorm {
    /// Creates the layer with PyTorch's initial values: weight 1, bias 0.
    pub fn new(parameters: &mut ParameterBuilder, width: i64) -> Self {
        LayerNorm {
            weight: parameters.add("weight", &[width], Init::Constant(1.0)),
            bias: parameters.add("bias", &[width], Init::Zeros),
            width,
        }
    }
}

impl Normalization for LayerNorm {
    fn forward<'a>(&self, tape: &mut Tape<'a>, _: &'a dyn Graph, x: Var) -> Result<Var> {
        let width = self.width;
        tape.segment("layer-norm", &[&x], &[self.weight, self.bias], move |x, p| {
            Ok(x[0].f_layer_norm([width], Some(&p[0]), Some(&p[1]), EPS, false)?)
        })
    }
}

/// x + y, element by element.
pub(super) fn add(tape: &mut Tape<'_>, x: &Var, y: &Var) -> Result<Var> {
    tape.segment("residual", &[x, y], &[], |x: &[Tensor], _| Ok(x[0].f_add(&x[1])?))
}
