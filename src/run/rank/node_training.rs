//! Training for node-level tasks: its epochs, or one step, and its results.

use std::collections::BTreeMap;
use std::rc::Rc;

use tch::Tensor;

use super::assignment::Assignment;
use super::batches::NodeLoaders;
use super::epochs::run_epochs;
use super::files::pending_weights;
use super::labels::{Goal, LabelFacts};
use super::mfg::LabelledNodes;
use super::setup::RankSetup;
use super::step_dump::StepDump;
use crate::engine::tape::{Constants, ParameterSet};
use crate::event::Event;
use crate::nn::save_state_dict;
use crate::train::{BatchModel, ExtraMetric, Forward, SampledTrainer, Trainer, Training};
use crate::words::error::Result;

/// Everything that a rank needs to train a model on nodes.
pub(super) struct NodeTraining<'a> {
    pub(super) setup: &'a RankSetup,
    pub(super) assignment: Assignment<'a>,
    /// The run's labels.
    pub(super) facts: LabelFacts,
    /// The run's loss.
    pub(super) goal: Goal,
    /// The model's parameters.
    pub(super) parameters: Rc<ParameterSet>,
    /// Texts about the graph that are stored with the weights.
    pub(super) texts: BTreeMap<String, String>,
}

/// The batches of training on sampled neighbourhoods.
#[derive(Clone, Copy)]
pub(super) struct Samples<'a> {
    /// The model that runs on batches.
    pub(super) model: &'a dyn BatchModel,
    /// Loaders of the batches.
    pub(super) loaders: &'a NodeLoaders,
}

impl NodeTraining<'_> {
    /// Runs all epochs, or the single step that is dumped, of a model with its inputs. `nodes` are those of the model's
    /// output rows; `None` if there is a row for each node with labels. With `samples`, epochs are passes over batches.
    pub(super) fn run(
        &self,
        forward: &dyn Forward,
        nodes: Option<&LabelledNodes>,
        samples: Option<Samples<'_>>,
    ) -> Result<()> {
        let assignment = self.assignment;
        let config = assignment.config;
        let all = (&self.facts.labels, &self.facts.masks);
        let (labels, masks) = nodes.map_or(all, |nodes| (&nodes.labels, &nodes.masks));
        let trainer = Trainer {
            manager: &self.setup.manager,
            group: &*self.setup.group,
            forward,
            labels: labels.clone(),
            masks: masks.clone(),
            parameters: &self.parameters,
            loss: self.goal.loss.clone(),
            divisor: self.goal.divisor,
            outputs: self.facts.outputs(),
            totals: self.facts.totals,
            roc_auc: config.evaluation.metrics.contains(&ExtraMetric::RocAuc),
            seed: config.seed,
            policy: config.policy,
            constants: Constants::default(),
        };
        if let Some(path) = &config.dump_step {
            let (groups, book) = (&self.facts.groups, self.setup.partition.book());
            let dump = StepDump::open(path, &trainer, groups, book)?;
            let write = &mut |logits: &Tensor| match nodes {
                Some(nodes) => dump.write_logits(groups, &nodes.spread(logits)?),
                None => dump.write_logits(groups, logits),
            };
            let step = trainer.step(1, &trainer.mark(), write)?;
            return dump.finish(&trainer, &step);
        }
        let report = |report| assignment.here.events.send(Event::Batch(report));
        let log = assignment.step_log(&report);
        let samples = samples.map(|Samples { model, loaders }| SampledTrainer {
            full: &trainer,
            model,
            loader: &loaders.train,
            reduce: loaders.reduce,
            evaluation: loaders.evaluation.as_ref(),
            log,
        });
        let mut training = Training::new(&trainer, samples, config.regime())?;
        training.set_outputs(self.facts.widths());
        run_epochs(training, assignment, self.setup, |texts| {
            let Some(mut texts) = texts else { return Ok(()) };
            let (ranks, learned) = (self.setup.ranks(), trainer.forward.all_rows());
            texts.extend(self.texts.clone());
            let path = pending_weights(&config.out);
            save_state_dict(&path, trainer.parameters, &learned, &texts, ranks)
        })
    }
}
