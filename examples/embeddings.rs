//! Classifies nodes without features: each gets a row of a DistEmbedding, which is learned along with the model. The rows lie
//! on disk; a step reads and updates those of its batch. A worker process per partition; the budget changes no bit.
//!
//!     cargo run --release --example embeddings

use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;

use sar::engine::tape::{Graph, ParameterBuilder, Policy, Tape};
use sar::formats::dgl::config::PartitionConfig;
use sar::load::NodeColumn;
use sar::nn::{
    Loss, Model, ModelConfig, Optimizer, OptimizerConfig, ScoreSums, Sizes, Stack, Task,
};
use sar::run::{Job, Rank, launch};
use sar::sampling::loaders::{DataLoader, DataLoaderConfig, DistNeighborSampler};
use sar::sampling::stores::{
    Adam, DistEmbedding, DistGraph, DistTensorConfig, Fanout, IndexConfig, PartitionPolicy,
    SparseAdam,
};
use sar::train::block_graphs;
use tch::{Kind, Tensor};

const PARTS: &str = "data/karate/karate.json";
const DIM: usize = 16;
const EPOCHS: u32 = 15;

fn main() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let partitions = PartitionConfig::open(Path::new(PARTS))?;
    let graph = DistGraph::create(&partitions, &IndexConfig::default(), folder.path())?;
    let graph = Arc::new(graph);
    let run = |budget: &str| -> anyhow::Result<_> {
        let rows = folder.path().join(budget);
        std::fs::create_dir(&rows)?;
        let mut job = Job::new(PARTS);
        job.resources.memory_budget = budget.parse()?;
        Ok(launch(&job, &mut |_| {}, |rank| train(rank, &graph, &rows))?.swap_remove(0))
    };
    let (right, weights) = run("min")?;
    println!("right predictions of {} nodes in each epoch: {right:?}", graph.num_nodes(None)?);
    assert_eq!(run("4GiB")?, (right.clone(), weights), "the budget changes no bit");
    assert!(right.last() > Some(&32.0), "{right:?}");
    Ok(())
}

/// Initial values: small, and a function of the row only.
fn start(first: u64, rows: &mut [f32]) {
    for (i, value) in rows.iter_mut().enumerate() {
        *value = 0.3 * (first as f32 * 1.7 + i as f32 * 2.3).sin();
    }
}

/// Right predictions of all ranks in each epoch, and the parameters.
fn train(
    rank: &Rank<'_>,
    graph: &Arc<DistGraph>,
    folder: &Path,
) -> sar::Result<(Vec<f64>, Vec<f32>)> {
    let (manager, ranks) = (rank.manager(), rank.ranks());
    let config = DistTensorConfig {
        folder,
        name: Some("member"),
        row_shape: &[DIM],
        policy: PartitionPolicy::nodes(graph.book(), "_N")?,
        persistent: false,
    };
    let embedding = DistEmbedding::on_all_ranks(graph.book(), &config, start, ranks)?;
    let mut sparse = SparseAdam::new(vec![embedding], Adam::new(0.05), ranks)?;

    let labels = NodeColumn::labels(graph.config(), None, manager.store().counters().clone())?;
    let sampler = DistNeighborSampler::new(vec![Fanout::Total(8); 2])?;
    let sampler = sampler.output_node_feature("labels", labels);
    let own = graph.book().node_range(rank.index()).collect();
    let config = DataLoaderConfig { batch_size: 6, ..DataLoaderConfig::default() };
    let loader = DataLoader::new(graph.clone(), own, sampler, config, ranks)?;

    let config = ModelConfig { layers: 2, hidden: 16, dropout: 0.0, ..ModelConfig::default() };
    let sizes = Sizes { in_feats: DIM as i64, out_feats: 4, num_rels: 1, edge_feats: 0 };
    let mut builder = ParameterBuilder::new(0);
    let model = Stack::new(&mut builder, &config, sizes)?;
    let parameters = Rc::new(builder.finish(manager, Kind::Float)?);
    let loss = Loss::new(Task::Classification);
    let mut dense = Optimizer::new(OptimizerConfig::default(), manager)?;

    let mut right_by_epoch = Vec::new();
    for epoch in 1..=EPOCHS {
        let mut right = 0.0;
        for batch in loader.epoch(epoch) {
            let batch = batch?;
            let embedding = &mut sparse.embeddings_mut()[0];
            let rows = embedding.lookup(batch.input_nodes())?;
            let rows = Tensor::from_slice(&rows).view([-1, DIM as i64]);
            let rows = manager.track("rows", rows);

            let blocks = block_graphs(manager, &**graph, &batch, false)?;
            let blocks: Vec<&dyn Graph> = blocks.iter().map(|block| block as &dyn Graph).collect();
            let mut tape = Tape::training(manager, &parameters, Policy::default(), 0, epoch);
            let x = tape.trainable_input(&rows);
            let logits = model.forward(&mut tape, &blocks, x.clone())?;
            let labels = batch.output("labels")?;
            let all = labels.ge(0);
            let divisor = labels.size()[0] as f64;
            let (_, gradient) = loss.forward(&*logits.pin()?, labels, &all, divisor)?;
            right += ScoreSums::new(loss.task(), &*logits.pin()?, labels, &all)?.0[0];

            let gradients = tape.backward(logits, gradient)?;
            if let Some(gradient) = gradients.input(&x) {
                let values = Vec::<f32>::try_from(gradient.pin()?.flatten(0, -1))?;
                embedding.accumulate(batch.input_nodes(), &values)?;
            }
            sparse.step(ranks)?;
            let gathered = rank.gather_grads(&parameters, gradients, &[])?;
            dense.step(&parameters, gathered.gradient)?;
        }
        right_by_epoch.push(rank.sum(&[right])?[0]);
        rank.end_epoch(epoch, &[("right", right_by_epoch[epoch as usize - 1])])?;
    }
    Ok((right_by_epoch, Vec::try_from(parameters.flat().pin()?.f_flatten(0, -1)?)?))
}
