//! Interfaces through which layers and models describe themselves, in the files of their code.

use super::conv::layer::Conv;
use super::model_spec::ModelSpec;
use crate::engine::tape::ParameterBuilder;
use crate::words::error::{Error, Result};

/// A kind of model, described in the file of its code.
pub(in crate::nn) trait Describe {
    /// Options that only this kind has; their defaults are those of the command line.
    type Options: Copy + Default;

    /// Facts that hold whatever the options are.
    const SPEC: ModelSpec;

    /// Facts that depend on the options.
    fn facts(_options: &Self::Options) -> Facts {
        Facts::default()
    }
}

/// A layer that stacks are made of.
pub(in crate::nn) trait StackLayer: Describe + Conv + Sized {
    /// Creates the layer for a place in a stack.
    fn make(
        options: &Self::Options,
        parameters: &mut ParameterBuilder,
        place: Place,
    ) -> Result<Self>;
}

/// Facts about a kind of model that depend on its options.
#[derive(Debug, Clone, Copy)]
#[allow(clippy::struct_excessive_bools)] // Each is a fact of its own.
pub struct Facts {
    /// Whether messages are multiplied by edge weights.
    pub edge_weights: bool,
    /// Whether layers use the in-degrees of sources.
    pub in_degrees: bool,
    /// Whether layers use out-degrees.
    pub out_degrees: bool,
    /// Whether layers add up or average rows of neighbours in every epoch.
    pub sums: bool,
    /// Number of rows of the hidden width that a layer's output has side by side.
    pub heads: i64,
    /// Number of graphs that a forward pass takes.
    pub(in crate::nn) graphs: Graphs,
    /// Number of matrices, `[nodes, in_feats]`, that are computed before the first epoch; `None` if the model uses
    /// neighbours in every epoch.
    pub precomputed: Option<usize>,
    /// Number of steps of propagation before the first epoch.
    pub steps: usize,
}

/// Number of graphs that a forward pass takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::nn) enum Graphs {
    /// One number per layer.
    PerLayer(usize),
    /// One number, whatever the number of layers.
    Total(usize),
}

impl Default for Facts {
    fn default() -> Self {
        Facts {
            edge_weights: false,
            in_degrees: false,
            out_degrees: false,
            sums: false,
            heads: 1,
            graphs: Graphs::PerLayer(1),
            precomputed: None,
            steps: 0,
        }
    }
}

/// A layer's place in a stack.
#[derive(Debug, Clone, Copy)]
pub(in crate::nn) struct Place {
    /// Width of the input.
    pub(in crate::nn) in_feats: i64,
    /// Width of the output; with attention, of one head.
    pub(in crate::nn) out_feats: i64,
    /// Number of the layer, from 1.
    pub(in crate::nn) number: usize,
    /// Whether the layer takes the mean of its attention heads instead of leaving them side by side.
    pub(in crate::nn) mean_of_heads: bool,
    /// Number of edge types of the graph.
    pub(in crate::nn) num_rels: usize,
    /// Width of the edge features; 0 if the layer takes none.
    pub(in crate::nn) edge_feats: i64,
    /// Dropout on the layer's input.
    pub(in crate::nn) dropout: f64,
    /// Whether the layer's input is added to its output.
    pub(in crate::nn) residual: bool,
}

/// The layers between features and outputs.
#[derive(Debug, Clone, Copy)]
pub struct HiddenLayers {
    /// Number of layers, including the output layer.
    pub layers: usize,
    /// Width of the rows between two layers.
    pub width: i64,
    /// Dropout on the input of every layer but the first.
    pub dropout: f64,
}

impl HiddenLayers {
    /// Checks that there is a layer, and that the width is not 0.
    pub(in crate::nn) fn check(self) -> Result<()> {
        if self.layers == 0 {
            return Err(Error::config("layers", "a model needs at least one layer"));
        }
        if self.width < 1 {
            return Err(Error::config("hidden", "the hidden width must be at least 1"));
        }
        Ok(())
    }

    /// Widths of the input, the rows between two layers, and the output.
    pub(in crate::nn) fn widths(self, input: i64, output: i64) -> Vec<i64> {
        let mut widths = vec![self.width; self.layers + 1];
        (widths[0], widths[self.layers]) = (input, output);
        widths
    }
}

/// The sizes of a model that depend on the data.
#[derive(Debug, Clone, Copy)]
pub struct Sizes {
    /// Width of the input features.
    pub in_feats: i64,
    /// Width of the last layer's output.
    pub out_feats: i64,
    /// Number of edge types of the graph.
    pub num_rels: usize,
    /// Width of the edge features that layers take; 0 if they take none.
    pub edge_feats: i64,
}

/// Defines `ModelKind` from a list with a variant, its options and the described type per layer or model, and the
/// constructor of each model.
macro_rules! model_kinds {
    (
        layers { $($(#[$layer_doc:meta])* $layer:ident($layer_options:ty) => $conv:ty,)* }
        models { $($(#[$model_doc:meta])* $model:ident($model_options:ty) => $whole:ty, $new:path;)* }
    ) => {
        /// Kind of a model's layers, with the options that all its layers share.
        #[derive(Debug, Clone, Copy, PartialEq, serde::Serialize, serde::Deserialize)]
        #[serde(rename_all = "lowercase", tag = "layer")]
        pub enum ModelKind {
            $($(#[$layer_doc])* $layer($layer_options),)*
            $($(#[$model_doc])* $model($model_options),)*
        }

        impl ModelKind {
            /// One model of each kind, with default options.
            pub fn all() -> Vec<ModelKind> {
                vec![
                    $(ModelKind::$layer(Default::default()),)*
                    $(ModelKind::$model(Default::default()),)*
                ]
            }

            /// The description of this kind of model.
            pub fn spec(self) -> &'static ModelSpec {
                match self {
                    $(ModelKind::$layer(_) => &<$conv as Describe>::SPEC,)*
                    $(ModelKind::$model(_) => &<$whole as Describe>::SPEC,)*
                }
            }

            /// Whether the model is a stack of graph layers.
            pub fn is_stack(self) -> bool {
                match self {
                    $(ModelKind::$layer(_))|* => true,
                    $(ModelKind::$model(_))|* => false,
                }
            }

            /// Facts that depend on the options.
            pub fn facts(self) -> Facts {
                match self {
                    $(ModelKind::$layer(options) => <$conv as Describe>::facts(&options),)*
                    $(ModelKind::$model(options) => <$whole as Describe>::facts(&options),)*
                }
            }

            /// Creates a layer of a stack.
            pub(in crate::nn) fn conv(
                self,
                parameters: &mut ParameterBuilder,
                place: Place,
            ) -> Result<Box<dyn Conv>> {
                Ok(match self {
                    $(ModelKind::$layer(options) => {
                        Box::new(<$conv as StackLayer>::make(&options, parameters, place)?)
                    })*
                    $(ModelKind::$model(_))|* => {
                        let problem = format!("{} is not a stack of layers", self.spec().name);
                        return Err(Error::config("model", problem));
                    }
                })
            }

            /// Creates a model that is not a stack; `None` for stacks.
            pub(in crate::nn) fn whole_model(
                self,
                parameters: &mut ParameterBuilder,
                layers: HiddenLayers,
                sizes: Sizes,
            ) -> Result<Option<Box<dyn Model>>> {
                Ok(match self {
                    $(ModelKind::$layer(_))|* => None,
                    $(ModelKind::$model(options) => {
                        Some(Box::new($new(parameters, layers, sizes, options)?))
                    })*
                })
            }
        }
    };
}
pub(in crate::nn) use model_kinds;
