//! A rank's part of a training run.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use tch::Tensor;

use super::hetero_graph::HeteroGraph;
use super::labels::{Facts, Labelled, goal, take_up_labels};
use super::link::train_link;
use super::mfg::LabelledMfgs;
use super::sampled;
use super::setup::{KIND, Passes, RankSetup, Surroundings};
use super::step_dump::StepDump;
use super::whole_graph::WholeGraph;
use crate::engine::spill::{Masks, PartitionDataManager, PointerTensor};
use crate::engine::tape::{Constants, Graph, ParameterBuilder, ParameterSet};
use crate::engine::turns::Phase;
use crate::error::{Error, Result};
use crate::event::{EpochReport, Event};
use crate::graph::TypeNodes;
use crate::io::UNFINISHED;
use crate::nn::{Loss, load_state_dict, save_state_dict, stored_out_feats};
use crate::run::config::on_nan::{Divergence, OnNan};
use crate::run::config::run_config::{Relations, RunConfig};
use crate::train::{
    Checkpoint, Forward, GraphBatches, GraphModel, HeteroBatches, HeteroModel, RelationDegrees,
    SampledTrainer, Trainer, Training,
};

/// Name of the file with trained weights, in a run's folder.
pub const WEIGHTS: &str = "model.safetensors";

/// Name of the file with a run's last checkpoint, in its folder.
pub const CHECKPOINT: &str = "checkpoint.safetensors";

/// Name of the file with the checkpoint before the last one: if the last one is damaged, an interval is lost, but not the run.
pub const PREVIOUS_CHECKPOINT: &str = "checkpoint.previous.safetensors";

/// Runs a rank's part of training, from a checkpoint on if the run is resumed from one.
pub fn train(here: Surroundings<'_>, config: &RunConfig, resumed: Option<&Path>) -> Result<()> {
    if let Some(how) = config.link.as_ref().zip(config.sampling.as_ref()) {
        return train_link(here, (config, resumed), how);
    }
    let setup = RankSetup::new(here, Passes::of(config))?;
    match &config.relations {
        Some(relations) => train_relations(&setup, here, (config, resumed), relations)?,
        None => train_whole(&setup, here, (config, resumed))?,
    }
    setup.end()
}

/// Trains a model on a graph of one node type, or on one that is treated as such.
fn train_whole(
    setup: &RankSetup,
    here: Surroundings<'_>,
    (config, resumed): (&RunConfig, Option<&Path>),
) -> Result<()> {
    let whole = WholeGraph::new(setup, config)?;
    let stored = config.init_params.as_ref().map(|path| stored_out_feats(path, &config.model));
    let labelled = Labelled::all(setup, &whole.graph)?;
    let facts = take_up_labels(setup, config, here, (labelled, stored.transpose()?))?;
    let goal = goal(setup, config, &facts)?;
    let mut builder = ParameterBuilder::new(config.seed);
    let model = config.model.build(&mut builder, whole.sizes(facts.outputs))?;
    let parameters = Rc::new(builder.finish(&setup.manager, KIND)?);
    if let (Some(path), 0) = (&config.init_params, here.rank) {
        load_state_dict(path, &parameters, &[])?;
    }
    let sampling = config.sampling.as_ref();
    let loader = sampling.map(|how| sampled::loader(setup, &whole.graph, here, (config, how)));
    let loader = loader.transpose()?;
    setup.sync(&parameters)?;
    let num_graphs = config.model.num_graphs();
    let one_shot = config.one_shot.then(|| whole.graph.get_full_partition_graph()).transpose()?;
    let graph: &dyn Graph = match &one_shot {
        Some(graph) => graph,
        None => &whole.graph,
    };
    let input = whole.model_input(setup, &*model, &parameters, graph)?;
    let (labels, masks) = (facts.labels.clone(), facts.masks.clone());
    let mfgs = config
        .mfg
        .then(|| LabelledMfgs::new(setup, &whole.graph, &input, (&labels, &masks), num_graphs));
    let mfgs = mfgs.transpose()?;
    let (graphs, features, labels, masks) = match &mfgs {
        Some(LabelledMfgs { graphs, features, labels, masks, .. }) => {
            let graphs = graphs.iter().map(|graph| graph as &dyn Graph).collect();
            (graphs, features.clone(), labels.clone(), masks.clone())
        }
        None => (vec![graph; num_graphs], input, labels, masks),
    };
    if let Some(mfgs) = mfgs.as_ref().filter(|mfgs| !mfgs.graphs.is_empty()) {
        let note = Event::Note(mfgs.share_of_edges(setup, &whole.graph)?);
        if here.rank == 0 {
            here.events.send(note)?;
        }
    }
    let forward = GraphModel { model: &*model, graphs, features };
    let trainer = trainer(setup, config, (&facts, goal), (labels, masks), (&forward, &parameters));
    let batches = GraphBatches { model: &*model, edge_types: config.model.kind.uses_edge_types() };
    let samples = sampling.zip(loader.as_ref()).map(|(how, loader)| SampledTrainer {
        full: &trainer,
        model: &batches,
        loader,
        reduce: how.reduce,
    });
    let all_rows = |logits: &Tensor| match &mfgs {
        Some(mfgs) => mfgs.spread(logits),
        None => Ok(logits.shallow_clone()),
    };
    let results = Results { nodes: facts.nodes, all_rows: &all_rows, texts: BTreeMap::new() };
    run(&trainer, here, (config, resumed), samples, &results)
}

