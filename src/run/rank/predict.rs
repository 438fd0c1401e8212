//! A rank's part of a prediction.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use tch::{Kind, Tensor};

use super::files::WEIGHTS;
use super::hetero_graph::RankHeteroGraph;
use super::labels::Labelled;
use super::setup::{KIND, Passes, RankSetup, Surroundings};
use super::whole_graph::WholeGraph;
use crate::choice::{Choice, Named};
use crate::engine::comm::barrier;
use crate::engine::tape::{Graph, ParameterBuilder, Tape};
use crate::engine::tensor;
use crate::engine::turns::Phase;
use crate::error::{Error, Result};
use crate::io::{ArraySpec, Dtype, RowFile, npy_header, safetensors_header};
use crate::load::{load_labels, load_mask, original_places};
use crate::nn::{CorrectAndSmooth, KnownLabels, Task, load_state_dict, stored_out_feats};
use crate::run::config::run_config::{Relations, RunConfig};
use crate::train::{Forward, HeteroModel};

/// The form of a prediction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Prediction {
    /// The class with the largest logit, `int64 [num_nodes]`; with several classes per node, 1 where the logit is above 0 and 0
    /// elsewhere, `uint8 [num_nodes, classes]`.
    #[default]
    Classes,
    /// The last layer's output, `float32 [num_nodes, outputs]`.
    Logits,
}

impl Choice for Prediction {
    const VALUES: &'static [Named<Self>] = &[
        Named::new(
            Prediction::Classes,
            "classes",
            "The class with the largest logit, `int64 [num_nodes]`; with several classes per node, 1 where the logit is above 0 and 0 elsewhere, `uint8 [num_nodes, classes]`",
        ),
        Named::new(
            Prediction::Logits,
            "logits",
            "The last layer's output, `float32 [num_nodes, outputs]`",
        ),
    ];
}

/// The order of a prediction's rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum NodeOrder {
    /// The ids that nodes have in the partitions
    #[default]
    Partition,
    /// The ids that nodes had before the graph was partitioned
    Original,
}

impl Choice for NodeOrder {
    const VALUES: &'static [Named<Self>] = &[
        Named::new(NodeOrder::Partition, "partition", "The ids that nodes have in the partitions"),
        Named::new(
            NodeOrder::Original,
            "original",
            "The ids that nodes had before the graph was partitioned",
        ),
    ];
}

impl Prediction {
    /// The default form for a task.
    pub fn usual(task: Task) -> Self {
        if task.has_classes() { Prediction::Classes } else { Prediction::Logits }
    }

    fn layout(self, task: Task, nodes: u64, outputs: u64) -> Layout {
        let (name, dtype, shape) = match (self, task) {
            (Prediction::Logits, _) => ("logits", Dtype::F32, vec![nodes, outputs]),
            (Prediction::Classes, Task::Multilabel) => ("classes", Dtype::U8, vec![nodes, outputs]),
            (Prediction::Classes, _) => ("classes", Dtype::I64, vec![nodes]),
        };
        Layout { name, dtype, shape }
    }

    fn rows(self, task: Task, logits: &Tensor) -> Result<Tensor> {
        Ok(match (self, task) {
            (Prediction::Logits, _) => logits.f_to_kind(Kind::Float)?.f_contiguous()?,
            (Prediction::Classes, Task::Multilabel) => logits.f_gt(0)?.f_to_kind(Kind::Uint8)?,
            (Prediction::Classes, _) => logits.f_argmax(1, false)?,
        })
    }
}

/// A prediction for all nodes of a partitioned graph.
#[derive(Debug, Clone)]
pub struct PredictConfig {
    /// The run that trained the model: its model, keys and folders are used.
    pub run: RunConfig,
    /// The trained weights.
    pub weights: PathBuf,
    /// The form of the prediction.
    pub prediction: Prediction,
    /// The order of its rows.
    pub order: NodeOrder,
    /// A correction of a classification's predictions by the labels of the training nodes. The output then holds scores from 0
    /// to 1 instead of logits.
    pub correct_and_smooth: Option<CorrectAndSmooth>,
    /// Path of the output, `.npy` or `.safetensors`.
    pub output: PathBuf,
}

