//! Labels and masks of a rank, and facts that all ranks agree on.

use serde::{Deserialize, Serialize};
use tch::{Kind, Tensor};

use super::classes::Classes;
use super::labelled::{Labelled, LabelledGroup};
use super::setup::{RankSetup, Surroundings};
use crate::engine::comm::{ReduceOp, all_reduce};
use crate::engine::spill::{Masks, PointerTensor};
use crate::engine::tensor;
use crate::event::Event;
use crate::formats::dgl::Partition;
use crate::graph::PartitionBook;
use crate::load::{Targets, load_labels, load_mask, load_targets};
use crate::nn::{Loss, Task, class_counts};
use crate::run::config::run_config::{Relations, RunConfig};
use crate::train::Totals;
use crate::words::error::{Error, Result};

/// Labels and masks, and facts that all ranks agree on before the model is created.
pub(super) struct LabelFacts {
    /// Labelled nodes: all nodes, or a group per predicted type.
    pub(super) groups: Vec<LabelledGroup>,
    pub(super) totals: Totals,
    /// Labels of these nodes, group after group.
    pub(super) labels: PointerTensor,
    /// Masks of these nodes.
    pub(super) masks: Masks,
}

impl LabelFacts {
    /// Number of columns of the model's output.
    pub(super) fn outputs(&self) -> i64 {
        self.groups.last().map_or(0, |group| group.classes.end)
    }

    /// Number of columns for each group.
    pub(super) fn widths(&self) -> Vec<i64> {
        self.groups.iter().map(|group| group.classes.end - group.classes.start).collect()
    }
}

/// Labels and masks of a rank's nodes.
struct OwnLabels {
    labels: Tensor,
    /// Training, validation and test nodes.
    masks: [Tensor; 3],
}

/// Message of a rank about the nodes of a group.
#[derive(Serialize, Deserialize)]
struct GroupCounts {
    first_row: i64,
    /// Training, validation and test nodes.
    in_masks: [i64; 3],
    without_in_edges: i64,
    classes: Classes,
}

/// Reads labels and masks of each group, and agrees with all ranks on the numbers of outputs and of masked nodes.
/// `stored` holds the number of outputs per group of given initial weights. One collective.
pub(super) fn take_up_labels(
    setup: &RankSetup,
    config: &RunConfig,
    here: Surroundings<'_>,
    labelled: Vec<Labelled>,
    stored: Option<&[i64]>,
) -> Result<LabelFacts> {
    let RankSetup { manager, partition, .. } = setup;
    let own = OwnLabels::read(setup, config, &labelled)?;
    let counts = own.iter().zip(&labelled);
    let counts = counts.map(|(labels, labelled)| labels.counts(setup, config, labelled));
    let counts = counts.collect::<Result<Vec<GroupCounts>>>()?;
    let OwnLabels { labels, masks } = OwnLabels::below_one_another(own)?;
    let labels = manager.track("labels", labels);
    let [train, val, test] = masks.map(|mask| manager.track("mask", mask));
    let masks = Masks { train, val, test };

    let ranks = setup.gather(&counts)?;
    let mut totals = Totals { train: 0, val: 0, test: 0 };
    let (mut groups, mut first_class, mut without_in_edges) = (Vec::new(), 0, 0);
    let mut gaps = Vec::new();
    for (number, labelled) in labelled.into_iter().enumerate() {
        let counts: Vec<&GroupCounts> =
            ranks.iter().filter_map(|groups| groups.get(number)).collect();
        let classes = agree(setup, config, here, &labelled, &counts)?;
        let outputs = num_outputs(config, stored.map(|stored| stored[number]), classes.highest)?;
        let sum = |of: fn(&GroupCounts) -> i64| counts.iter().map(|c| of(c)).sum::<i64>();
        totals.train += sum(|counts| counts.in_masks[0]);
        totals.val += sum(|counts| counts.in_masks[1]);
        totals.test += sum(|counts| counts.in_masks[2]);
        without_in_edges += sum(|counts| counts.without_in_edges);
        gaps.extend(classes.gaps(config.task, outputs, &of_one_type(setup, config, &labelled)));
        let classes = first_class..first_class + outputs;
        first_class = classes.end;
        groups.push(LabelledGroup { labelled, classes });
    }
    if here.rank == 0 && without_in_edges > 0 && config.model.kind.spec().needs_in_edges {
        here.events.send(Event::Note(format!(
            "{without_in_edges} nodes have no in-edges; a layer gives them only its bias"
        )))?;
    }
    if here.rank == 0 {
        let notes = gaps.into_iter().chain(numbering(partition.book(), &groups));
        notes.map(Event::Note).try_for_each(|note| here.events.send(note))?;
    }
    let labels = numbered_through(setup, labels, &groups)?;
    Ok(LabelFacts { groups, totals, labels, masks })
}