/// Trains a model with a layer per edge type.
fn train_relations(
    setup: &RankSetup,
    here: Surroundings<'_>,
    (config, resumed): (&RunConfig, Option<&Path>),
    relations: &Relations,
) -> Result<()> {
    let hetero = HeteroGraph::new(setup, config, relations)?;
    let stored = config.init_params.as_ref().map(|path| hetero.stored_out_feats(path));
    let labelled = (hetero.labelled(setup)?, stored.transpose()?);
    let facts = take_up_labels(setup, config, here, labelled)?;
    let goal = goal(setup, config, &facts)?;
    let mut builder = ParameterBuilder::new(config.seed);
    let model = hetero.model(&mut builder, facts.outputs)?;
    let parameters = Rc::new(builder.finish(&setup.manager, KIND)?);
    let sampling = config.sampling.as_ref();
    let (inputs, optimizer) = match sampling {
        Some(_) => {
            let (inputs, optimizer) = hetero.stored_inputs(setup, here.folder, config.seed)?;
            (inputs, Some(optimizer))
        }
        None => (hetero.inputs(setup, config.seed)?, None),
    };
    let forward = HeteroModel { model: &model, graph: &hetero.graph, inputs: &inputs };
    if let Some(path) = &config.init_params {
        hetero.load(setup, path, &parameters, &forward.all_rows())?;
    }
    let loader = sampling.map(|how| sampled::relations_loader(setup, &hetero, here, (config, how)));
    let loader = loader.transpose()?;
    setup.sync(&parameters)?;
    let batches = optimizer.map(|optimizer| -> Result<_> {
        let degrees = config.model.kind.uses_out_degrees().then(|| {
            let (book, ranks) = (setup.partition.book(), (&*setup.group, &*setup.manager as _));
            RelationDegrees::new(&hetero.graph, book, here.folder, ranks)
        });
        Ok(HeteroBatches::new(&model, &inputs, optimizer, degrees.transpose()?))
    });
    let batches = batches.transpose()?;
    let of_nodes = (facts.labels.clone(), facts.masks.clone());
    let trainer = trainer(setup, config, (&facts, goal), of_nodes, (&forward, &parameters));
    let all_rows = |logits: &Tensor| Ok(logits.shallow_clone());
    let results = Results { nodes: facts.nodes, all_rows: &all_rows, texts: hetero.texts(setup) };
    let samples = sampling.zip(loader.as_ref()).zip(batches.as_ref());
    let samples = samples.map(|((how, loader), batches)| SampledTrainer {
        full: &trainer,
        model: batches,
        loader,
        reduce: how.reduce,
    });
    run(&trainer, here, (config, resumed), samples, &results)
}

/// A rank's trainer.
fn trainer<'a>(
    setup: &'a RankSetup,
    config: &RunConfig,
    (facts, (loss, divisor)): (&Facts, (Loss, f64)),
    (labels, masks): (PointerTensor, Masks),
    (forward, parameters): (&'a dyn Forward, &'a Rc<ParameterSet>),
) -> Trainer<'a> {
    Trainer {
        manager: &setup.manager,
        group: &*setup.group,
        forward,
        labels,
        masks,
        parameters,
        loss,
        divisor,
        outputs: facts.outputs,
        totals: facts.totals,
        seed: config.seed,
        policy: config.policy,
        constants: Constants::default(),
    }
}

/// The functions and texts with which results are written.
struct Results<'r> {
    /// The nodes to which a step's logits belong.
    nodes: TypeNodes,
    /// Maps the rows that the model returns to rows of these nodes.
    all_rows: &'r dyn Fn(&Tensor) -> Result<Tensor>,
    /// The texts that are stored with the weights.
    texts: BTreeMap<String, String>,
}

