//! A graph with nodes and edges added for one prediction.

use std::path::Path;

use super::predicted_graph::original_ids_of;
use crate::engine::spill_dir::{RunFolder, sweep};
use crate::event::Event;
use crate::formats::dgl::Partition;
use crate::formats::dgl::config::PartitionConfig;
use crate::load::KeptArrays;
use crate::platform::signals;
use crate::prepare::partition::{ExtendedPartitions, GraphAdditions, extend_partitions};
use crate::run::config::MemoryBudget;
use crate::run::launch::connection::is_one_of_several;
use crate::run::launch::reservation::REMEDY;
use crate::run::plan::aside::Aside;
use crate::run::rank::{LinkQuery, NodeOrder, PredictConfig};
use crate::words::error::{Error, ErrorKind, ErrorRecord, Result};
use crate::words::fields::mark;

/// The whole graph in the run's temporary folder, where a prediction finds it.
pub(super) struct ExtendedGraph {
    config: PredictConfig,
    // Dropped last.
    _folder: RunFolder,
}

/// Memory in bytes for making the graph under a budget of as little as possible.
const LITTLE: u64 = 512 << 20;

const CUT_AGAIN: &str = "cut the graph with its new nodes, and train again";

impl ExtendedGraph {
    /// Adds what the configuration names to the graph; `None` if it names nothing.
    pub(super) fn of(
        config: &PredictConfig,
        observe: &mut dyn FnMut(&Event),
    ) -> Result<Option<Self>> {
        if config.added == GraphAdditions::default() {
            return Ok(None);
        }
        check_combination(config)?;
        let partitions = config.run.open_graph()?;
        let partitions = original_ids_of(config, partitions)?;
        let partition = Partition::open(&partitions, partitions.first_present())?;
        let kept = KeptArrays::of(&partition, &config.run.keys)?;
        check_learned_rows(config, &partitions, &kept)?;
        let spill_dir = &config.run.spill_dir;
        sweep(spill_dir);
        let (folder, _control) = RunFolder::create(spill_dir, 1, 1)?;
        let extended = extended(config, &partitions, &kept, folder.path())?;
        for note in &extended.notes {
            observe(&Event::Note(note.clone()));
        }
        let nodes: u64 = extended.nodes.iter().sum();
        observe(&Event::Note(format!(
            "the graph has {nodes} new nodes and {} new edges for this prediction",
            extended.edges
        )));
        let mut config = config.clone();
        config.run.part_json = extended.json;
        config.orig_ids = Vec::new();
        config.added = GraphAdditions::default();
        config.new_nodes = extended.nodes;
        Ok(Some(ExtendedGraph { config, _folder: folder }))
    }

    /// The prediction on the whole graph.
    pub(super) fn config(&self) -> &PredictConfig {
        &self.config
    }
}

fn check_combination(config: &PredictConfig) -> Result<()> {
    let field = if config.added.nodes.is_empty() { "add_edges" } else { "add_nodes" };
    let refuse = |problem: &str, hint: &str| Err(Error::config(field, problem).with_hint(hint));
    if is_one_of_several() || config.run.partitions.is_some() {
        return refuse("needs all partitions on one machine", "predict on one machine");
    }
    if config.correct_and_smooth.is_some() {
        return refuse(
            "correct and smooth needs labels, which new nodes do not have",
            "use predict",
        );
    }
    if matches!(config.links, Some(LinkQuery::Ranks(_))) {
        return refuse(
            "edges are ranked in the graph on which the run was trained",
            "leave out ‹split›",
        );
    }
    if config.order == Some(NodeOrder::Partition) {
        return refuse("new nodes have original ids alone", "leave out ‹order=partition›");
    }
    Ok(())
}

/// Refuses new nodes if the model has learned a row for each node of a type.
fn check_learned_rows(
    config: &PredictConfig,
    partitions: &PartitionConfig,
    kept: &KeptArrays,
) -> Result<()> {
    let types = partitions.book().ntypes().iter().zip(&kept.features);
    let Some((name, _)) = types.into_iter().find(|(_, features)| features.is_none()) else {
        return Ok(());
    };
    if config.added.nodes.is_empty() || config.run.relations.is_none() {
        return Ok(());
    }
    let problem = format!(
        "the model has learned a row for each node of type {name}, and has none for new nodes"
    );
    Err(Error::config("add_nodes", problem)
        .with_hint(format!("give nodes features before you train, or {CUT_AGAIN}")))
}

/// Makes the graph in `folder`, in a process whose threads and memory end with it.
fn extended(
    config: &PredictConfig,
    partitions: &PartitionConfig,
    kept: &KeptArrays,
    folder: &Path,
) -> Result<ExtendedPartitions> {
    let memory = match config.run.memory_budget {
        MemoryBudget::Min => LITTLE,
        MemoryBudget::Bytes(bytes) => bytes,
    };
    let out = folder.join("graph");
    let process = Aside::start("a process that adds nodes", &config.run.spill_dir, |_| {
        let mut observer = |_| signals::check();
        let done = extend_partitions(partitions, &config.added, kept, &out, memory, &mut observer);
        done.map_err(|error| failed(&error))
    })?;
    process.answer()?.ok_or_else(|| {
        Error::new(ErrorKind::Worker, "the process that adds nodes to the graph was killed")
            .with_hint("the system may lack memory: try a smaller ‹memory_budget›")
    })
}

/// An error as the answer. Too little memory concerns the prediction's budget, and a full disk its temporary folder.
fn failed(error: &Error) -> ErrorRecord {
    let budget = |text: &str| {
        let text = text.replace("‹memory=", "‹memory_budget=");
        text.replace(&mark("memory"), &mark("memory_budget"))
    };
    let is_full = error.kind() == ErrorKind::OutOfDisk;
    let hint = if is_full { Some(REMEDY.to_owned()) } else { error.marked_hint().map(budget) };
    ErrorRecord { kind: error.kind(), problem: budget(&error.marked()), hint }
}
