//! Trains GraphSAGE on sampled neighbourhoods and, after each epoch, infers on the full graph with the same model: the loop
//! of SAR's guide to distributed sampling. Two ranks, as threads of this process.
//!
//!     cargo run --release --example sampling_then_full_inference

use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;

use sar::engine::comm::{NoHooks, Ranks, ReduceOp, all_reduce, gather_grads};
use sar::engine::tape::{Graph, GraphShardManager, ParameterBuilder, Policy, Tape};
use sar::formats::dgl::Partition;
use sar::formats::dgl::config::PartitionConfig;
use sar::io::IoCounters;
use sar::load::{EdgeData, NodeColumn, NodeFeatures, Normalize, Shards, load_labels, load_mask};
use sar::nn::{
    Loss, Model, ModelConfig, Optimizer, OptimizerConfig, ScoreSums, Sizes, Stack, Task,
};
use sar::sampling::loaders::{DataLoader, DataLoaderConfig, DistNeighborSampler};
use sar::sampling::stores::{DistGraph, Fanout, IndexConfig, SplitBy, TrainerRank, node_split};
use sar::testing::{RankContext, on_ranks};
use sar::train::block_graphs;
use tch::{Kind, Tensor};

const EPOCHS: u32 = 10;

fn main() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let partitions = PartitionConfig::open(Path::new("data/karate/karate.json"))?;
    let graph = DistGraph::create(&partitions, &IndexConfig::default(), folder.path())?;
    let graph = Arc::new(graph);
    on_ranks(2, 2, |context| rank(&context, &graph))?;
    Ok(())
}

fn rank(context: &RankContext, graph: &Arc<DistGraph>) -> sar::Result<()> {
    let RankContext { rank, group, manager } = context;
    let counters = IoCounters::default();

    // The partition, and the full graph.
    let partition = Partition::open(graph.config(), *rank)?;
    let Shards { shards, sources } = Shards::load(&partition, EdgeData::default())?;
    let shards = shards.into_iter().map(|shard| manager.track_shard("shard", shard)).collect();
    let _first = manager.partition_data.set(shards);
    let first_node = graph.book().node_range(*rank).start;
    let full_graph = GraphShardManager::new(manager, group, first_node, sources)?;
    let features = NodeFeatures::find(&partition, None, Normalize::None)?;
    let features = manager.track("features", features.read(Kind::Float, &counters)?);
    let labels = load_labels(&partition, None)?;

    // The sampler, and its seeds.
    let features_of_all =
        NodeColumn::features(graph.config(), None, Normalize::None, counters.clone())?;
    let labels_of_all = NodeColumn::labels(graph.config(), None, counters)?;
    let sampler = DistNeighborSampler::new(vec![Fanout::Total(5), Fanout::Total(3)])?
        .input_node_feature("features", features_of_all)
        .output_node_feature("labels", labels_of_all);
    let nodes: Vec<u64> = (0..graph.num_nodes(None)?).collect();
    let mut mask = vec![0; nodes.len()];
    graph.ndata("train_mask")?.read_i64(&nodes, &mut mask)?;
    let mask: Vec<bool> = mask.into_iter().map(|m| m != 0).collect();
    let trainer = TrainerRank { rank: *rank, num_trainers: 2 };
    let train_nodes = node_split(&mask, graph.book(), None, trainer, SplitBy::Even)?;
    let config = DataLoaderConfig { batch_size: 4, ..DataLoaderConfig::default() };
    let loader = DataLoader::new(
        graph.clone(),
        train_nodes,
        sampler,
        config,
        Ranks { group: &**group, hooks: &NoHooks },
    )?;

    // The model. Ranks draw the same initial values, as they have the same seed.
    let config = ModelConfig { layers: 2, hidden: 16, dropout: 0.2, ..ModelConfig::default() };
    let sizes = Sizes { in_feats: features.size()[1], out_feats: 4, num_rels: 1, edge_feats: 0 };
    let mut builder = ParameterBuilder::new(0);
    let model = Stack::new(&mut builder, &config, sizes)?;
    let parameters = Rc::new(builder.finish(manager, Kind::Float)?);
    let loss = Loss::new(Task::Classification);
    let mut optimizer = Optimizer::new(OptimizerConfig::default(), manager)?;

    for epoch in 1..=EPOCHS {
        for batch in loader.epoch(epoch) {
            let batch = batch?;
            let blocks = block_graphs(manager, &**graph, &batch, false)?;
            let blocks: Vec<&dyn Graph> = blocks.iter().map(|block| block as &dyn Graph).collect();
            let mut tape = Tape::training(manager, &parameters, Policy::default(), 0, epoch);
            let x = manager.track("features", batch.input("features")?.shallow_clone());
            let x = tape.input(&x);
            let logits = model.forward(&mut tape, &blocks, x)?;
            let labels = batch.output("labels")?;
            let all = labels.ge(0);
            let divisor = labels.size()[0] as f64;
            let (_, gradient) = loss.forward(&*logits.pin()?, labels, &all, divisor)?;
            let gradients = tape.backward(logits, gradient)?;
            let gradient = parameters.flat_gradients(&gradients)?;
            let gradient = gather_grads(&**group, vec![gradient], &NoHooks)?.remove(0);
            optimizer.step(&parameters, gradient)?;
        }

        // Inference, with the same model and the full graph for every layer.
        let (right, total) = {
            let mut tape = Tape::evaluation(manager, &parameters);
            let x = tape.input(&features);
            let logits = model.forward(&mut tape, &[&full_graph as &dyn Graph; 2], x)?;
            let test = load_mask(&partition, None, "test_mask")?;
            let test = test.unwrap_or_else(|| labels.ge(0));
            let sums = ScoreSums::new(loss.task(), &*logits.pin()?, &labels, &test)?;
            (sums.0[0], test.sum(Kind::Double).double_value(&[]))
        };
        let counts = Tensor::from_slice(&[right, total]);
        let counts = all_reduce(&**group, vec![counts], ReduceOp::Sum, &**manager)?.remove(0);
        if *rank == 0 {
            let counts = Vec::<f64>::try_from(counts)?;
            println!("epoch {epoch}: {} of {} test nodes right", counts[0], counts[1]);
        }
    }
    Ok(())
}