/// Runs all epochs, or the step whose numbers are requested.
fn run(
    trainer: &Trainer<'_>,
    here: Surroundings<'_>,
    (config, resumed): (&RunConfig, Option<&Path>),
    samples: Option<SampledTrainer<'_>>,
    results: &Results<'_>,
) -> Result<()> {
    let Some(path) = &config.dump_step else {
        let training = Training::new(trainer, samples, config.regime())?;
        if !run_epochs(training, here, (config, resumed), trainer.manager)? {
            return Ok(());
        }
        let (ranks, learned) = ((trainer.group, &**trainer.manager), trainer.forward.all_rows());
        let path = pending_weights(&config.out);
        let mut texts = results.texts.clone();
        texts.extend([config.text_of_weights()?]);
        return save_state_dict(&path, trainer.parameters, &learned, &texts, ranks);
    };
    let Results { nodes, all_rows, .. } = results;
    let dump = StepDump::open(path, trainer, nodes.total)?;
    let write = &mut |logits: &Tensor| dump.write_logits(*nodes, &all_rows(logits)?);
    let step = trainer.step(1, &trainer.mark(), write)?;
    dump.finish(trainer, &step)
}

/// Runs the epochs of training, from a checkpoint on if the run is resumed from one, and the evaluation at the end. Returns
/// whether there are weights to be kept: a run that continues with a model that is not finite has none.
pub(super) fn run_epochs(
    mut training: Training<'_>,
    here: Surroundings<'_>,
    (config, resumed): (&RunConfig, Option<&Path>),
    manager: &PartitionDataManager,
) -> Result<bool> {
    let tell = |event| if here.rank == 0 { here.events.send(event) } else { Ok(()) };
    if let Some(path) = resumed {
        training.set_state(&Checkpoint::open(path)?)?;
    }
    let mut noted = false;
    let mut diverged = |training: &Training<'_>, divergence: Divergence| match config.on_nan {
        // Rank 0 reports the epoch and then the error; the others wait until they are stopped.
        OnNan::Stop if here.rank != 0 => training.barrier(),
        OnNan::Stop => Err(divergence.error(config)),
        OnNan::GoOn if std::mem::replace(&mut noted, true) => Ok(()),
        OnNan::GoOn => tell(Event::Note(divergence.note())),
    };
    let mut stop = training.stop();
    let mut written = training.epoch();
    while training.epoch() < config.epochs && stop.is_none() {
        let report = match training.next_epoch() {
            Err(Error::Interrupted) if config.checkpoint_every.is_some() => {
                if let Some(epoch) = training.kept_epoch().filter(|epoch| *epoch > written) {
                    training
                        .write_kept(&pending_checkpoint(&config.out, epoch), config.to_toml()?)?;
                    tell(Event::Checkpoint(epoch))?;
                }
                return Err(Error::Interrupted);
            }
            report => report?,
        };
        stop = training.stop();
        let EpochReport { epoch, loss, .. } = report;
        tell(Event::Epoch(report))?;
        if !loss.is_finite() {
            diverged(&training, Divergence::Loss { epoch, loss })?;
        }
        let due = |every| epoch.is_multiple_of(every) || epoch == config.epochs || stop.is_some();
        if config.checkpoint_every.is_some_and(due) {
            if !training.is_finite()? {
                diverged(&training, Divergence::Model { epoch })?;
                continue;
            }
            let path = pending_checkpoint(&config.out, epoch);
            training.write_checkpoint(&path, config.to_toml()?)?;
            tell(Event::Checkpoint(epoch))?;
            written = epoch;
        }
        if config.checkpoint_every.is_some() {
            training.keep_state()?;
        }
    }
    if let Some(why) = stop {
        tell(Event::Note(why))?;
    }
    let finite = training.ends_finite()?;
    if !finite {
        diverged(&training, Divergence::Model { epoch: training.epoch() })?;
    }
    let evaluation = training.finish()?;
    manager.set_phase(Phase::Finishing);
    tell(Event::Evaluation(evaluation))?;
    Ok(finite)
}

/// Path at which weights wait to become [`WEIGHTS`]: the launcher renames them when the run has succeeded, after it has removed
/// those of an earlier run.
pub fn pending_weights(out: &Path) -> PathBuf {
    out.join(format!("{UNFINISHED}weights"))
}

/// Path at which a checkpoint waits to become [`CHECKPOINT`]: the launcher renames it when it has recorded the epoch, so that a
/// run that continues from there has the metrics of all epochs.
pub fn pending_checkpoint(out: &Path, epoch: u32) -> PathBuf {
    out.join(format!("{UNFINISHED}checkpoint-{epoch}"))
}
