//! Predicts friendships of the karate club: GraphSAGE on sampled neighbourhoods without the edges that are to be predicted,
//! dot-product scores, random negatives; AUC and mean reciprocal rank of held-out edges.
//!
//!     cargo run --release --example link_prediction

use std::collections::HashMap;
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;

use sar::engine::comm::{NoHooks, Ranks};
use sar::engine::tape::{Graph, ParameterBuilder, ParameterSet, Policy, Tape, Var};
use sar::formats::dgl::config::PartitionConfig;
use sar::io::IoCounters;
use sar::load::{NodeColumn, Normalize};
use sar::nn::{
    LinkScore, Model, ModelConfig, Optimizer, OptimizerConfig, Sizes, Stack, auc, link_loss,
    mean_reciprocal_rank,
};
use sar::sampling::loaders::{
    DataLoaderConfig, DistEdgeDataLoader, DistNeighborSampler, EdgeMiniBatch, Exclude,
    NegativeSampler,
};
use sar::sampling::stores::{DistGraph, Fanout, IndexConfig};
use sar::testing::{RankContext, on_ranks};
use sar::train::block_graphs;
use tch::{Kind, Tensor};

const NEGATIVES: usize = 5;

fn main() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let partitions = PartitionConfig::open(Path::new("data/karate/karate.json"))?;
    let index = IndexConfig { ends: true, ..IndexConfig::default() };
    let graph = Arc::new(DistGraph::create(&partitions, &index, folder.path())?);
    on_ranks(1, 1, |context| rank(&context, &graph))?;
    Ok(())
}

/// Scores of a batch's pairs, with those of edges first.
fn scores<'a>(
    tape: &mut Tape<'a>,
    model: &dyn Model,
    (blocks, x): (&[&'a dyn Graph], Var),
    batch: &EdgeMiniBatch,
) -> sar::Result<Var> {
    let h = model.forward(tape, blocks, x)?;
    let [sources, destinations] = batch.positive.tensors()?;
    let [other_sources, other_destinations] = batch.negative.tensors()?;
    let sources = Tensor::cat(&[sources, other_sources], 0);
    let destinations = Tensor::cat(&[destinations, other_destinations], 0);
    LinkScore::Dot.forward(tape, &h, [&sources, &destinations])
}

fn rank(context: &RankContext, graph: &Arc<DistGraph>) -> sar::Result<()> {
    let manager = &context.manager;
    let loader = |edges: Vec<u64>, shuffle| {
        let counters = IoCounters::default();
        let features = NodeColumn::features(graph.config(), None, Normalize::None, counters)?;
        let sampler = DistNeighborSampler::new(vec![Fanout::Total(10); 2])?;
        let sampler = sampler.input_node_feature("features", features);
        let config = DataLoaderConfig { batch_size: 32, shuffle, ..DataLoaderConfig::default() };
        let exclude = exclude(graph)?;
        let negatives = Some(NegativeSampler::PerSourceUniform(NEGATIVES));
        let ranks = Ranks { group: &*context.group, hooks: &NoHooks };
        DistEdgeDataLoader::new(graph.clone(), edges, sampler, exclude, negatives, config, ranks)
    };
    let (test, train) = (0..graph.num_edges(None)?).partition(|edge| edge % 5 == 0);
    let (train, test) = (loader(train, true)?, loader(test, false)?);

    let config = ModelConfig { layers: 2, hidden: 32, dropout: 0.1, ..ModelConfig::default() };
    let in_feats = graph.ndata("features")?.width() as i64;
    let mut builder = ParameterBuilder::new(0);
    let model = Stack::new(
        &mut builder,
        &config,
        Sizes { in_feats, out_feats: 16, num_rels: 1, edge_feats: 0 },
    )?;
    let parameters = Rc::new(builder.finish(manager, Kind::Float)?);
    let mut optimizer = Optimizer::new(OptimizerConfig::default(), manager)?;
    for epoch in 1..=30 {
        let mut losses = Vec::new();
        for batch in train.epoch(epoch) {
            let batch = batch?;
            let blocks = block_graphs(manager, &**graph, &batch.neighbourhood, false)?;
            let blocks: Vec<&dyn Graph> = blocks.iter().map(|block| block as &dyn Graph).collect();
            let mut tape = Tape::training(manager, &parameters, Policy::default(), 0, epoch);
            let x = features(context, &mut tape, &batch)?;
            let scores = scores(&mut tape, &model, (&blocks, x), &batch)?;
            let (loss, gradient) = link_loss(&*scores.pin()?, batch.edges.len() as i64)?;
            let gradients = tape.backward(scores, gradient)?;
            optimizer.step(&parameters, parameters.flat_gradients(&gradients)?)?;
            losses.push(loss);
        }
        if epoch % 10 == 0 {
            let mean = losses.iter().sum::<f64>() / losses.len() as f64;
            println!(
                "epoch {epoch}: loss {mean:.3}, {}",
                measure(context, &test, &model, &parameters)?
            );
        }
    }
    Ok(())
}

/// Hides an edge together with its reverse, as the club's edges go both ways.
fn exclude(graph: &DistGraph) -> sar::Result<Exclude> {
    let all: Vec<u64> = (0..graph.num_edges(None)?).collect();
    let (sources, destinations) = graph.find_edges(&all)?;
    let ends = sources.iter().copied().zip(destinations.iter().copied());
    let ids: HashMap<(u64, u64), u64> = ends.zip(all).collect();
    let reverse = move |edge: u64| {
        let (source, destination) = (sources[edge as usize], destinations[edge as usize]);
        ids.get(&(destination, source)).copied().unwrap_or(edge)
    };
    Ok(Exclude::WithReverse(Arc::new(reverse)))
}

fn features(context: &RankContext, tape: &mut Tape<'_>, batch: &EdgeMiniBatch) -> sar::Result<Var> {
    let x = batch.neighbourhood.input("features")?.shallow_clone();
    Ok(tape.input(&context.manager.track("features", x)))
}

/// AUC and mean reciprocal rank of the loader's edges among their negatives.
fn measure(
    context: &RankContext,
    test: &DistEdgeDataLoader,
    model: &Stack,
    parameters: &Rc<ParameterSet>,
) -> sar::Result<String> {
    let (mut positive, mut negative) = (Vec::new(), Vec::new());
    for batch in test.epoch(1) {
        let batch = batch?;
        let blocks = block_graphs(&context.manager, test.graph(), &batch.neighbourhood, false)?;
        let blocks: Vec<&dyn Graph> = blocks.iter().map(|block| block as &dyn Graph).collect();
        let mut tape = Tape::evaluation(&context.manager, parameters);
        let x = features(context, &mut tape, &batch)?;
        let scores = scores(&mut tape, model, (&blocks, x), &batch)?;
        let values = Vec::<f32>::try_from(scores.pin()?.flatten(0, -1))?;
        let (edges, others) = values.split_at(batch.edges.len());
        positive.extend_from_slice(edges);
        negative.extend_from_slice(others);
    }
    let auc = auc(&positive, &negative).unwrap_or(f64::NAN);
    let mrr = mean_reciprocal_rank(&positive, &negative).unwrap_or(f64::NAN);
    Ok(format!("AUC {auc:.3}, MRR {mrr:.3}"))
}
