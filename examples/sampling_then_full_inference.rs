//! Trains GraphSAGE on sampled neighbourhoods and, after each epoch, infers on the full graph with the same model: the loop
//! of SAR's guide to distributed sampling. A worker process per partition; the budget changes no bit.
//!
//!     cargo run --release --example sampling_then_full_inference

use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;

use sar::engine::tape::{Graph, ParameterBuilder, Policy, Tape};
use sar::formats::dgl::config::PartitionConfig;
use sar::load::{EdgeData, NodeColumn, Normalize};
use sar::nn::{
    Loss, Model, ModelConfig, Optimizer, OptimizerConfig, ScoreSums, Sizes, Stack, Task,
};
use sar::run::{Job, Rank, launch};
use sar::sampling::loaders::{DataLoader, DataLoaderConfig, DistNeighborSampler};
use sar::sampling::stores::{DistGraph, Fanout, IndexConfig, SplitBy, TrainerRank, node_split};
use sar::train::{block_graphs, seed_of_step};
use tch::Kind;

const PARTS: &str = "data/karate/karate.json";
const EPOCHS: u32 = 30;

fn main() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let partitions = PartitionConfig::open(Path::new(PARTS))?;
    let graph = DistGraph::create(&partitions, &IndexConfig::default(), folder.path())?;
    let graph = Arc::new(graph);
    let run = |budget: &str| -> anyhow::Result<_> {
        let mut job = Job::new(PARTS);
        job.resources.memory_budget = budget.parse()?;
        Ok(launch(&job, &mut |_| {}, |rank| train(rank, &graph))?.swap_remove(0))
    };
    let (accuracies, weights) = run("min")?;
    println!("test accuracy after each epoch: {accuracies:.3?}");
    assert_eq!(run("4GiB")?, (accuracies.clone(), weights), "the budget changes no bit");
    assert!(accuracies.last() > Some(&0.7), "{accuracies:?}");
    Ok(())
}

/// Accuracy on the test nodes after each epoch, and the parameters.
fn train(rank: &Rank<'_>, graph: &Arc<DistGraph>) -> sar::Result<(Vec<f64>, Vec<f32>)> {
    let manager = rank.manager();
    let counters = manager.store().counters().clone();

    // The partition, and the full graph.
    let full_graph = rank.graph(EdgeData::default())?;
    let (features, labels, masks) = (rank.features(None)?, rank.labels(None)?, rank.masks()?);

    // The sampler, and its seeds.
    let features_of_all =
        NodeColumn::features(graph.config(), None, Normalize::None, counters.clone())?;
    let labels_of_all = NodeColumn::labels(graph.config(), None, counters)?;
    let sampler = DistNeighborSampler::new(vec![Fanout::Total(5), Fanout::Total(3)])?
        .input_node_feature("features", features_of_all)
        .output_node_feature("labels", labels_of_all);
    let trainer = TrainerRank { rank: rank.index(), num_trainers: rank.world_size() };
    let mask = graph.ndata("train_mask")?;
    let train_nodes = node_split(&mask, graph.book(), None, trainer, SplitBy::Even)?;
    let config = DataLoaderConfig { batch_size: 4, ..DataLoaderConfig::default() };
    let loader = DataLoader::new(graph.clone(), train_nodes, sampler, config, rank.ranks())?;

    // The model. Ranks draw the same initial values, as they have the same seed.
    let config = ModelConfig { layers: 2, hidden: 16, dropout: 0.2, ..ModelConfig::default() };
    let sizes = Sizes { in_feats: features.size()[1], out_feats: 4, num_rels: 1, edge_feats: 0 };
    let mut builder = ParameterBuilder::new(0);
    let model = Stack::new(&mut builder, &config, sizes)?;
    let parameters = Rc::new(builder.finish(manager, Kind::Float)?);
    let loss = Loss::new(Task::Classification);
    let mut optimizer = Optimizer::new(OptimizerConfig::default(), manager)?;

    let mut accuracies = Vec::new();
    for epoch in 1..=EPOCHS {
        for (step, batch) in loader.epoch(epoch).enumerate() {
            let batch = batch?;
            let blocks = block_graphs(manager, &**graph, &batch, false)?;
            let blocks: Vec<&dyn Graph> = blocks.iter().map(|block| block as &dyn Graph).collect();
            let (policy, seed) = (Policy::default(), seed_of_step(0, step));
            let mut tape = Tape::training(manager, &parameters, policy, seed, epoch);
            let x = manager.track("features", batch.input("features")?.shallow_clone());
            let x = tape.input(&x);
            let logits = model.forward(&mut tape, &blocks, x)?;
            let labels = batch.output("labels")?;
            let all = labels.ge(0);
            let divisor = labels.size()[0] as f64;
            let (_, gradient) = loss.forward(&*logits.pin()?, labels, &all, divisor)?;
            let gradients = tape.backward(logits, gradient)?;
            let gathered = rank.gather_grads(&parameters, gradients, &[])?;
            optimizer.step(&parameters, gathered.gradient)?;
        }

        // Inference, with the same model and the full graph for every layer.
        let (right, total) = {
            let mut tape = Tape::evaluation(manager, &parameters);
            let x = tape.input(&features);
            let logits = model.forward(&mut tape, &[&full_graph as &dyn Graph; 2], x)?;
            let (logits, labels, test) = (logits.pin()?, labels.pin()?, masks.test.pin()?);
            let sums = ScoreSums::new(loss.task(), &logits, &labels, &test)?;
            (sums.0[0], test.f_sum(Kind::Double)?.f_double_value(&[])?)
        };
        let counts = rank.sum(&[right, total])?;
        accuracies.push(counts[0] / counts[1]);
        rank.end_epoch(epoch, &[("test_acc", counts[0] / counts[1])])?;
    }
    Ok((accuracies, Vec::try_from(parameters.flat().pin()?.f_flatten(0, -1)?)?))
}
