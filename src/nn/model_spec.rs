//! Descriptions of kinds of models: data in the files of their code, from which command lines, checks and tests are made.

use toml::{Table, Value};

use crate::error::{Error, Result};

/// A kind of model, whatever its options are.
#[derive(Debug)]
#[allow(clippy::struct_excessive_bools)] // Each is a property of its own.
pub struct ModelSpec {
    /// Name on the command line and in configurations.
    pub name: &'static str,
    /// The layer and its name in DGL, in a few words.
    pub about: &'static str,
    /// Options that not all kinds have.
    pub options: &'static [ModelOption],
    /// What edge weights do.
    pub edge_weights: EdgeWeights,
    /// Key of the parameter that has the width of the output as a side, in a state dict; `{last}` stands for the number of
    /// the last layer.
    pub output_key: &'static str,
    /// Which side of that parameter is the width of the output.
    pub output_side: usize,
    /// Whether layers are attention layers: they drop out their input and add it to their output themselves, and ELU follows
    /// them.
    pub attention: bool,
    /// Whether layers look at the types of edges.
    pub edge_types: bool,
    /// Whether an edge type of a heterogeneous graph can have such a layer of its own.
    pub relations: bool,
    /// Whether layers return to what the first one got. A linear map and ReLU then lead from the features to the first layer,
    /// and a linear map from the last layer to the outputs; all layers between are of one width.
    pub initial_rows: bool,
    /// Whether a node without in-edges gets nothing but a bias.
    pub needs_in_edges: bool,
    /// Whether number and width of layers and dropout between them are options.
    pub hidden_layers: bool,
}

impl ModelSpec {
    /// A stack of layers without options, whose output is as wide as this side of a parameter. What differs is set behind it.
    pub(in crate::nn) const fn stack(name: &'static str, about: &'static str) -> ModelSpec {
        ModelSpec {
            name,
            about,
            options: &[],
            edge_weights: EdgeWeights::Refused,
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

/// What edge weights do in a kind of model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EdgeWeights {
    /// Layers take none.
    Refused,
    /// Messages are multiplied by them.
    Multiply,
    /// Messages are multiplied by them, after they were
    /// [normalised](crate::engine::tape::GraphShardManager::normalise_edge_weights) over the whole graph.
    Normalised,
}

/// An option of some kinds of models.
#[derive(Debug)]
pub struct ModelOption {
    /// Name on the command line.
    pub flag: &'static str,
    /// Name in a configuration's table `[model]`. A dot leads into a table.
    pub key: &'static str,
    /// Meaning, without the models it is for and without the default.
    pub help: &'static str,
    /// Placeholder of its value in help texts.
    pub value_name: &'static str,
    /// Values that it takes.
    pub values: Values,
}

/// Values that an option takes.
#[derive(Debug, Clone, Copy)]
pub enum Values {
    /// On or off.
    Switch,
    /// Whole numbers in a range, both ends included.
    Whole {
        /// The smallest.
        least: i64,
        /// The largest.
        most: i64,
    },
    /// Numbers from 0 to 1.
    Share,
    /// Numbers from 0 to 1, without 1.
    Probability,
    /// Finite numbers above 0.
    Positive,
    /// Words.
    Words(&'static [Word]),
}

/// A word that an option takes as its value.
#[derive(Debug)]
pub struct Word {
    /// The word.
    pub name: &'static str,
    /// Meaning of the word.
    pub help: &'static str,
}

impl ModelOption {
    /// The option as messages name it.
    fn field(&self) -> String {
        format!("model.{}", self.flag.replace('-', "_"))
    }

    /// Steps of propagation.
    pub(in crate::nn) const HOPS: ModelOption = ModelOption {
        flag: "hops",
        key: "hops",
        help: "Steps of propagation",
        value_name: "K",
        values: Values::Whole { least: 1, most: 10_000 },
    };

    /// Value of the option in the table of a model; `None` if it is not there.
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
    /// If it is out of the range of the option, or of another type.
    pub fn check(&self, value: &Value) -> Result<()> {
        let range = match (self.values, value) {
            (Values::Whole { least, .. }, Value::Integer(n)) if *n < least => {
                format!("{least} or more")
            }
            (Values::Whole { most, .. }, Value::Integer(n)) if *n > most => {
                format!("{most} or less")
            }
            (Values::Switch, Value::Boolean(_)) | (Values::Whole { .. }, Value::Integer(_)) => {
                return Ok(());
            }
            (Values::Share, Value::Float(x)) if (0.0..=1.0).contains(x) => return Ok(()),
            (Values::Share, _) => "from 0 to 1".to_owned(),
            (Values::Probability, Value::Float(x)) if (0.0..1.0).contains(x) => return Ok(()),
            (Values::Probability, _) => "at least 0 and below 1".to_owned(),
            (Values::Positive, Value::Float(x)) if *x > 0.0 && x.is_finite() => return Ok(()),
            (Values::Positive, _) => "a number above 0".to_owned(),
            (Values::Words(words), Value::String(name))
                if words.iter().any(|word| word.name == name) =>
            {
                return Ok(());
            }
            (Values::Words(words), _) => {
                let names: Vec<_> = words.iter().map(|word| word.name).collect();
                format!("one of {}", names.join(", "))
            }
            (Values::Switch | Values::Whole { .. }, _) => "of another type".to_owned(),
        };
        Err(Error::config(&self.field(), format!("must be {range}, not {value}")))
    }
}