impl PredictConfig {
    /// The classes that a run's weights predict, in the partitions' order.
    pub fn new(run: RunConfig, output: impl Into<PathBuf>) -> Self {
        PredictConfig {
            weights: run.out.join(WEIGHTS),
            prediction: Prediction::default(),
            order: NodeOrder::default(),
            correct_and_smooth: None,
            output: output.into(),
            run,
        }
    }
}

/// Runs a rank's part of the prediction.
pub fn predict(here: Surroundings<'_>, config: &PredictConfig) -> Result<()> {
    let setup = RankSetup::new(here, Passes::of(&config.run))?;
    match &config.run.relations {
        Some(relations) => predict_relations(&setup, config, relations)?,
        None => predict_whole(&setup, config)?,
    }
    setup.end()
}

/// Predicts all nodes, of all types.
fn predict_whole(setup: &RankSetup, config: &PredictConfig) -> Result<()> {
    let run = &config.run;
    let whole = WholeGraph::new(setup, run)?;
    let outputs = stored_out_feats(&config.weights, &run.model)?;
    let mut builder = ParameterBuilder::new(run.seed);
    let model = run.model.build(&mut builder, whole.sizes(outputs))?;
    if let Some(link) = &run.link {
        // The weights belong to the model and the score.
        link.score(&mut builder, outputs);
    }
    let parameters = Rc::new(builder.finish(&setup.manager, KIND)?);
    load_state_dict(&config.weights, &parameters, &[])?;
    let nodes = Labelled::all(setup, &whole.graph)?;
    let file = open(config, nodes.nodes.total, outputs)?;
    {
        let graphs = vec![&whole.graph as &dyn Graph; run.model.num_graphs()];
        let features = whole.model_input(setup, &*model, &parameters, &whole.graph)?;
        let mut tape = Tape::evaluation(&setup.manager, &parameters);
        let features = tape.input(&features);
        let mut logits = model.forward(&mut tape, &graphs, features)?;
        if let Some(correct_and_smooth) = config.correct_and_smooth {
            let known = known_labels(setup, run, outputs)?;
            logits = correct_and_smooth.forward(&mut tape, &whole.graph, logits, &known)?;
        }
        write(setup, config, &file, &nodes, 0, &*logits.pin()?)?;
    }
    finish(setup, file, nodes.nodes.total)
}

/// Predicts the nodes of the type that the model was trained to predict.
fn predict_relations(
    setup: &RankSetup,
    config: &PredictConfig,
    relations: &Relations,
) -> Result<()> {
    let run = &config.run;
    let hetero = RankHeteroGraph::new(setup, run, relations)?;
    let outputs = hetero.stored_out_feats(&config.weights)?;
    let mut builder = ParameterBuilder::new(run.seed);
    let model = hetero.model(&mut builder, outputs)?;
    let parameters = Rc::new(builder.finish(&setup.manager, KIND)?);
    let inputs = hetero.inputs(setup, run.seed)?;
    let forward = HeteroModel { model: &model, graph: &hetero.graph, inputs: &inputs };
    hetero.load(setup, &config.weights, &parameters, &forward.all_rows())?;
    let nodes = hetero.labelled(setup)?;
    let file = open(config, nodes.nodes.total, outputs)?;
    {
        let mut tape = Tape::evaluation(&setup.manager, &parameters);
        let (logits, _) = forward.forward(&mut tape)?;
        let book = setup.partition.book();
        let before = (0..hetero.target).map(|ntype| book.num_nodes_of_type(ntype)).sum();
        write(setup, config, &file, &nodes, before, &*logits.pin()?)?;
    }
    finish(setup, file, nodes.nodes.total)
}

