//! The parameters of a generated graph.

use crate::formats::dgl::writer::check_graph_name;
use crate::graph::MAX_IDS;
use crate::io::Dtype;
use crate::prepare::import::SplitShares;
use crate::prepare::partition::MAX_PARTS;
use crate::words::choice::choices;
use crate::words::error::{Error, Result};

choices! {
    /// The random model of a graph.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum GraphKind {
        /// Communities of consecutive ids (stochastic block model): few edges between partitions, even degrees
        Sbm = "sbm",
        /// Graph500's R-MAT with scrambled ids: skewed degrees, most edges between partitions
        Rmat = "rmat",
    }
}

choices! {
    /// The element type of features in files.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum FeatureDtype {
        /// Single precision
        @default F32 = "float32",
        /// Half precision
        F16 = "float16",
    }
}

impl FeatureDtype {
    /// The type in files.
    pub fn dtype(self) -> Dtype {
        match self {
            FeatureDtype::F32 => Dtype::F32,
            FeatureDtype::F16 => Dtype::F16,
        }
    }
}

/// The parameters of a generated graph, and the number of partitions it is cut into. The graph does not depend on `num_parts`.
#[derive(Clone, Debug, PartialEq)]
pub struct GeneratorConfig {
    /// The random model.
    pub kind: GraphKind,
    /// The graph's name, which also names the JSON file.
    pub name: String,
    /// Number of nodes, at least 2, because an edge joins two different nodes.
    pub nodes: u64,
    /// Number of directed edges, at least 1.
    pub edges: u64,
    /// Number of features of a node, at least 1.
    pub features: u64,
    /// Element type of the features.
    pub feature_dtype: FeatureDtype,
    /// Number of classes, from 1 to the number of nodes.
    pub classes: u64,
    /// Number of partitions, from 1 to the number of nodes.
    pub num_parts: u64,
    /// Shares of the nodes in the masks.
    pub split: SplitShares,
    /// Seed of the random numbers.
    pub seed: u64,
}

impl GeneratorConfig {
    /// Checks that a graph can be generated with these parameters.
    ///
    /// # Errors
    /// If a value is zero, too large, or does not fit another one; the message names its field.
    pub fn check(&self) -> Result<()> {
        check_graph_name(&self.name)?;
        let counts = [
            ("nodes", self.nodes, 2..=MAX_IDS),
            ("edges", self.edges, 1..=MAX_IDS),
            ("features", self.features, 1..=MAX_FEATURES),
            ("classes", self.classes, 1..=MAX_IDS),
            ("num_parts", self.num_parts, 1..=MAX_PARTS as u64),
        ];
        for (field, count, range) in counts {
            let (least, most) = (range.start(), range.end());
            if count < *least {
                return Err(Error::config(field, format!("is {count}, which is too small"))
                    .with_hint(format!("pass ‹{field}={least}› or more")));
            }
            if count > *most {
                return Err(Error::config(field, format!("is {count}, which is too large"))
                    .with_hint(format!("pass ‹{field}={most}› or less")));
            }
        }
        self.at_most_nodes("classes", self.classes, "classes")?;
        self.at_most_nodes("num_parts", self.num_parts, "partitions")
    }

    fn at_most_nodes(&self, field: &str, count: u64, what: &str) -> Result<()> {
        let nodes = self.nodes;
        if count <= nodes {
            return Ok(());
        }
        let problem = format!("is {count}, but {nodes} nodes cannot fill that many {what}");
        Err(Error::config(field, problem)
            .with_hint(format!("pass ‹{field}={nodes}› or less, or ‹nodes={count}› or more")))
    }
}

/// Maximum number of features. The number of bytes of all features fits in 63 bits.
const MAX_FEATURES: u64 = 1 << 20;
