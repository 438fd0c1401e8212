//! Batches of a rank's training on sampled neighbourhoods.

use std::rc::Rc;
use std::sync::Arc;

use super::assignment::Assignment;
use super::labelled::{LabelledGroup, rows_by_group};
use super::labels::LabelFacts;
use super::rank_graph::RankGraph;
use super::setup::{RankSetup, Surroundings};
use crate::engine::comm::{barrier, spans_machines};
use crate::engine::spill::PointerTensor;
use crate::engine::tensor;
use crate::io::DiskStorage;
use crate::load::NodeColumn;
use crate::nn::Task;
use crate::platform::resident_bytes;
use crate::run::config::run_config::RunConfig;
use crate::sampling::loaders::{DataLoader, DataLoaderConfig, DistNeighborSampler, SampledGraph};
use crate::sampling::stores::{
    CollectiveGraph, DistGraph, EdgelessGraph, Fanout, IndexConfig, write_index,
};
use crate::train::{EvaluationLoaders, GradientReduce, LABELS, SamplingConfig};
use crate::words::error::Result;

/// The loaders of a rank's nodes.
pub(super) struct NodeLoaders {
    /// How gradients of the ranks are combined.
    pub(super) reduce: GradientReduce,
    /// Loader of the training nodes.
    pub(super) train: DataLoader,
    /// Loaders of the nodes evaluated between epochs, if evaluations run on samples.
    pub(super) evaluation: Option<EvaluationLoaders>,
}

/// Creates the loaders of a rank's labelled nodes: writes the index of its partition, waits for the other ranks, and
/// opens the whole graph. Seeds belong to the predicted node types. Two collectives, and two more with loaders for
/// evaluations; another if each edge type has its own features.
pub(super) fn of_graph(
    setup: &RankSetup,
    graph: &impl RankGraph,
    assignment: Assignment<'_>,
    sampling: &SamplingConfig,
    facts: &LabelFacts,
) -> Result<NodeLoaders> {
    let Assignment { here, config, .. } = assignment;
    let keys = index(config, sampling);
    let opened = open_graph(setup, graph.out_degrees(setup)?, here, &keys, None)?;
    let inputs = graph.batch_inputs(setup, assignment)?;
    let sampler = |sampling: &SamplingConfig| inputs.sampler(setup, config, sampling);
    finish_loaders(setup, assignment, sampling, opened, &sampler, facts)
}

/// Like [`of_graph`], for a model that needs no neighbours while it trains, nor features of the partition.
pub(super) fn of_rows(
    setup: &RankSetup,
    assignment: Assignment<'_>,
    sampling: &SamplingConfig,
    facts: &LabelFacts,
) -> Result<NodeLoaders> {
    let graph = Arc::new(EdgelessGraph::new(setup.partition.book().clone()));
    // A block holds the ids of the seeds.
    let sampler = |_: &SamplingConfig| {
        Ok(DistNeighborSampler::new(vec![Fanout::Total(0)])?.out_degrees(false))
    };
    finish_loaders(setup, assignment, sampling, graph.into(), &sampler, facts)
}

/// Settings of a partition's index.
fn index(config: &RunConfig, sampling: &SamplingConfig) -> IndexConfig {
    IndexConfig {
        weight: config.keys.edge_weight.clone(),
        probability: sampling.edge_probability.clone(),
        ..IndexConfig::default()
    }
}

/// Bytes to which this process may grow while METIS groups its seeds: what the memory budget leaves in addition to this process and
/// the values that ranks keep is for all workers that may be resident.
fn room_for_metis(here: Surroundings<'_>) -> u64 {
    match here.resources.memory_budget.bytes() {
        0 => u64::MAX,
        budget => {
            let own = resident_bytes().unwrap_or(0);
            let left = budget.saturating_sub(own + here.control.taken());
            own + left / here.control.slots().max(1) as u64
        }
    }
}

