//! Guards against: a model whose results on blocks of all neighbours differ from those on the full graph.

use std::rc::Rc;
use std::sync::Arc;

use sar::Result;
use sar::engine::comm::Ranks;
use sar::engine::tape::{EdgeSource, Graph, GraphShardManager, ParameterBuilder, Tape};
use sar::formats::dgl::Partition;
use sar::io::IoCounters;
use sar::load::{EdgeData, EdgeFeatures, NodeColumn, NodeFeatures, Normalize, Shards};
use sar::nn::{
    AppnpConfig, Gcn2Options, GcnOptions, GinOptions, Heads, JumpMode, ModelConfig, ModelKind,
    Norm, NormKind, Regularizer, RgcnOptions, SageAggregator, SageOptions, Sizes, TagOptions,
};
use sar::sampling::loaders::{DataLoader, DataLoaderConfig, DistNeighborSampler};
use sar::sampling::stores::{DistGraph, Fanout, IndexConfig};
use sar::testing::{RankContext, on_ranks};
use sar::train::{EDGE_FEATURES, FEATURES, block_graphs};
use tch::{Kind, Tensor};

use crate::common;
use crate::support::open;

/// Layers without attention that a relation can have.
pub(crate) fn kinds_of_relations() -> Vec<ModelKind> {
    let mut kinds = vec![ModelKind::Sage(SageOptions {
        aggregator: SageAggregator::Pool,
        edge_weights: false,
    })];
    for edge_weights in [false, true] {
        for aggregator in [SageAggregator::Mean, SageAggregator::Gcn] {
            kinds.push(ModelKind::Sage(SageOptions { aggregator, edge_weights }));
        }
        for norm in [Norm::Both, Norm::Left, Norm::Right, Norm::None] {
            kinds.push(ModelKind::Gcn(GcnOptions { norm, edge_weights }));
        }
        kinds.push(ModelKind::Gin(GinOptions { learn_eps: true, edge_weights }));
    }
    kinds
}

/// Layers of GATv2 that take edge features.
const WITH_EDGE_FEATURES: Heads = Heads { heads: 3, attention_dropout: 0.0 };

/// Every layer, with the edge weights where it supports them.
pub(crate) fn kinds() -> Vec<ModelKind> {
    let mut kinds = kinds_of_relations();
    let heads = Heads { heads: 2, attention_dropout: 0.0 };
    kinds.extend([ModelKind::Gat(heads), ModelKind::Gatv2(heads)]);
    kinds.extend([ModelKind::Egat(heads), ModelKind::Gatv2(WITH_EDGE_FEATURES)]);
    kinds.push(ModelKind::Appnp(AppnpConfig { hops: 3, alpha: 0.1, edge_weights: false }));
    kinds.push(ModelKind::Rgcn(RgcnOptions { regularizer: Regularizer::Basis(2) }));
    kinds.push(ModelKind::Tag(TagOptions { hops: 2, edge_weights: false }));
    kinds.push(ModelKind::Gcn2(Gcn2Options::default()));
    kinds
}

/// Width of the edge features that the layer takes here.
pub(crate) fn edge_feats(kind: ModelKind) -> i64 {
    match kind {
        ModelKind::Egat(_) => 1,
        ModelKind::Gatv2(heads) => i64::from(heads == WITH_EDGE_FEATURES),
        _ => 0,
    }
}

/// The edge weights of a partition as features of a graph.
pub(crate) fn edge_source(partition: &Partition, key: &str, kind: Kind) -> Result<EdgeSource> {
    let edges = EdgeFeatures::find(partition, key, IoCounters::default())?;
    let read = Rc::new(move |ids: &[u64]| edges.read(ids, kind));
    Ok(EdgeSource { width: 1, kind, read })
}

