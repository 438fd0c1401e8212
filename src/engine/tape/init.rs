//! Distributions of initial values.

use serde::{Deserialize, Serialize};

use crate::words::choice::choices;

/// Distribution of a parameter's initial values.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Init {
    /// All zeros.
    Zeros,
    /// All equal to this value.
    Constant(f64),
    /// Uniform in ±gain·√(6 / (fan_in + fan_out)) (Glorot and Bengio 2010), as `torch.nn.init.xavier_uniform_`.
    XavierUniform {
        /// Factor of the range: 1, or √2 before a ReLU.
        gain: f64,
    },
    /// Normal with deviation gain·√(2 / (fan_in + fan_out)), as `torch.nn.init.xavier_normal_`.
    XavierNormal {
        /// Factor of the deviation: 1, or √2 before a ReLU.
        gain: f64,
    },
    /// Uniform in ±√(6 / (rows + columns)) of the last two dimensions, as `torch_geometric.nn.inits.glorot`.
    Glorot,
    /// Uniform in ±bound.
    Uniform {
        /// The largest absolute value.
        bound: f64,
    },
}

impl Init {
    /// The distribution of weight and bias in `torch.nn.Linear` with this input width: uniform in ±1/√in.
    pub fn linear(in_feats: i64) -> Self {
        Init::Uniform { bound: 1.0 / (in_feats.max(1) as f64).sqrt() }
    }
}

choices! {
    /// The library whose initial distributions a model uses.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
    #[serde(rename_all = "lowercase")]
    pub enum InitStyle {
        /// As in DGL's modules
        @default Dgl = "dgl",
        /// As in PyTorch Geometric's modules
        Pyg = "pyg",
    }
}
