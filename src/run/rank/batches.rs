//! The batches of a rank's training on sampled neighbourhoods.

use std::sync::Arc;

use super::assignment::Assignment;
use super::hetero_graph::RankHeteroGraph;
use super::setup::{RankSetup, Surroundings};
use crate::engine::comm::barrier;
use crate::engine::tape::Graph;
use crate::engine::tensor;
use crate::error::{Error, Result};
use crate::io::DiskStorage;
use crate::load::NodeColumn;
use crate::nn::Task;
use crate::run::config::run_config::RunConfig;
use crate::sampling::loaders::{DataLoader, DistNeighborSampler};
use crate::sampling::stores::{DistGraph, IndexConfig, write_index};
use crate::train::{FEATURES, LABELS, SamplingConfig, features_of};

/// Builds the loader of a rank's training nodes: writes the index of its partition, waits for those of the others, and opens
/// the whole graph. Two collectives.
pub(super) fn of_shared_layers(
    setup: &RankSetup,
    graph: &dyn Graph,
    assignment: Assignment<'_>,
    sampling: &SamplingConfig,
) -> Result<DataLoader> {
    let Assignment { here, config, .. } = assignment;
    let book = setup.partition.book();
    let sampler = sampling.sampler(config.model.num_graphs(), book, false)?;
    let sampler = sampler.in_degrees(config.model.kind.uses_in_degrees());
    let sampler = sampler.out_degrees(config.model.kind.uses_out_degrees());
    let graph = open_graph(setup, graph, here, &index(config, sampling), None)?;
    let counters = setup.manager.store().counters().clone();
    let (key, normalize) = (config.keys.features.as_deref(), config.normalize_features);
    let features = NodeColumn::features(here.partitions, key, normalize, counters)?;
    let sampler = sampler.input_node_feature(FEATURES, features);
    finish_loader(setup, assignment, sampling, graph, sampler, book.node_range(here.rank).start)
}

/// As [`of_shared_layers`], for a model with a layer per edge type: seeds are of the node type that is predicted, and each type has features
/// of its own.
pub(super) fn of_relations(
    setup: &RankSetup,
    hetero: &RankHeteroGraph,
    assignment: Assignment<'_>,
    sampling: &SamplingConfig,
) -> Result<DataLoader> {
    let Assignment { here, config, .. } = assignment;
    let book = setup.partition.book();
    let mut sampler = sampling.sampler(config.model.layers, book, true)?.out_degrees(false);
    let keys = index(config, sampling);
    let graph = open_index(setup, &hetero.out_degrees(setup)?, here, &keys, None)?;
    let counters = setup.manager.store().counters();
    let (key, normalize) = (config.keys.features.as_deref(), config.normalize_features);
    for ntype in hetero.types_with_features() {
        let features =
            NodeColumn::features_of_type(here.partitions, ntype, key, normalize, counters.clone())?;
        sampler = sampler.input_node_feature(&features_of(&book.ntypes()[ntype]), features);
    }
    let first = book.node_type_range(here.rank, hetero.target).start;
    finish_loader(setup, assignment, sampling, graph, sampler, first)
}

/// The data that the index of a partition holds.
fn index(config: &RunConfig, sampling: &SamplingConfig) -> IndexConfig {
    IndexConfig {
        weight: config.keys.edge_weight.clone(),
        probability: sampling.edge_probability.clone(),
        ..IndexConfig::default()
    }
}

/// Adds labels and seeds; `first` is the global id of the rank's first node that may have a label. One collective.
fn finish_loader(
    setup: &RankSetup,
    Assignment { here, config, .. }: Assignment<'_>,
    sampling: &SamplingConfig,
    graph: DistGraph,
    sampler: DistNeighborSampler,
    first: u64,
) -> Result<DataLoader> {
    let manager = &setup.manager;
    let (key, counters) = (config.keys.labels.as_deref(), manager.store().counters().clone());
    let labels = match config.task {
        Task::Classification => NodeColumn::labels(here.partitions, key, counters)?,
        Task::Multilabel | Task::Regression => NodeColumn::targets(here.partitions, key, counters)?,
    };
    let sampler = sampler.output_node_feature(LABELS, labels);
    let seeds = train_nodes(setup, first)?;
    let order = sampling.loader(config.seed);
    DataLoader::new(Arc::new(graph), seeds, sampler, order, setup.ranks())
}

/// Writes the index of the rank's partition, waits for those of the others, and opens the whole graph: one collective. `drawn`
/// holds the edges that may be drawn.
pub(super) fn open_graph(
    setup: &RankSetup,
    graph: &dyn Graph,
    here: Surroundings<'_>,
    keys: &IndexConfig,
    drawn: Option<&[f32]>,
) -> Result<DistGraph> {
    let out_degrees: Vec<u32> = {
        let degrees = graph.out_degrees().pin()?;
        tensor::slice::<i64>(&degrees).iter().map(|degree| *degree as u32).collect()
    };
    open_index(setup, &out_degrees, here, keys, drawn)
}

/// [`open_graph`] for own nodes with these out-degrees.
fn open_index(
    setup: &RankSetup,
    out_degrees: &[u32],
    here: Surroundings<'_>,
    keys: &IndexConfig,
    drawn: Option<&[f32]>,
) -> Result<DistGraph> {
    let RankSetup { manager, partition, group } = setup;
    let counters = manager.store().counters();
    let storage = DiskStorage::default();
    write_index(partition, out_degrees, keys, drawn, here.folder, &storage, counters)?;
    barrier(&**group, &**manager)?;
    DistGraph::open(here.partitions, keys, here.folder, &storage, counters.clone())
}

/// The global ids of the rank's training nodes; `first` is that of the first row of the masks.
fn train_nodes(setup: &RankSetup, first: u64) -> Result<Vec<u64>> {
    let masks = setup.manager.masks.get();
    let masks = masks.ok_or_else(|| Error::internal("the rank has no masks".to_owned()))?;
    let rows = masks.train.pin()?.f_nonzero()?.f_contiguous()?;
    Ok(tensor::slice::<i64>(&rows).iter().map(|row| first + *row as u64).collect())
}
