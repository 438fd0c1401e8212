//! Predicts friendships of the karate club: GraphSAGE on sampled neighbourhoods without the edges that are to be predicted,
//! dot-product scores, random negatives; AUC and mean reciprocal rank of held-out edges. A worker process per partition; the budget
//! changes no bit.
//!
//!     cargo run --release --example link_prediction

use std::collections::HashMap;
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;

use sar::engine::tape::{Graph, ParameterBuilder, ParameterSet, Policy, Tape, Var};
use sar::formats::dgl::config::PartitionConfig;
use sar::load::{NodeColumn, Normalize};
use sar::nn::{
    LinkScore, Model, ModelConfig, Optimizer, OptimizerConfig, Sizes, Stack, auc, link_loss,
    mean_reciprocal_rank,
};
use sar::run::{Job, Rank, launch};
use sar::sampling::loaders::{
    DataLoaderConfig, DistEdgeDataLoader, DistNeighborSampler, EdgeMiniBatch, Exclude,
    NegativeSampler,
};
use sar::sampling::stores::{DistGraph, Fanout, GraphSource, IndexConfig};
use sar::train::{block_graphs, seed_of_step};
use tch::{Kind, Tensor};

const PARTS: &str = "data/karate/karate.json";
const NEGATIVES: usize = 5;
const EPOCHS: u32 = 30;

/// Scores of held-out edges, scores of their negatives, and the parameters.
type Outcome = [Vec<f32>; 3];

fn main() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let partitions = PartitionConfig::open(Path::new(PARTS))?;
    let index = IndexConfig { ends: true, ..IndexConfig::default() };
    let graph = Arc::new(DistGraph::create(&partitions, &index, folder.path())?);
    let run = |budget: &str| -> anyhow::Result<Vec<Outcome>> {
        let mut job = Job::new(PARTS);
        job.resources.memory_budget = budget.parse()?;
        Ok(launch(&job, &mut |_| {}, |rank| train(rank, &graph))?)
    };
    let ranks = run("min")?;
    assert!(ranks == run("4GiB")?, "the budget changes no bit");
    let all = |i: usize| ranks.iter().flat_map(|of| of[i].iter().copied()).collect::<Vec<f32>>();
    let (positive, negative) = (all(0), all(1));
    let (auc, mrr) = (auc(&positive, &negative), mean_reciprocal_rank(&positive, &negative));
    println!("AUC {:.3}, MRR {:.3}", auc.unwrap_or(f64::NAN), mrr.unwrap_or(f64::NAN));
    assert!(auc > Some(0.6) && mrr > Some(0.4), "better than chance");
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
    LinkScore::Dot.forward(tape, &h, [&sources, &destinations], None)
}

fn train(rank: &Rank<'_>, graph: &Arc<DistGraph>) -> sar::Result<Outcome> {
    let manager = rank.manager();
    let loader = |edges: Vec<u64>, shuffle| {
        let counters = manager.store().counters().clone();
        let features = NodeColumn::features(graph.config(), None, Normalize::None, counters)?;
        let sampler = DistNeighborSampler::new(vec![Fanout::Total(10); 2])?;
        let sampler = sampler.input_node_feature("features", features);
        let config = DataLoaderConfig { batch_size: 32, shuffle, ..DataLoaderConfig::default() };
        let exclude = exclude(graph)?;
        let negatives = Some(NegativeSampler::PerSourceUniform(NEGATIVES));
        let graph = graph.clone();
        DistEdgeDataLoader::new(graph, edges, sampler, exclude, negatives, config, rank.ranks())
    };
    let own = graph.book().edge_range(rank.index());
    let (test, train) = own.partition(|edge| edge % 5 == 0);
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
    for epoch in 1..=EPOCHS {
        let mut sums = [0.0, 0.0];
        for (step, batch) in train.epoch(epoch).enumerate() {
            let batch = batch?;
            let blocks = block_graphs(manager, &**graph, &batch.neighbourhood, false)?;
            let blocks: Vec<&dyn Graph> = blocks.iter().map(|block| block as &dyn Graph).collect();
            let (policy, seed) = (Policy::default(), seed_of_step(0, step));
            let mut tape = Tape::training(manager, &parameters, policy, seed, epoch);
            let x = features(rank, &mut tape, &batch)?;
            let scores = scores(&mut tape, &model, (&blocks, x), &batch)?;
            let (loss, gradient) = link_loss(&*scores.pin()?, batch.edges.len() as i64)?;
            let gradients = tape.backward(scores, gradient)?;
            let gathered = rank.gather_grads(&parameters, gradients, &[loss, 1.0])?;
            optimizer.step(&parameters, gathered.gradient / rank.world_size() as f64)?;
            sums.iter_mut().zip(gathered.numbers).for_each(|(sum, number)| *sum += number);
        }
        rank.end_epoch(epoch, &[("loss", sums[0] / sums[1])])?;
    }
    let [positive, negative] = score(rank, &test, &model, &parameters)?;
    let weights = Vec::try_from(parameters.flat().pin()?.f_flatten(0, -1)?)?;
    Ok([positive, negative, weights])
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

fn features(rank: &Rank<'_>, tape: &mut Tape<'_>, batch: &EdgeMiniBatch) -> sar::Result<Var> {
    let x = batch.neighbourhood.input("features")?.shallow_clone();
    Ok(tape.input(&rank.manager().track("features", x)))
}

/// Scores of the loader's edges and of their negatives.
fn score(
    rank: &Rank<'_>,
    test: &DistEdgeDataLoader,
    model: &Stack,
    parameters: &Rc<ParameterSet>,
) -> sar::Result<[Vec<f32>; 2]> {
    let (mut positive, mut negative) = (Vec::new(), Vec::new());
    for batch in test.epoch(1).take(test.own_len()) {
        let batch = batch?;
        let blocks = block_graphs(rank.manager(), test.graph(), &batch.neighbourhood, false)?;
        let blocks: Vec<&dyn Graph> = blocks.iter().map(|block| block as &dyn Graph).collect();
        let mut tape = Tape::evaluation(rank.manager(), parameters);
        let x = features(rank, &mut tape, &batch)?;
        let scores = scores(&mut tape, model, (&blocks, x), &batch)?;
        let values = Vec::<f32>::try_from(scores.pin()?.flatten(0, -1))?;
        let (edges, others) = values.split_at(batch.edges.len());
        positive.extend_from_slice(edges);
        negative.extend_from_slice(others);
    }
    Ok([positive, negative])
}
