//! Correct and smooth: Huang et al., "Combining label propagation and simple models out-performs graph neural networks",
//! ICLR 2021.

use serde::{Deserialize, Serialize};
use tch::{Kind, Tensor};

use crate::engine::spill::PointerTensor;
use crate::engine::tape::{Graph, Tape, Var};
use crate::nn::conv::symmetric_norm::SymmetricNorm;
use crate::words::error::{Error, Result};

/// Label propagation: y ← alpha D^-1/2 A D^-1/2 y + (1 - alpha) y⁰, repeated; D are the in-degrees, at least 1.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct LabelPropagation {
    /// Number of steps.
    pub steps: usize,
    /// Share of the neighbours.
    pub alpha: f64,
}

/// `CorrectAndSmooth` of DGL's example (and of `torch_geometric.nn`): two label propagations that improve the predictions of
/// any model with the labels of the training nodes.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct CorrectAndSmooth {
    /// How errors are spread.
    pub correction: LabelPropagation,
    /// How corrected predictions are spread.
    pub smoothing: LabelPropagation,
    /// Factor that multiplies the spread errors; `None` scales each node's error to the mean size of the training
    /// nodes' errors.
    pub scale: Option<f64>,
}

/// Classes of the nodes of this rank whose class is known.
#[derive(Clone)]
pub struct KnownLabels {
    /// Class of each node, `int64 [num_nodes]`; ignored outside the mask.
    pub labels: PointerTensor,
    /// Whether the class of each node is known, `bool [num_nodes]`.
    pub mask: PointerTensor,
}

/// The constants of DGL's example.
impl Default for CorrectAndSmooth {
    fn default() -> Self {
        CorrectAndSmooth {
            correction: LabelPropagation { steps: 50, alpha: 0.979 },
            smoothing: LabelPropagation { steps: 50, alpha: 0.756 },
            scale: None,
        }
    }
}

impl CorrectAndSmooth {
    /// Corrects and smooths logits `[num_nodes, classes]`; returns scores from 0 to 1 of the same shape. `tape` belongs
    /// to an evaluation. One collective per step of propagation, and one without a scale.
    ///
    /// # Errors
    /// If a share is not in [0, 1], or the graph does not know the in-degrees of its sources.
    pub fn forward<'a>(
        &self,
        tape: &mut Tape<'a>,
        graph: &'a dyn Graph,
        logits: Var,
        known: &KnownLabels,
    ) -> Result<Var> {
        for LabelPropagation { alpha, .. } in [self.correction, self.smoothing] {
            if !(0.0..=1.0).contains(&alpha) {
                let problem = format!("must be from 0 to 1, not {alpha}");
                return Err(Error::config("share of the neighbours", problem));
            }
        }
        let soft = tape.segment("probabilities", &[&logits], &[], |x, _| {
            Ok(x[0].f_softmax(1, x[0].kind())?)
        })?;
        drop(logits);
        let corrected = self.correct(tape, graph, soft, known)?;
        let truth = with_truth(tape, &corrected, known)?;
        drop(corrected);
        self.smoothing.forward(tape, graph, truth, &|tape, y| {
            tape.segment("clamped", &[&y], &[], |y, _| Ok(y[0].f_clamp(0.0, 1.0)?))
        })
    }

    /// Adds the spread errors of the known nodes to the predictions.
    fn correct<'a>(
        &self,
        tape: &mut Tape<'a>,
        graph: &'a dyn Graph,
        soft: Var,
        known: &KnownLabels,
    ) -> Result<Var> {
        let error = error(tape, &soft, known)?;
        let Some(scale) = self.scale else {
            let size = mean_size(graph, &error, known)?;
            let spread = self.correction.forward(tape, graph, error, &|tape, y| {
                tape.segment("clamped", &[&y], &[], |y, _| Ok(y[0].f_clamp(-1.0, 1.0)?))
            })?;
            return tape.segment("corrected", &[&soft, &spread], &[], move |x, _| {
                let sizes =
                    x[1].f_abs()?.f_sum_dim_intlist([1_i64].as_slice(), true, x[1].kind())?;
                let scale = sizes.f_reciprocal()?.f_mul_scalar(size)?;
                // The factor is NaN, infinite or large where almost no error reached the node.
                let usable = scale.f_le(1000.0)?;
                let scale = scale.f_where_self(&usable, &scale.f_ones_like()?)?;
                Ok(x[0].f_add(&x[1].f_mul(&scale)?)?)
            });
        };
        let fixed = error.clone();
        let spread = self.correction.forward(tape, graph, error, &|tape, y| {
            let mask = tape.input(&known.mask);
            tape.segment("fixed", &[&y, &fixed, &mask], &[], |x, _| {
                Ok(x[1].f_where_self(&x[2].f_unsqueeze(1)?, &x[0])?)
            })
        })?;
        tape.segment("corrected", &[&soft, &spread], &[], move |x, _| {
            Ok(x[0].f_add(&x[1].f_mul_scalar(scale)?)?)
        })
    }
}