/// The largest difference between the logits of own nodes on the full graph and on blocks, for logits that are larger than 1
/// relative to the largest of them.
fn difference(
    context: &RankContext,
    graph: &Arc<DistGraph>,
    weight: &str,
    models: &[ModelConfig],
) -> Result<f64> {
    let (manager, group) = (&context.manager, &context.group);
    let partition = Partition::open(graph.config(), context.rank)?;
    let columns = EdgeData { weight: Some(weight), types: true, ids: true, within: None };
    let Shards { shards, sources } = Shards::load(&partition, columns)?;
    let shards = shards.into_iter().map(|shard| manager.track_shard("shard", shard)).collect();
    let own = graph.book().node_range(context.rank);
    let mut full = GraphShardManager::new(manager, group, shards, own.start, sources)?;
    let counters = IoCounters::default();
    full.set_edge_source(edge_source(&partition, weight, Kind::Float)?);
    let features =
        NodeFeatures::find(&partition, None, Normalize::Row)?.read(Kind::Float, &counters)?;
    let width = features.size()[1];
    let features = manager.track("features", features);

    let num_rels = graph.book().etypes().len();
    let mut largest = 0.0_f64;
    for config in models {
        let mut builder = ParameterBuilder::new(3);
        let edge_feats = edge_feats(config.kind);
        let sizes = Sizes { in_feats: width, out_feats: 4, num_rels, edge_feats };
        let model = config.build(&mut builder, sizes)?;
        let parameters = Rc::new(builder.finish(manager, Kind::Float)?);
        let logits = |graphs: &[&dyn Graph], x: &Tensor| -> Result<Tensor> {
            let x = manager.track("x", x.copy());
            let mut tape = Tape::evaluation(manager, &parameters);
            let x = tape.input(&x);
            let y = model.forward(&mut tape, graphs, x)?;
            let y = y.pin()?.copy();
            Ok(y)
        };
        let expected = {
            let mut tape = Tape::evaluation(manager, &parameters);
            let x = tape.input(&features);
            let y = model.forward(&mut tape, &vec![&full as &dyn Graph; config.num_graphs()], x)?;
            let rows = y.pin()?;
            rows.copy()
        };
        let column = NodeColumn::features(graph.config(), None, Normalize::Row, counters.clone())?;
        let sampler = DistNeighborSampler::new(vec![Fanout::ALL; config.num_graphs()])?;
        let sampler = sampler.input_node_feature(FEATURES, column);
        let edges = EdgeFeatures::find(graph.config(), weight, counters.clone())?;
        let sampler = sampler.edge_feature(EDGE_FEATURES, edges);
        let sampler = sampler.in_degrees(config.kind.facts().in_degrees);
        let order = DataLoaderConfig { batch_size: 5, shuffle: false, ..Default::default() };
        // Shuffled seeds would also do; in their order the batches are rows of the expected logits.
        let loader = DataLoader::new(
            graph.clone(),
            own.clone().collect(),
            sampler,
            order,
            Ranks { group: &**group, hooks: &**manager },
        )?;
        let mut rows = Vec::new();
        for batch in loader.epoch(1) {
            let batch = batch?;
            let graphs = block_graphs(manager, &**graph, &batch, true)?;
            let graphs: Vec<&dyn Graph> = graphs.iter().map(|graph| graph as &dyn Graph).collect();
            rows.push(logits(&graphs, batch.input(FEATURES)?)?);
        }
        let own_batches = (own.end - own.start).div_ceil(5) as usize;
        let ours = Tensor::cat(&rows[..own_batches], 0);
        let scale = expected.abs().max().double_value(&[]).max(1.0);
        largest = largest.max((ours - expected).abs().max().double_value(&[]) / scale);
    }
    Ok(largest)
}

fn check(json: &str, weight: &str) {
    let keys = IndexConfig {
        weight: Some(weight.to_owned()),
        probability: None,
        ends: false,
        drawn: false,
    };
    let opened = open(&common::repository(json), &keys);
    // Widths that grow and that shrink take the two orders of multiplying and aggregating.
    let config = |kind, hidden, residual| ModelConfig {
        kind,
        layers: 3,
        hidden,
        dropout: 0.5,
        norm: NormKind::Layer,
        residual,
        jumping_knowledge: if residual { JumpMode::Cat } else { JumpMode::None },
    };
    let widths = |kind| [config(kind, 3, false), config(kind, 16, true)];
    let models: Vec<_> = kinds().into_iter().flat_map(widths).collect();
    let work = |context| difference(&context, &opened.graph, weight, &models);
    let differences = on_ranks(2, 1, work).unwrap();
    assert!(differences.iter().all(|d| *d < 1e-5), "{differences:?}");
}

#[test]
fn every_layer_gives_on_blocks_of_all_neighbours_what_it_gives_on_the_full_graph() {
    check("data/karate/karate.json", "weight");
}

#[test]
fn so_it_does_with_several_types_of_nodes_and_edges() {
    check("tests/fixtures/hetero/g.json", "w");
}