/// Writes the rows of some nodes; `before` holds, for each of their types, the number of nodes before it in the original order.
fn write(
    setup: &RankSetup,
    config: &PredictConfig,
    file: &RowFile,
    labelled: &Labelled,
    before: u64,
    logits: &Tensor,
) -> Result<()> {
    let rows = config.prediction.rows(config.run.task, logits)?;
    if config.order == NodeOrder::Partition {
        return file.write_rows(labelled.nodes.first, tensor::bytes(&rows));
    }
    let places = original_places(&setup.partition)?;
    let places = &places[labelled.first_row as usize..][..labelled.nodes.own];
    let places: Vec<u64> = places.iter().map(|place| place - before).collect();
    file.write_rows_at(&places, tensor::bytes(&rows))
}

/// Gives the file its final name once all ranks have written.
fn finish(setup: &RankSetup, file: RowFile, num_nodes: u64) -> Result<()> {
    setup.manager.set_phase(Phase::Finishing);
    barrier(&*setup.group, &*setup.manager)?;
    if setup.group.rank() == 0 { file.finish(num_nodes, &[]) } else { Ok(()) }
}

/// The classes of the run's training nodes.
fn known_labels(setup: &RankSetup, run: &RunConfig, classes: i64) -> Result<KnownLabels> {
    let (partition, key) = (&setup.partition, run.keys.labels.as_deref());
    let labels = load_labels(partition, key)?;
    let mask = load_mask(partition, run.keys.train_mask.as_deref(), "train_mask")?;
    let mask = mask.map_or_else(|| tensor::zeros(&labels.size(), Kind::Bool), Ok)?;
    let wrong = labels.f_lt(0)?.f_logical_or(&labels.f_ge(classes)?)?.f_logical_and(&mask)?;
    let wrong = wrong.f_sum(Kind::Int64)?.f_int64_value(&[])?;
    if wrong > 0 {
        let problem = format!("{wrong} training nodes have a class outside the model's {classes}");
        let path = partition.node_features().path();
        return Err(Error::input(path, key.unwrap_or("label"), problem)
            .with_hint("use the graph and the labels on which the model was trained"));
    }
    let manager = &setup.manager;
    Ok(KnownLabels { labels: manager.track("labels", labels), mask: manager.track("mask", mask) })
}

/// Opens the output file, with the same layout on all ranks.
fn open(config: &PredictConfig, num_nodes: u64, outputs: i64) -> Result<RowFile> {
    let layout = config.prediction.layout(config.run.task, num_nodes, outputs as u64);
    let Layout { name, dtype, shape } = layout;
    let row_bytes = shape[1..].iter().product::<u64>() as usize * dtype.size();
    let header = match ArrayFormat::of(&config.output)? {
        ArrayFormat::Npy => npy_header(dtype, &shape)?,
        ArrayFormat::Safetensors => {
            let scores = config.correct_and_smooth.is_some() && name == "logits";
            let name = if scores { "scores" } else { name };
            safetensors_header(&[ArraySpec { name, dtype, shape: &shape }], &BTreeMap::new())?
        }
    };
    RowFile::open(&config.output, header, row_bytes)
}

/// The array of all nodes' predictions.
struct Layout {
    name: &'static str,
    dtype: Dtype,
    shape: Vec<u64>,
}

/// The file formats of predictions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ArrayFormat {
    /// NumPy's `.npy`.
    Npy,
    /// A safetensors file with one tensor.
    Safetensors,
}

impl ArrayFormat {
    /// The format that a file's name calls for.
    ///
    /// # Errors
    /// If the name has another extension.
    pub fn of(path: &Path) -> Result<Self> {
        match path.extension().and_then(|extension| extension.to_str()) {
            Some("npy") => Ok(ArrayFormat::Npy),
            Some("safetensors") => Ok(ArrayFormat::Safetensors),
            _ => Err(Error::input(path, "", "does not name a format for predictions")
                .with_hint("use the extension .npy or .safetensors")),
        }
    }
}
