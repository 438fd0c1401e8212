//! The training configuration that is stored with weights.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use toml::{Table, Value};

use super::link_config::LinkConfig;
use super::memory_budget::MemoryBudget;
use super::on_nan::OnNan;
use super::run_config::RunConfig;
use crate::engine::tape::Policy;
use crate::io::IoMode;
use crate::load::GraphFingerprint;
use crate::nn::state_dict_text;
use crate::train::{EvaluationConfig, SamplingConfig};
use crate::words::error::{Error, Result};

/// Key of the configuration in the header of a weights file.
const CONFIG: &str = "config";
/// Key of the epoch whose update made the weights in the header of their file.
const EPOCH: &str = "epoch";
/// Key of the fingerprint of the edges among which kept-back edges were drawn.
const EDGES: &str = "edges";

impl RunConfig {
    /// Texts by key that are stored with the weights of an epoch. A stand-in has no `graph`.
    pub(in crate::run) fn texts_of_weights(
        &self,
        epoch: u32,
        graph: Option<&GraphFingerprint>,
    ) -> Result<BTreeMap<String, String>> {
        let config = self.of_weights().to_toml()?;
        let mut texts =
            BTreeMap::from([(CONFIG.to_owned(), config), (EPOCH.to_owned(), epoch.to_string())]);
        let draws = self.link.as_ref().is_some_and(LinkConfig::draws_split);
        if let Some(graph) = graph.filter(|_| draws) {
            let edges = serde_json::to_string(&graph.edges());
            let edges =
                edges.map_err(|e| Error::internal(format!("cannot encode a fingerprint: {e}")))?;
            texts.insert(EDGES.to_owned(), edges);
        }
        Ok(texts)
    }

    /// Fingerprint of the edges among which kept-back edges were drawn; `None` if none were drawn, and in files of earlier
    /// versions.
    pub(in crate::run) fn edges_of_weights(path: &Path) -> Result<Option<GraphFingerprint>> {
        let text = state_dict_text(path, EDGES)?;
        let edges = (!text.is_empty()).then(|| serde_json::from_str(&text)).transpose();
        edges.map_err(|e| Error::input(path, EDGES, format!("is not a fingerprint: {e}")))
    }

    /// The epoch whose update made the weights; `None` in files of earlier versions.
    pub(in crate::run) fn epoch_of_weights(path: &Path) -> Result<Option<u32>> {
        Ok(state_dict_text(path, EPOCH)?.parse().ok())
    }

    /// Checks that weights were trained with this configuration. Returns `false` if the file has no configuration.
    ///
    /// # Errors
    /// If they were trained with another configuration, or cannot be read.
    pub fn check_weights(&self, path: &Path) -> Result<bool> {
        let text = state_dict_text(path, CONFIG)?;
        if text.is_empty() {
            return Ok(false);
        }
        let theirs = RunConfig::from_toml(path, &text)?;
        let ours = self.of_weights();
        if theirs == ours {
            return Ok(true);
        }
        let found = difference("", &theirs.table()?, &ours.table()?).unwrap_or_default();
        let problem = format!("comes from another configuration than config.toml: {found}");
        Err(Error::input(path, "", problem)
            .with_hint("train again, or name the weights to use with ‹weights›"))
    }

    /// This configuration with the settings of a later start that do not change the results of an epoch, if both train
    /// the same model.
    pub(in crate::run) fn restarted(self, later: &RunConfig) -> Result<RunConfig> {
        if self.of_weights().table()? != later.of_weights().table()? {
            return Ok(self);
        }
        Ok(RunConfig {
            epochs: later.epochs,
            part_json: later.part_json.clone(),
            spill_dir: later.spill_dir.clone(),
            memory_budget: later.memory_budget,
            io: later.io,
            resident: later.resident,
            threads: later.threads,
            ..self
        })
    }

    /// The configuration without options that only affect folders, speed and length of a run.
    fn of_weights(&self) -> RunConfig {
        let sampling = self.sampling.clone();
        RunConfig {
            init_params: None,
            dump_step: None,
            policy: Policy::default(),
            mfg: false,
            one_shot: false,
            patience: None,
            evaluation: EvaluationConfig::default(),
            on_nan: OnNan::default(),
            checkpoint_every: None,
            epochs: 0,
            sampling: sampling.map(|how| SamplingConfig {
                sampler_threads: 0,
                log_every: None,
                ..how
            }),
            ..self.anywhere()
        }
    }

    /// The configuration without the folders and resources of a machine.
    pub(in crate::run) fn anywhere(&self) -> RunConfig {
        RunConfig {
            part_json: PathBuf::new(),
            out: PathBuf::new(),
            spill_dir: PathBuf::new(),
            trace: None,
            partitions: None,
            resident: None,
            threads: 0,
            memory_budget: MemoryBudget::Min,
            io: IoMode::default(),
            ..self.clone()
        }
    }

    fn table(&self) -> Result<Table> {
        Table::try_from(self)
            .map_err(|e| Error::internal(format!("cannot compare configurations: {e}")))
    }
}

/// Describes the first key whose values differ.
fn difference(table: &str, theirs: &Table, ours: &Table) -> Option<String> {
    let keys = ours.keys().chain(theirs.keys());
    keys.into_iter().find_map(|key| match (theirs.get(key), ours.get(key)) {
        (Some(Value::Table(theirs)), Some(Value::Table(ours))) => {
            difference(&format!("{table}{key}."), theirs, ours)
        }
        (theirs, ours) if theirs != ours => {
            let text = |value: Option<&Value>| {
                value.map_or_else(|| "not set".to_owned(), |value| format!("`{value}`"))
            };
            Some(format!("{table}{key} was {}, but is {}", text(theirs), text(ours)))
        }
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nn::OptimizerConfig;

    #[test]
    fn what_differs_is_named_and_places_do_not_matter() {
        let one = RunConfig::new("g.json", "out");
        let mut other =
            RunConfig { epochs: 5, threads: 9, ..RunConfig::new("h.json", "elsewhere") };
        let of = |config: &RunConfig| config.of_weights().table().unwrap();
        assert_eq!(difference("", &of(&one), &of(&other)), None);
        other.optimizer = OptimizerConfig::Adam { lr: 0.5, weight_decay: 0.0 };
        let found = difference("", &of(&one), &of(&other)).unwrap();
        assert_eq!(found, "optimizer.lr was `0.01`, but is `0.5`");
    }
}