/// The labels of a partition's nodes, in the form that the task's loss takes.
pub(super) fn labels_of_task(
    partition: &Partition,
    task: Task,
    key: Option<&str>,
) -> Result<Tensor> {
    match task {
        Task::Classification => load_labels(partition, key),
        Task::Multilabel => load_targets(partition, key, Targets::Classes),
        Task::Regression => load_targets(partition, key, Targets::Numbers),
    }
}

impl OwnLabels {
    /// The labels and masks of each group of nodes.
    fn read(setup: &RankSetup, config: &RunConfig, groups: &[Labelled]) -> Result<Vec<Self>> {
        let (partition, keys) = (&setup.partition, &config.keys);
        let key = keys.labels.as_deref();
        let labels = labels_of_task(partition, config.task, key)?;
        let [train, val, test] = keys.masks().map(|(name, key)| load_mask(partition, key, name));
        let masks = [train?, val?, test?];
        let of_group = |labelled: &Labelled| {
            let own = labelled.nodes.own as i64;
            let rows = |all: &Tensor| tensor::copy(&all.f_narrow(0, labelled.first_row, own)?);
            let mask = |all: &Option<Tensor>| match all {
                Some(mask) => rows(mask),
                None => tensor::zeros(&[own], Kind::Bool),
            };
            let [train, val, test] = &masks;
            Ok(OwnLabels { labels: rows(&labels)?, masks: [mask(train)?, mask(val)?, mask(test)?] })
        };
        groups.iter().map(of_group).collect()
    }

    /// The message to other ranks about these nodes.
    fn counts(
        &self,
        setup: &RankSetup,
        config: &RunConfig,
        labelled: &Labelled,
    ) -> Result<GroupCounts> {
        let count = |t: &Tensor| Ok::<_, Error>(t.f_sum(Kind::Int64)?.f_int64_value(&[])?);
        let unlabelled = match config.task {
            Task::Classification => self.labels.f_lt(0)?,
            _ => self.labels.f_isnan()?.f_any_dim(1, false)?,
        };
        for (mask, name) in self.masks.iter().zip(["training", "validation", "test"]) {
            let unlabelled = count(&unlabelled.f_logical_and(mask)?)?;
            if unlabelled > 0 {
                let of_type = of_one_type(setup, config, labelled);
                let problem = format!("{unlabelled} {name} nodes{of_type} have no label");
                return Err(at_labels(setup, config, problem).with_hint(
                    "remove them from the mask, or name other labels with ‹keys.labels=KEY›",
                ));
            }
        }
        let [train, val, test] = &self.masks;
        Ok(GroupCounts {
            first_row: labelled.first_row,
            in_masks: [count(train)?, count(val)?, count(test)?],
            without_in_edges: labelled.without_in_edges,
            classes: Classes::new(config.task, &self.labels)?,
        })
    }

    fn below_one_another(mut groups: Vec<Self>) -> Result<Self> {
        if groups.len() == 1 {
            return Ok(groups.remove(0));
        }
        let all = |of: &dyn Fn(&Self) -> Tensor| {
            Ok::<_, Error>(Tensor::f_cat(&groups.iter().map(of).collect::<Vec<_>>(), 0)?)
        };
        let mask = |number: usize| all(&|own: &Self| own.masks[number].shallow_clone());
        let labels = all(&|own: &Self| own.labels.shallow_clone())?;
        Ok(OwnLabels { labels, masks: [mask(0)?, mask(1)?, mask(2)?] })
    }
}

