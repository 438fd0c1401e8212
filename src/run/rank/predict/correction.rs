//! The labels and edges by which predictions are corrected and smoothed.

use tch::{Kind, Tensor};

use crate::engine::tape::GraphShardManager;
use crate::engine::tensor;
use crate::load::{Shards, load_edges_within, load_labels, load_mask};
use crate::nn::KnownLabels;
use crate::run::config::RunConfig;
use crate::run::rank::labelled::Labelled;
use crate::run::rank::setup::RankSetup;
use crate::words::error::{Error, Result};

/// The classes of the training nodes among the labelled ones.
pub(super) fn known_labels(
    setup: &RankSetup,
    run: &RunConfig,
    labelled: &Labelled,
    classes: i64,
) -> Result<KnownLabels> {
    let (partition, key) = (&setup.partition, run.keys.labels.as_deref());
    let rows = |all: &Tensor| -> Result<Tensor> {
        tensor::copy(&all.f_narrow(0, labelled.first_row, labelled.nodes.own as i64)?)
    };
    let labels = rows(&load_labels(partition, key)?)?;
    let mask = match load_mask(partition, run.keys.train_mask.as_deref(), "train_mask")? {
        Some(mask) => rows(&mask)?,
        None => tensor::zeros(&labels.size(), Kind::Bool)?,
    };
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

/// The graph of all edges between nodes of a type. One collective.
pub(super) fn graph_within(setup: &RankSetup, ntype: usize) -> Result<GraphShardManager> {
    let RankSetup { manager, group, partition } = setup;
    let Shards { shards, sources } = load_edges_within(partition, ntype)?;
    let shards = shards.into_iter().map(|shard| manager.track_shard("shard", shard)).collect();
    let first_node = partition.book().type_nodes(partition.part(), ntype).first;
    GraphShardManager::new(manager, group, shards, first_node, sources)
}
