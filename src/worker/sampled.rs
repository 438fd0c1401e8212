//! A rank's part of a training on sampled neighbourhoods.

use std::sync::Arc;

use super::config::RunConfig;
use super::rank::{RankSetup, Surroundings};
use crate::comm::barrier;
use crate::data::NodeColumn;
use crate::dist::{DistGraph, IndexConfig, write_index};
use crate::error::{Error, Result};
use crate::io::DiskStorage;
use crate::loader::DataLoader;
use crate::nn::{Model, Task};
use crate::tape::Graph;
use crate::tensor;
use crate::train::{FEATURES, LABELS, SampledTrainer, Trainer};

/// Makes the loader of a rank's training nodes: writes the index of its partition, waits for those of the others, and opens
/// the whole graph. Two collectives. `None` for full-batch training.
pub(super) fn loader(
    setup: &RankSetup,
    graph: &dyn Graph,
    here: Surroundings<'_>,
    config: &RunConfig,
) -> Result<Option<DataLoader>> {
    let Some(sampling) = &config.sampling else { return Ok(None) };
    let RankSetup { manager, group, .. } = setup;
    let weight = config.keys.edge_weight.clone();
    let graph =
        open_graph((setup, graph), here, &IndexConfig { weight, ..IndexConfig::default() }, None)?;
    let counters = manager.store().counters();
    let partitions = here.partitions;
    let key = config.keys.features.as_deref();
    let normalize = config.normalize_features;
    let features = NodeColumn::features(partitions, key, normalize, counters.clone())?;
    let key = config.keys.labels.as_deref();
    let labels = match config.task {
        Task::Classification => NodeColumn::labels(partitions, key, counters.clone())?,
        Task::Multilabel | Task::Regression => {
            NodeColumn::targets(partitions, key, counters.clone())?
        }
    };
    let sampler = sampling.sampler()?.out_degrees(config.model.kind.uses_out_degrees());
    let sampler = sampler.input_node_feature(FEATURES, features);
    let sampler = sampler.output_node_feature(LABELS, labels);
    let seeds = train_nodes(setup)?;
    let hooks = (&**group, &**manager as _);
    DataLoader::new(Arc::new(graph), seeds, sampler, sampling.loader(config.seed), hooks).map(Some)
}

/// Writes the index of the rank's partition, waits for those of the others, and opens the whole graph: one collective. `drawn`
/// says which edges may be drawn.
pub(super) fn open_graph(
    (setup, graph): (&RankSetup, &dyn Graph),
    here: Surroundings<'_>,
    keys: &IndexConfig,
    drawn: Option<&[f32]>,
) -> Result<DistGraph> {
    let RankSetup { manager, partition, group } = setup;
    let counters = manager.store().counters();
    let out_degrees: Vec<u32> = {
        let degrees = graph.out_degrees().pin()?;
        tensor::slice::<i64>(&degrees).iter().map(|degree| *degree as u32).collect()
    };
    let storage = DiskStorage::default();
    write_index(partition, &out_degrees, (keys, drawn), here.folder, &storage, counters)?;
    barrier(&**group, &**manager)?;
    DistGraph::open(here.partitions, keys, here.folder, &storage, counters.clone())
}

/// The global ids of the rank's training nodes.
fn train_nodes(setup: &RankSetup) -> Result<Vec<u64>> {
    let masks = setup.manager.masks.get();
    let masks = masks.ok_or_else(|| Error::Internal("the rank has no masks".to_owned()))?;
    let rows = masks.train.pin()?.f_nonzero()?.f_contiguous()?;
    let first = setup.partition.book().node_range(setup.partition.part()).start;
    Ok(tensor::slice::<i64>(&rows).iter().map(|row| first + *row as u64).collect())
}

/// The trainer on sampled batches beside the one on the full graph.
pub(super) fn samples<'a>(
    (full, model): (&'a Trainer<'a>, &'a dyn Model),
    loader: &'a DataLoader,
    config: &RunConfig,
) -> Result<SampledTrainer<'a>> {
    let sampling = config.sampling.as_ref();
    let sampling = sampling.ok_or_else(|| Error::Internal("nothing is sampled".to_owned()))?;
    let edge_types = config.model.kind.uses_edge_types();
    Ok(SampledTrainer { full, model, loader, reduce: sampling.reduce, edge_types })
}