/// Classes of a group of nodes, from all ranks' messages.
fn agree(
    setup: &RankSetup,
    config: &RunConfig,
    here: Surroundings<'_>,
    labelled: &Labelled,
    counts: &[&GroupCounts],
) -> Result<Classes> {
    let of_classes: Vec<&Classes> = counts.iter().map(|counts| &counts.classes).collect();
    let highest: Vec<i64> = of_classes.iter().map(|classes| classes.highest).collect();
    if config.task != Task::Classification && highest.iter().any(|h| *h != highest[0]) {
        let widths: Vec<i64> = highest.iter().map(|h| h + 1).collect();
        let problem = format!("has {widths:?} columns on the partitions, but one number is needed");
        return Err(at_labels(setup, config, problem)
            .with_hint("partition the graph again: all parts must come from one run"));
    }
    let first_row = |rank: usize| counts[rank].first_row;
    let name = config.keys.labels.as_deref().unwrap_or("label");
    let classes = Classes::of_all(config.task, &of_classes, here, name, first_row)?;
    let of_type = of_one_type(setup, config, labelled);
    if !of_type.is_empty() && classes.highest < 0 {
        let problem = format!("no node{of_type} has a label");
        return Err(at_labels(setup, config, problem).with_hint(
            "leave the type out of ‹relations.target›, or name other labels with ‹keys.labels=KEY›",
        ));
    }
    if counts.iter().all(|counts| counts.in_masks[0] == 0) {
        let features = setup.partition.node_features();
        let is_there = features.features().iter().any(|feature| feature.name() == "train_mask");
        let key = config.keys.train_mask.as_deref();
        let problem = if key.is_none() && !is_there {
            "is missing: nothing says which nodes to train on".to_owned()
        } else {
            format!("names no nodes{of_type}")
        };
        return Err(Error::input(features.path(), key.unwrap_or("train_mask"), problem).with_hint(
            "make masks with ‹split=random:0.8,0.1,0.1› when `sar-single partition` cuts the graph, or name the array that marks the \
             training nodes with ‹keys.train_mask=KEY›",
        ));
    }
    Ok(classes)
}

/// The words ` of type NAME` for messages, if several types are predicted.
fn of_one_type(setup: &RankSetup, config: &RunConfig, labelled: &Labelled) -> String {
    let several = config.relations.as_ref().is_some_and(Relations::several_targets);
    let ntype = labelled.ntype.filter(|_| several);
    let name = ntype.map(|ntype| &setup.partition.book().ntypes()[ntype]);
    name.map_or_else(String::new, |name| format!(" of type {name}"))
}

/// An error in the array of labels.
fn at_labels(setup: &RankSetup, config: &RunConfig, problem: String) -> Error {
    let path = setup.partition.node_features().path();
    Error::input(path, config.keys.labels.as_deref().unwrap_or("label"), problem)
}

/// Labels of all groups; a group's classes are offset by those of the groups before it.
fn numbered_through(
    setup: &RankSetup,
    labels: PointerTensor,
    groups: &[LabelledGroup],
) -> Result<PointerTensor> {
    if groups.len() == 1 {
        return Ok(labels);
    }
    let mut first = 0;
    let mut numbered = Vec::new();
    for LabelledGroup { labelled, classes } in groups {
        let own = labelled.nodes.own as i64;
        let rows = labels.pin()?.f_narrow(0, first, own)?;
        let known = rows.f_ge(0)?.f_to_kind(Kind::Int64)?;
        numbered.push(rows.f_add(&known.f_mul_scalar(classes.start)?)?);
        first += own;
    }
    Ok(setup.manager.track("labels", Tensor::f_cat(&numbered, 0)?))
}

/// A note on the numbers of classes if several node types are predicted together.
fn numbering(book: &PartitionBook, groups: &[LabelledGroup]) -> Option<String> {
    if groups.len() == 1 {
        return None;
    }
    let types = groups.iter().filter_map(|LabelledGroup { labelled, classes }| {
        let name = &book.ntypes()[labelled.ntype?];
        Some(format!("{} to {} of {name}", classes.start, classes.end - 1))
    });
    let types: Vec<String> = types.collect();
    Some(format!("classes of all types are numbered one after the other: {}", types.join(", ")))
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
    Err(Error::input(path, "", problem).with_hint(
        "name the labels on which these weights were trained with ‹keys.labels=KEY›, or take weights with an output for each",
    ))
}

/// The loss of the run.
pub(super) struct Goal {
    pub(super) loss: Loss,
    /// Divisor of the loss of all ranks' training nodes.
    pub(super) divisor: f64,
}

/// Creates the loss of the run. One collective, and one for class weights.
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
        class_counts(config.task, &labels, &mask, facts.outputs())?
    };
    let counts = all_reduce(&*setup.group, vec![counts], ReduceOp::Sum, &*setup.manager)?;
    let counts = Vec::<i64>::try_from(&counts[0])?;
    Loss::weighted(config.task, &weights.resolve(config.task, facts.totals.train, &counts)?)
}

/// Divisor of the loss of all ranks' training nodes. One collective.
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
