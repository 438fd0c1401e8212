//! Jumping knowledge: Xu et al., "Representation learning on graphs with jumping knowledge networks", ICML 2018.

use serde::{Deserialize, Serialize};
use tch::Tensor;

use crate::engine::tape::{ParameterBuilder, Tape, Var};
use crate::nn::linear::{Linear, Network};
use crate::words::choice::choices;
use crate::words::error::{Error, Result};

choices! {
    /// How the outputs of all layers are joined into one row.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
    #[serde(rename_all = "lowercase")]
    pub enum JumpMode {
        /// Not at all: the last layer's output is the model's
        @default None = "none",
        /// Side by side, one layer after the other
        Cat = "cat",
        /// Largest value, column by column
        Max = "max",
    }
}

/// `torch_geometric.nn.JumpingKnowledge` followed by a linear layer, as in `torch_geometric`'s `BasicGNN`. State-dict keys:
/// `lin.weight` `[out, layers * width]` (max: `[out, width]`), `lin.bias` `[out]`.
///
/// ```
/// use sar::nn::{JumpMode, JumpingKnowledge};
/// use sar::testing::{TestGraph, assert_near, rows_output};
///
/// // Two nodes without edges.
/// let graph = TestGraph::of(2, &[], &[]);
/// let features: [&[f64]; 2] = [&[1.0], &[2.0]];
/// let values: [(&str, &[f64]); 2] = [("lin.weight", &[1.0, 10.0]), ("lin.bias", &[0.5])];
/// let make = |p: &mut _| JumpingKnowledge::new(p, JumpMode::Cat, 2, 1, 1).expect("a mode that jumps");
/// // The outputs of two layers: x and x + x.
/// let rows = rows_output(&graph, &features, &values, make, |jump, tape, _, x| {
///     let twice = tape.segment("twice", &[&x], &[], |x, _| Ok(x[0].f_add(&x[0])?))?;
///     jump.forward(tape, &[x, twice])
/// })?;
/// assert_near(&rows, &[21.5, 42.5]);
/// # Ok::<(), sar::Error>(())
/// ```
pub struct JumpingKnowledge {
    mode: JumpMode,
    lin: Linear,
}

impl JumpingKnowledge {
    /// Creates jumping knowledge for outputs of `width` columns from `layers` layers; `None` without it.
    pub fn new(
        parameters: &mut ParameterBuilder,
        mode: JumpMode,
        layers: usize,
        width: i64,
        out_feats: i64,
    ) -> Option<Self> {
        let columns = match mode {
            JumpMode::None => return None,
            JumpMode::Cat => layers as i64 * width,
            JumpMode::Max => width,
        };
        let lin = parameters.scope("lin", |p| Linear::new(p, columns, out_feats));
        Some(JumpingKnowledge { mode, lin })
    }

    /// Maps the layers' outputs, each `[rows, width]`, to `[rows, out]`.
    ///
    /// # Errors
    /// If `outputs` is empty.
    pub fn forward(&self, tape: &mut Tape<'_>, outputs: &[Var]) -> Result<Var> {
        if outputs.is_empty() {
            return Err(Error::internal(
                "jumping knowledge needs the output of a layer".to_owned(),
            ));
        }
        let mode = self.mode;
        let inputs: Vec<&Var> = outputs.iter().collect();
        let joined = tape.segment("jumping-knowledge", &inputs, &[], move |x, _| {
            Ok(match mode {
                JumpMode::Max => Tensor::f_stack(x, 0)?.f_max_dim(0, false)?.0,
                JumpMode::None | JumpMode::Cat => Tensor::f_cat(x, 1)?,
            })
        })?;
        self.lin.forward(tape, joined)
    }
}
