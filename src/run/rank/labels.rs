//! Labels and masks of a rank, and the facts on which all ranks agree.

use tch::{Kind, Tensor};

use super::classes::Classes;
use super::setup::{RankSetup, Surroundings, keep};
use crate::engine::comm::{ReduceOp, all_reduce};
use crate::engine::spill::{Masks, PointerTensor};
use crate::engine::tape::Graph;
use crate::engine::tensor;
use crate::error::{Error, Result};
use crate::event::Event;
use crate::graph::TypeNodes;
use crate::load::{Targets, load_labels, load_mask, load_targets};
use crate::nn::{Loss, Task, class_counts};
use crate::run::config::run_config::RunConfig;
use crate::train::Totals;

/// The facts on which all ranks agree before the model is created.
pub(super) struct LabelFacts {
    /// Number of columns of the model's output.
    pub(super) outputs: i64,
    pub(super) totals: Totals,
    /// The nodes with labels.
    pub(super) nodes: TypeNodes,
    /// Labels of the nodes above.
    pub(super) labels: PointerTensor,
    /// Masks of the nodes above.
    pub(super) masks: Masks,
}

/// The nodes of a rank that have labels.
pub(super) struct Labelled {
    /// Index of the first of them among the inner nodes.
    pub(super) first_row: i64,
    /// Place of these nodes among those of all ranks.
    pub(super) nodes: TypeNodes,
    /// Number of these nodes without in-edges.
    pub(super) without_in_edges: i64,
}

impl Labelled {
    /// The nodes of a type; their in-edges are not counted.
    pub(super) fn of_type(setup: &RankSetup, ntype: usize) -> Self {
        let (book, part) = (setup.partition.book(), setup.partition.part());
        let first = book.node_type_range(part, ntype).start - book.node_range(part).start;
        let nodes = book.type_nodes(part, ntype);
        Labelled { first_row: first as i64, nodes, without_in_edges: 0 }
    }

    /// All nodes of a graph.
    pub(super) fn all(setup: &RankSetup, graph: &dyn Graph) -> Result<Self> {
        let book = setup.partition.book();
        let own = book.node_range(setup.partition.part());
        let without = graph.in_degrees().pin()?.f_eq(0)?.f_sum(Kind::Int64)?;
        let nodes = TypeNodes {
            first: own.start,
            own: (own.end - own.start) as usize,
            total: book.num_nodes(),
        };
        let without_in_edges = without.f_int64_value(&[])?;
        Ok(Labelled { first_row: 0, nodes, without_in_edges })
    }
}

/// Reads labels and masks, and agrees with all ranks on the numbers of outputs and of masked nodes: one collective. `stored` is
/// the number of outputs of given initial weights.
pub(super) fn take_up_labels(
    setup: &RankSetup,
    config: &RunConfig,
    here: Surroundings<'_>,
    labelled: Labelled,
    stored: Option<i64>,
) -> Result<LabelFacts> {
    let RankSetup { manager, partition, .. } = setup;
    let Labelled { first_row, nodes, without_in_edges } = labelled;
    let keys = &config.keys;
    let key = keys.labels.as_deref();
    let labels = match config.task {
        Task::Classification => load_labels(partition, key)?,
        Task::Multilabel => load_targets(partition, key, Targets::Classes)?,
        Task::Regression => load_targets(partition, key, Targets::Numbers)?,
    };
    let rows = |all: &Tensor| -> Result<Tensor> {
        tensor::copy(&all.f_narrow(0, first_row, nodes.own as i64)?)
    };
    let labels = rows(&labels)?;
    let mask = |key: &Option<String>, name: &str| -> Result<Tensor> {
        match load_mask(partition, key.as_deref(), name)? {
            Some(mask) => rows(&mask),
            None => tensor::zeros(&[nodes.own as i64], Kind::Bool),
        }
    };
    let masks = [
        mask(&keys.train_mask, "train_mask")?,
        mask(&keys.val_mask, "val_mask")?,
        mask(&keys.test_mask, "test_mask")?,
    ];
    let count = |t: &Tensor| Ok::<_, Error>(t.f_sum(Kind::Int64)?.f_int64_value(&[])?);
    let unlabelled = match config.task {
        Task::Classification => labels.f_lt(0)?,
        _ => labels.f_isnan()?.f_any_dim(1, false)?,
    };
    for (mask, name) in masks.iter().zip(["training", "validation", "test"]) {
        let unlabelled = count(&unlabelled.f_logical_and(mask)?)?;
        if unlabelled > 0 {
            let path = partition.node_features().path();
            let problem = format!("{unlabelled} {name} nodes have no label");
            return Err(Error::input(path, key.unwrap_or("label"), problem).with_hint(
                "remove them from the mask, or name other labels with ‹keys.labels=KEY›",
            ));
        }
    }
    let mut numbers =
        vec![first_row, count(&masks[0])?, count(&masks[1])?, count(&masks[2])?, without_in_edges];
    numbers.extend(Classes::new(config.task, &labels)?.numbers());
    let labels = manager.track("labels", labels);
    keep(manager.labels.set(labels.clone()))?;
    let [train, val, test] = masks.map(|mask| manager.track("mask", mask));
    let masks = Masks { train, val, test };
    keep(manager.masks.set(masks.clone()).map_err(drop))?;

    let rows = setup.gather(&numbers)?;
    let sum = |i: usize| rows.iter().map(|row| row[i]).sum::<i64>();
    let of_classes: Vec<&[i64]> = rows.iter().map(|row| &row[5..]).collect();
    let highest: Vec<i64> = of_classes.iter().map(|row| row[0]).collect();
    if config.task != Task::Classification && highest.iter().any(|h| *h != highest[0]) {
        let widths: Vec<i64> = highest.iter().map(|h| h + 1).collect();
        let problem = format!("has {widths:?} columns on the partitions, but one number is needed");
        let path = partition.node_features().path();
        return Err(Error::input(path, key.unwrap_or("label"), problem)
            .with_hint("partition the graph again: all parts must come from one run"));
    }
    let first_row = |rank: usize| rows[rank][0];
    let name = key.unwrap_or("label");
    let classes = Classes::of_all(config.task, &of_classes, here, name, first_row)?;
    let totals = Totals { train: sum(1), val: sum(2), test: sum(3) };
    if totals.train == 0 {
        let path = partition.node_features().path();
        return Err(Error::input(
            path,
            keys.train_mask.as_deref().unwrap_or("train_mask"),
            "names no nodes",
        )
        .with_hint("name the array that marks the training nodes with ‹keys.train_mask=KEY›"));
    }
    if here.rank == 0 && sum(4) > 0 && config.model.kind.needs_in_edges() {
        here.events.send(Event::Note(format!(
            "{} nodes have no in-edges; a layer gives them only its bias",
            sum(4)
        )))?;
    }
    if let (0, Some(note)) = (here.rank, classes.gaps(config.task)) {
        here.events.send(Event::Note(note))?;
    }
    Ok(LabelFacts {
        outputs: num_outputs(config, stored, classes.highest)?,
        totals,
        nodes,
        labels,
        masks,
    })
}

