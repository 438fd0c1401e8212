//! Descriptions of kinds of models: data that stand beside each model's code; command lines, checks and tests are made
//! from them.

use toml::{Table, Value};

use crate::words::choice::OptionWord;
use crate::words::error::{Error, Result};

/// A description of a kind of model that holds for all its options.
#[derive(Debug)]
#[allow(clippy::struct_excessive_bools)] // Each is a property of its own.
pub struct ModelSpec {
    /// Name on the command line and in configurations.
    pub name: &'static str,
    /// The layer and its name in DGL, in a few words.
    pub about: &'static str,
    /// Options that only some kinds have.
    pub options: &'static [ModelOption],
    /// The use of edge weights.
    pub edge_weights: EdgeWeights,
    /// The use of edge features.
    pub edge_features: EdgeFeatureUse,
    /// State-dict key of the parameter whose shape contains the output width; `{last}` stands for the index of the last
    /// layer.
    pub output_key: &'static str,
    /// The dimension of that parameter which is the output width.
    pub output_side: usize,
    /// Whether layers are attention layers. These apply dropout to their input and add it to their output themselves,
    /// and ELU follows them.
    pub attention: bool,
    /// Whether layers use the types of edges.
    pub edge_types: bool,
    /// Whether each edge type of a heterogeneous graph can have its own layer of this kind.
    pub relations: bool,
    /// Whether layers use the first layer's input. If so, a linear map and ReLU precede the first layer, a linear map
    /// follows the last, and all layers between have one width.
    pub initial_rows: bool,
    /// Whether the output of a node without in-edges is only the bias.
    pub needs_in_edges: bool,
    /// Whether the number and width of layers and the dropout between them are options.
    pub hidden_layers: bool,
}

impl ModelSpec {
    /// Description of a stack of layers without options; kinds override the fields that differ.
    pub(in crate::nn) const fn stack(name: &'static str, about: &'static str) -> ModelSpec {
        ModelSpec {
            name,
            about,
            options: &[],
            edge_weights: EdgeWeights::Refused,
            edge_features: EdgeFeatureUse::Refused,
            output_key: "",
            output_side: 0,
            attention: false,
            edge_types: false,
            relations: true,
            initial_rows: false,
            needs_in_edges: false,
            hidden_layers: true,
        }
    }
}

/// The use of edge weights in a kind of model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EdgeWeights {
    /// Layers do not support edge weights.
    Refused,
    /// Messages are multiplied by edge weights.
    Multiply,
    /// Messages are multiplied by edge weights that are
    /// [normalised](crate::engine::tape::GraphShardManager::normalise_edge_weights) over the whole graph.
    Normalised,
}

/// The use of edge features in a kind of model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EdgeFeatureUse {
    /// Layers do not support edge features.
    Refused,
    /// Layers take edge features where the graph has them.
    Optional,
    /// Layers need edge features.
    Required,
}

/// An option of some kinds of models.
#[derive(Debug)]
pub struct ModelOption {
    /// Name on the command line.
    pub flag: &'static str,
    /// Name in a configuration's table `[model]`; a dot separates the name of an inner table.
    pub key: &'static str,
    /// Meaning of the option, without its default and the models that have it.
    pub help: &'static str,
    /// Placeholder of its value in help texts.
    pub value_name: &'static str,
    /// Values that it accepts.
    pub values: OptionValues,
}

/// The values that an option accepts.
#[derive(Debug, Clone, Copy)]
pub enum OptionValues {
    /// On or off.
    Switch,
    /// Whole numbers in a range, both ends included.
    Whole {
        /// Smallest value.
        least: i64,
        /// Largest value.
        most: i64,
    },
    /// Numbers from 0 to 1.
    Share,
    /// Numbers from 0 to 1, without 1.
    Probability,
    /// Finite numbers above 0.
    Positive,
    /// Words.
    Words(&'static [OptionWord]),
}

impl ModelOption {
    /// Name of the option in messages.
    fn field(&self) -> String {
        format!("model.{}", self.flag.replace('-', "_"))
    }

    /// The option for the number of steps of propagation.
    pub(in crate::nn) const HOPS: ModelOption = ModelOption {
        flag: "hops",
        key: "hops",
        help: "Steps of propagation",
        value_name: "K",
        values: OptionValues::Whole { least: 1, most: 10_000 },
    };

    /// Value of the option in the table of a model; `None` if the table does not have it.
    pub fn value<'t>(&self, table: &'t Table) -> Option<&'t Value> {
        let mut keys = self.key.split('.');
        let first = table.get(keys.next()?);
        keys.fold(first, |value, key| value?.get(key))
    }

    /// Sets its value in the table of a model.
    pub fn set(&self, table: &mut Table, value: Value) {
        match self.key.split_once('.') {
            None => table.insert(self.key.to_owned(), value),
            Some((outer, inner)) => {
                let inner = Table::from_iter([(inner.to_owned(), value)]);
                table.insert(outer.to_owned(), Value::Table(inner))
            }
        };
    }

    /// Whether a model can have only one of the two options.
    pub fn excludes(&self, other: &ModelOption) -> bool {
        let table = |key: &'static str| key.split_once('.').map(|(table, _)| table);
        self.key != other.key && table(self.key).is_some() && table(self.key) == table(other.key)
    }

    /// Checks a value.
    ///
    /// # Errors
    /// If the value is out of the option's range, or has another type.
    pub fn check(&self, value: &Value) -> Result<()> {
        let range = match (self.values, value) {
            (OptionValues::Whole { least, .. }, Value::Integer(n)) if *n < least => {
                format!("{least} or more")
            }
            (OptionValues::Whole { most, .. }, Value::Integer(n)) if *n > most => {
                format!("{most} or less")
            }
            (OptionValues::Switch, Value::Boolean(_))
            | (OptionValues::Whole { .. }, Value::Integer(_)) => {
                return Ok(());
            }
            (OptionValues::Share, Value::Float(x)) if (0.0..=1.0).contains(x) => return Ok(()),
            (OptionValues::Share, _) => "from 0 to 1".to_owned(),
            (OptionValues::Probability, Value::Float(x)) if (0.0..1.0).contains(x) => return Ok(()),
            (OptionValues::Probability, _) => "at least 0 and below 1".to_owned(),
            (OptionValues::Positive, Value::Float(x)) if *x > 0.0 && x.is_finite() => return Ok(()),
            (OptionValues::Positive, _) => "a number above 0".to_owned(),
            (OptionValues::Words(words), Value::String(name))
                if words.iter().any(|word| word.name == name) =>
            {
                return Ok(());
            }
            (OptionValues::Words(words), _) => {
                let names: Vec<_> = words.iter().map(|word| word.name).collect();
                format!("one of {}", names.join(", "))
            }
            (OptionValues::Switch | OptionValues::Whole { .. }, _) => "of another type".to_owned(),
        };
        Err(Error::config(&self.field(), format!("must be {range}, not {value}")))
    }
}
