//! A rank's part of a training on sampled neighbourhoods.

use std::rc::Rc;
use std::sync::Arc;
use std::time::Instant;

use super::config::RunConfig;
use super::rank::{RankSetup, Surroundings};
use crate::comm::barrier;
use crate::data::NodeColumn;
use crate::dist::{DistGraph, IndexConfig, write_index};
use crate::error::{Error, Result};
use crate::event::{EpochReport, Evaluation};
use crate::io::DiskStorage;
use crate::loader::DataLoader;
use crate::nn::Optimizer;
use crate::tensor;
use crate::train::{FEATURES, LABELS, SampledTrainer, SamplingConfig, Trainer};

/// Makes the loader of a rank's training nodes: writes the index of its partition, waits for those of the others, and opens
/// the whole graph. Two collectives.
pub(super) fn loader(
    setup: &RankSetup,
    here: Surroundings<'_>,
    config: &RunConfig,
    sampling: &SamplingConfig,
) -> Result<DataLoader> {
    let RankSetup { manager, partition, graph, group, .. } = setup;
    let keys =
        IndexConfig { weight: config.keys.edge_weight.clone(), probability: None, ends: false };
    let counters = manager.store().counters();
    let out_degrees: Vec<u32> = {
        let degrees = crate::tape::Graph::out_degrees(graph).pin()?;
        tensor::slice::<i64>(&degrees).iter().map(|degree| *degree as u32).collect()
    };
    write_index(partition, &out_degrees, &keys, here.folder, &DiskStorage, counters)?;
    barrier(&**group, &**manager)?;
    let partitions = here.partitions;
    let graph = DistGraph::open(partitions, &keys, here.folder, &DiskStorage, counters.clone())?;
    let key = config.keys.features.as_deref();
    let normalize = config.normalize_features;
    let features = NodeColumn::features(partitions, key, normalize, counters.clone())?;
    let key = config.keys.labels.as_deref();
    let labels = NodeColumn::labels(partitions, key, counters.clone())?;
    let sampler = sampling.sampler()?;
    let sampler = sampler.input_node_feature(FEATURES, features);
    let sampler = sampler.output_node_feature(LABELS, labels);
    let seeds = train_nodes(setup)?;
    let hooks = (&**group, &**manager as _);
    DataLoader::new(Arc::new(graph), seeds, sampler, sampling.loader(config.seed), hooks)
}

/// The global ids of the rank's training nodes.
fn train_nodes(setup: &RankSetup) -> Result<Vec<u64>> {
    let masks = setup.manager.masks.get();
    let masks = masks.ok_or_else(|| Error::Internal("the rank has no masks".to_owned()))?;
    let rows = masks.train.pin()?.f_nonzero()?.f_contiguous()?;
    let first = setup.partition.book().node_range(setup.partition.part()).start;
    Ok(tensor::slice::<i64>(&rows).iter().map(|row| first + *row as u64).collect())
}

/// One epoch: all ranks leave their turns and train side by side on sampled batches; then they take turns again for an
/// evaluation on the full graph.
pub(super) fn epoch(
    trainer: &SampledTrainer<'_>,
    full: &Trainer<'_>,
    epoch: u32,
    optimizer: &mut Optimizer,
) -> Result<(EpochReport, Evaluation)> {
    let turns = trainer.manager.lock().turns();
    trainer.manager.precall_func()?;
    let begin = Instant::now();
    let trained = trainer.epoch(epoch, optimizer)?;
    let epoch_s = begin.elapsed().as_secs_f64();
    trainer.manager.callback_func()?;
    let evaluation = full.evaluate()?;
    let report = EpochReport {
        epoch,
        loss: trained.loss.unwrap_or(f64::NAN),
        train_acc: trained.accuracy,
        val_acc: evaluation.val_acc,
        test_acc: evaluation.test_acc,
        epoch_s,
        lock_turns: trainer.manager.lock().turns() - turns,
        bytes_written: trained.io.written,
        bytes_read: trained.io.read,
    };
    Ok((report, evaluation))
}

/// The trainer on sampled batches beside the one on the full graph.
pub(super) fn sampled_trainer<'a>(
    full: &Trainer<'a>,
    loader: &'a DataLoader,
    config: &RunConfig,
    sampling: &SamplingConfig,
) -> SampledTrainer<'a> {
    let Trainer { manager, group, model, parameters, seed, .. } = *full;
    let manager: &Rc<_> = manager;
    let reduce = sampling.reduce;
    let edge_types = config.model.kind.uses_edge_types();
    SampledTrainer { manager, group, model, parameters, loader, reduce, edge_types, seed }
}