/// The highest label or column plus one, or the number of outputs of given initial weights.
fn num_outputs(config: &RunConfig, stored: Option<i64>, highest: i64) -> Result<i64> {
    let (Some(path), Some(outputs)) = (&config.init_params, stored) else { return Ok(highest + 1) };
    match config.task {
        Task::Classification if highest < outputs => return Ok(outputs),
        Task::Multilabel | Task::Regression if highest + 1 == outputs => return Ok(outputs),
        _ => {}
    }
    let problem = match config.task {
        Task::Classification => format!("has {outputs} outputs, but labels go up to {highest}"),
        _ => format!("has {outputs} outputs, but labels have {} columns", highest + 1),
    };
    Err(Error::input(path, "", problem))
}

/// The loss of the run.
pub(super) struct Goal {
    /// The loss.
    pub(super) loss: Loss,
    /// The number by which the loss of all ranks' training nodes is divided.
    pub(super) divisor: f64,
}

/// Makes the loss of the run: one collective, and one for class weights.
pub(super) fn goal(setup: &RankSetup, config: &RunConfig, facts: &LabelFacts) -> Result<Goal> {
    let loss = make_loss(setup, config, facts)?;
    let divisor = divisor(setup, &loss, facts)?;
    Ok(Goal { loss, divisor })
}

/// The loss of the run; with class weights, one collective.
fn make_loss(setup: &RankSetup, config: &RunConfig, facts: &LabelFacts) -> Result<Loss> {
    let Some(weights) = &config.class_weights else { return Ok(Loss::new(config.task)) };
    let counts = {
        let (labels, mask) = (facts.labels.pin()?, facts.masks.train.pin()?);
        class_counts(config.task, &labels, &mask, facts.outputs)?
    };
    let counts = all_reduce(&*setup.group, vec![counts], ReduceOp::Sum, &*setup.manager)?;
    let counts = Vec::<i64>::try_from(&counts[0])?;
    Loss::weighted(config.task, &weights.resolve(config.task, facts.totals.train, &counts)?)
}

/// The number by which the loss of all ranks' training nodes is divided: one collective.
fn divisor(setup: &RankSetup, loss: &Loss, facts: &LabelFacts) -> Result<f64> {
    let own = loss.divisor(&*facts.labels.pin()?, &*facts.masks.train.pin()?)?;
    let own = Tensor::f_from_slice(&[own])?;
    let sums = all_reduce(&*setup.group, vec![own], ReduceOp::Sum, &*setup.manager)?;
    let sum = sums[0].f_double_value(&[0])?;
    if sum > 0.0 {
        return Ok(sum);
    }
    Err(Error::config("class_weights", "the weights of all training nodes are 0"))
}
