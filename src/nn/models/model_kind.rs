//! Queries common to all kinds of models.

use toml::{Table, Value};

use crate::nn::conv::ModelKind;
use crate::nn::describe::Graphs;
use crate::nn::model_spec::EdgeWeights;
use crate::words::error::{Error, Result};

impl ModelKind {
    /// The kind of this name, with default options.
    pub fn named(name: &str) -> Option<ModelKind> {
        ModelKind::all().into_iter().find(|kind| kind.spec().name == name)
    }

    /// Names of the kinds that satisfy a condition, in words: `a, b and c`.
    pub fn names(last_word: &str, holds: impl Fn(ModelKind) -> bool) -> String {
        let kinds = ModelKind::all().into_iter().filter(|kind| holds(*kind));
        let names: Vec<_> = kinds.map(|kind| kind.spec().name).collect();
        match &names[..] {
            [others @ .., last] if !others.is_empty() => {
                format!("{} {last_word} {last}", others.join(", "))
            }
            names => names.concat(),
        }
    }

    /// The options as a table of a configuration.
    ///
    /// # Errors
    /// If a number cannot be stored in a configuration.
    pub fn table(self) -> Result<Table> {
        Table::try_from(self)
            .map_err(|e| Error::internal(format!("options of a model cannot be written: {e}")))
    }

    /// The model with the options of a table.
    ///
    /// # Errors
    /// If an option is missing or has another type.
    pub fn from_table(table: Table) -> Result<Self> {
        table.try_into().map_err(|e: toml::de::Error| Error::config("model", e.message()))
    }

    /// Checks that the options are in their ranges.
    ///
    /// # Errors
    /// The first option out of its range, by the name of its flag.
    pub fn check(self) -> Result<()> {
        let table = self.table()?;
        self.spec().options.iter().try_for_each(|option| match option.value(&table) {
            Some(value) => option.check(value),
            None => Ok(()),
        })
    }

    /// This kind with or without edge weights; unchanged if it does not support them.
    ///
    /// # Errors
    /// If the options cannot be written.
    pub fn with_edge_weights(self, edge_weights: bool) -> Result<Self> {
        if self.spec().edge_weights == EdgeWeights::Refused {
            return Ok(self);
        }
        let mut table = self.table()?;
        table.insert("edge_weights".to_owned(), Value::Boolean(edge_weights));
        ModelKind::from_table(table)
    }

    /// Whether the model propagates features before training and needs no neighbours afterwards.
    pub fn propagates_once(self) -> bool {
        self.facts().precomputed.is_some()
    }

    /// Whether the model takes edge weights [normalised](crate::engine::tape::GraphShardManager::normalise_edge_weights) over
    /// the whole graph.
    pub fn normalises_edge_weights(self) -> bool {
        self.spec().edge_weights == EdgeWeights::Normalised && self.facts().edge_weights
    }

    /// Number of graphs that a forward pass of a model with `layers` layers takes.
    pub(in crate::nn) fn num_graphs(self, layers: usize) -> usize {
        match self.facts().graphs {
            Graphs::PerLayer(graphs) => layers * graphs,
            Graphs::Total(graphs) => graphs,
        }
    }

    /// Key of the parameter whose shape has the output width; `last` is the number of the last layer.
    pub(in crate::nn) fn output_key(self, last: usize) -> String {
        self.spec().output_key.replace("{last}", &last.to_string())
    }
}