/// Adds labels and seeds to samplers; masks have a row per node of the groups. One collective per loader.
fn finish_loaders(
    setup: &RankSetup,
    Assignment { here, config, .. }: Assignment<'_>,
    sampling: &SamplingConfig,
    graph: SampledGraph,
    sampler: &dyn Fn(&SamplingConfig) -> Result<DistNeighborSampler>,
    facts: &LabelFacts,
) -> Result<NodeLoaders> {
    let LabelFacts { groups, masks, .. } = facts;
    let manager = &setup.manager;
    let (key, counters) = (config.keys.labels.as_deref(), manager.store().counters().clone());
    let labels = match config.task {
        Task::Classification => {
            let labels = NodeColumn::labels(here.reachable(), key, counters)?;
            let of_types = groups
                .iter()
                .filter_map(|group| Some((group.labelled.ntype?, group.classes.start)));
            of_types.fold(labels, |labels, (ntype, first)| labels.counted_from(ntype, first))
        }
        Task::Multilabel | Task::Regression => {
            NodeColumn::targets(here.reachable(), key, counters)?
        }
    };
    let first_node = setup.partition.book().node_range(here.rank).start;
    let loader = |how: &SamplingConfig, mask: &PointerTensor, shuffle| {
        let sampler = sampler(how)?.output_node_feature(LABELS, labels.clone());
        let order = DataLoaderConfig { shuffle, ..how.loader(config.seed) };
        DataLoader::new(
            graph.clone(),
            nodes_of(mask, groups, first_node)?,
            sampler,
            order,
            setup.ranks(),
        )
    };
    let mut train = loader(sampling, &masks.train, true)?;
    if sampling.optimized_batches {
        train = train.precompute_optimized_batches(None, room_for_metis(here))?;
    }
    let evaluation = match &config.evaluation.fanouts {
        None => None,
        Some(fanouts) => {
            let how = SamplingConfig { fanouts: fanouts.clone(), ..sampling.clone() };
            Some(EvaluationLoaders {
                val: loader(&how, &masks.val, false)?,
                test: loader(&how, &masks.test, false)?,
            })
        }
    };
    Ok(NodeLoaders { reduce: sampling.reduce, train, evaluation })
}

/// Writes the index of the rank's partition, whose own nodes have these out-degrees, waits for the other ranks, and opens
/// the whole graph. `drawn` holds a value per edge: not 0 if it may be drawn. On several machines, ranks request data of each other's indexes. One
/// collective.
pub(super) fn open_graph(
    setup: &RankSetup,
    out_degrees: Vec<u32>,
    here: Surroundings<'_>,
    keys: &IndexConfig,
    drawn: Option<Vec<f32>>,
) -> Result<SampledGraph> {
    let RankSetup { manager, partition, group } = setup;
    let counters = manager.store().counters();
    let storage = DiskStorage::default().writing_back();
    write_index(partition, &out_degrees, keys, drawn.as_deref(), here.folder, &storage, counters)?;
    drop((out_degrees, drawn));
    barrier(&**group, &**manager)?;
    let (config, folder) = (here.partitions, here.folder);
    if spans_machines(&**group) {
        let graph = CollectiveGraph::open(config, keys, folder, group.clone(), manager.clone())?;
        return Ok(Rc::new(graph).into());
    }
    let graph = DistGraph::open(config, keys, folder, &storage, counters.clone())?;
    Ok(Arc::new(graph).into())
}

/// Global ids of the nodes in a mask of all groups; `first_node` is the global id of the rank's first inner node.
fn nodes_of(mask: &PointerTensor, groups: &[LabelledGroup], first_node: u64) -> Result<Vec<u64>> {
    let rows = mask.pin()?.f_nonzero()?.f_contiguous()?;
    let by_group = rows_by_group(groups, &tensor::slice(&rows));
    let ids = groups.iter().zip(by_group).flat_map(|(group, rows)| {
        let first = group.first_id(first_node);
        rows.into_iter().map(move |row| first + u64::from(row))
    });
    Ok(ids.collect())
}