impl LabelPropagation {
    /// Propagates; `after` is applied to the result of each step.
    fn forward<'a>(
        &self,
        tape: &mut Tape<'a>,
        graph: &'a dyn Graph,
        y: Var,
        after: &dyn Fn(&mut Tape<'a>, Var) -> Result<Var>,
    ) -> Result<Var> {
        let alpha = self.alpha;
        let norm = SymmetricNorm { edge_weights: false, factor: alpha, out_degrees: false };
        let start =
            tape.segment("start", &[&y], &[], move |y, _| Ok(y[0].f_mul_scalar(1.0 - alpha)?))?;
        let mut y = y;
        for step in 0..self.steps {
            tape.enter_layer(step);
            let sum = norm.propagate(tape, graph, y, Some(start.clone()))?;
            y = after(tape, sum)?;
        }
        Ok(y)
    }
}

/// Errors of the known nodes' predictions; 0 elsewhere.
fn error(tape: &mut Tape<'_>, soft: &Var, known: &KnownLabels) -> Result<Var> {
    let (labels, mask) = (tape.input(&known.labels), tape.input(&known.mask));
    tape.segment("error", &[soft, &labels, &mask], &[], |x, _| {
        let error = one_hot(&x[1], &x[2], &x[0])?.f_sub(&x[0])?;
        Ok(error.f_mul(&x[2].f_unsqueeze(1)?)?)
    })
}

/// The predictions, with the true classes of known nodes.
fn with_truth(tape: &mut Tape<'_>, soft: &Var, known: &KnownLabels) -> Result<Var> {
    let (labels, mask) = (tape.input(&known.labels), tape.input(&known.mask));
    tape.segment("truth", &[soft, &labels, &mask], &[], |x, _| {
        Ok(one_hot(&x[1], &x[2], &x[0])?.f_where_self(&x[2].f_unsqueeze(1)?, &x[0])?)
    })
}

/// Rows with 1 at the labels of masked nodes and 0 elsewhere, with the shape and type of `like`.
fn one_hot(labels: &Tensor, mask: &Tensor, like: &Tensor) -> Result<Tensor> {
    // Labels outside the mask are arbitrary; they become class 0, whose value is then masked.
    let classes = labels.f_mul(mask)?.f_unsqueeze(1)?;
    Ok(like.f_zeros_like()?.f_scatter_value(1, &classes, 1)?)
}

/// Mean over all ranks' known nodes of the L1 norm of their errors; one collective.
fn mean_size(graph: &dyn Graph, error: &Var, known: &KnownLabels) -> Result<f64> {
    let sums = {
        let size = error.pin()?.f_abs()?.f_sum(Kind::Double)?.f_double_value(&[])?;
        let count = known.mask.pin()?.f_sum(Kind::Int64)?.f_int64_value(&[])?;
        Tensor::f_from_slice(&[size, count as f64])?
    };
    let sums = graph.all_reduce(vec![sums])?.remove(0);
    Ok(sums.f_double_value(&[0])? / sums.f_double_value(&[1])?)
}
