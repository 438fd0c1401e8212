//! The program of DGL's guide to distributed training, line by line. Each comment is the line of Python that it stands for. A worker process
//! per partition takes the place of a trainer, and files that of servers.
//!
//!     cargo run --release --example from_dgl

use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;

use sar::engine::tape::{Graph, ParameterBuilder, ParameterSet, Policy, Tape, Var};
use sar::formats::dgl::config::PartitionConfig;
use sar::nn::{
    Loss, Model, ModelConfig, Optimizer, OptimizerConfig, ScoreSums, Sizes, Stack, Task,
};
use sar::run::{Job, Rank, launch};
use sar::sampling::loaders::{DataLoader, DataLoaderConfig, DistNeighborSampler, MiniBatch};
use sar::sampling::stores::{DistGraph, Fanout, IndexConfig, SplitBy, TrainerRank, node_split};
use sar::train::{block_graphs, seed_of_step};
use tch::{Kind, Tensor};

const PART_CONFIG: &str = "data/karate/karate.json";
const NUM_EPOCHS: u32 = 30;
const BATCH_SIZE: usize = 8;

fn main() -> anyhow::Result<()> {
    // g = DistGraph('graph_name', 'part_config.json')
    let folder = tempfile::tempdir()?;
    let partitions = PartitionConfig::open(Path::new(PART_CONFIG))?;
    let g = DistGraph::create(&partitions, &IndexConfig::default(), folder.path())?;
    let g = Arc::new(g);
    // dgl.distributed.initialize('ip_config.txt'); th.distributed.init_process_group(backend='gloo')
    let run = |budget: &str| -> anyhow::Result<_> {
        let mut job = Job::new(PART_CONFIG);
        job.resources.memory_budget = budget.parse()?;
        Ok(launch(&job, &mut |_| {}, |rank| train(rank, &g))?.swap_remove(0))
    };
    let (losses, accuracy, weights) = run("min")?;
    println!(
        "loss {:.3} to {:.3}, test accuracy {accuracy:.3}",
        losses[0],
        losses[losses.len() - 1]
    );
    assert!(losses[losses.len() - 1] < 0.5 * losses[0] && accuracy > 0.75);
    assert!(run("4GiB")? == (losses, accuracy, weights), "the budget changes no bit");
    Ok(())
}

/// The nodes of this rank among those of a mask: `node_split(g.ndata[key], pb, force_even=True)`
fn split(rank: &Rank<'_>, g: &DistGraph, key: &str) -> sar::Result<Vec<u64>> {
    let trainer = TrainerRank { rank: rank.index(), num_trainers: rank.world_size() };
    node_split(&g.ndata(key)?, g.book(), None, trainer, SplitBy::Even)
}

/// `DistDataLoader(dataset=nids, batch_size=batch_size, collate_fn=sampler.sample_blocks, shuffle=True, drop_last=False)`
fn dataloader(
    rank: &Rank<'_>,
    g: &Arc<DistGraph>,
    nids: Vec<u64>,
    fanouts: [Fanout; 2],
) -> sar::Result<DataLoader> {
    // sampler = NeighborSampler(g, [10, 25], dgl.distributed.sample_neighbors, device)
    let sampler = DistNeighborSampler::new(fanouts.to_vec())?;
    let config = DataLoaderConfig { batch_size: BATCH_SIZE, ..DataLoaderConfig::default() };
    DataLoader::new(g.clone(), nids, sampler, config, rank.ranks())
}

/// `load_subtensor(g, blocks[0].srcdata[dgl.NID], blocks[-1].dstdata[dgl.NID])`
fn load_subtensor(g: &DistGraph, batch: &MiniBatch) -> sar::Result<(Tensor, Tensor)> {
    let mut labels = vec![0; batch.seeds().len()];
    g.ndata("labels")?.read_i64(batch.seeds(), &mut labels)?;
    Ok((g.ndata("features")?.read(batch.input_nodes())?, Tensor::f_from_slice(&labels)?))
}

/// `batch_pred = model(blocks, batch_inputs)`
fn predict<'a>(
    rank: &Rank<'_>,
    tape: &mut Tape<'a>,
    model: &Stack,
    blocks: &'a [impl Graph],
    inputs: Tensor,
) -> sar::Result<Var> {
    let blocks: Vec<&dyn Graph> = blocks.iter().map(|block| block as &dyn Graph).collect();
    let x = tape.input(&rank.manager().track("inputs", inputs));
    model.forward(tape, &blocks, x)
}

/// The training script: the losses of all epochs, the accuracy on the test nodes, and the parameters.
fn train(rank: &Rank<'_>, g: &Arc<DistGraph>) -> sar::Result<(Vec<f64>, f64, Vec<f32>)> {
    // train_nid = node_split(g.ndata['train_mask'], pb, force_even=True)
    let train_nid = split(rank, g, "train_mask")?;
    let train = dataloader(rank, g, train_nid, [Fanout::Total(10), Fanout::Total(25)])?;
    // model = SAGE(in_feats, num_hidden, n_classes, num_layers, F.relu, dropout)
    let config = ModelConfig { layers: 2, hidden: 16, dropout: 0.2, ..ModelConfig::default() };
    let in_feats = g.ndata("features")?.width() as i64;
    let sizes = Sizes { in_feats, out_feats: 4, num_rels: 1, edge_feats: 0 };
    let mut builder = ParameterBuilder::new(0);
    let model = Stack::new(&mut builder, &config, sizes)?;
    // model = th.nn.parallel.DistributedDataParallel(model)
    let parameters = Rc::new(builder.finish(rank.manager(), Kind::Float)?);
    rank.sync_params(&parameters)?;
    // loss_fcn = nn.CrossEntropyLoss(); optimizer = optim.Adam(model.parameters(), lr=args.lr)
    let loss_fcn = Loss::new(Task::Classification);
    let mut optimizer = Optimizer::new(OptimizerConfig::default(), rank.manager())?;

    // for epoch in range(args.num_epochs): with model.join(): all ranks have the same number of batches.
    let mut losses = Vec::new();
    for epoch in 1..=NUM_EPOCHS {
        let mut sums = [0.0, 0.0];
        // for step, blocks in enumerate(dataloader):
        for (step, batch) in train.epoch(epoch).enumerate() {
            let batch = batch?;
            let blocks = block_graphs(rank.manager(), &**g, &batch, false)?;
            let (inputs, labels) = load_subtensor(g, &batch)?;
            let (policy, seed) = (Policy::default(), seed_of_step(0, step));
            let mut tape = Tape::training(rank.manager(), &parameters, policy, seed, epoch);
            let batch_pred = predict(rank, &mut tape, &model, &blocks, inputs)?;
            // loss = loss_fcn(batch_pred, batch_labels)
            let (all, seeds) = (labels.f_ge(0)?, batch.seeds().len() as f64);
            let (loss, gradient) = loss_fcn.forward(&*batch_pred.pin()?, &labels, &all, seeds)?;
            // optimizer.zero_grad(); loss.backward(); optimizer.step()
            let gradients = tape.backward(batch_pred, gradient)?;
            let gathered = rank.gather_grads(&parameters, gradients, &[loss, 1.0])?;
            optimizer.step(&parameters, gathered.gradient / rank.world_size() as f64)?;
            sums.iter_mut().zip(gathered.numbers).for_each(|(sum, number)| *sum += number);
        }
        losses.push(sums[0] / sums[1]);
        rank.end_epoch(epoch, &[("loss", sums[0] / sums[1])])?;
    }
    let accuracy = accuracy(rank, g, &model, &parameters)?;
    Ok((losses, accuracy, Vec::try_from(parameters.flat().pin()?.f_flatten(0, -1)?)?))
}

/// Accuracy on the test nodes, of which each rank judges its share by all their neighbours.
fn accuracy(
    rank: &Rank<'_>,
    g: &Arc<DistGraph>,
    model: &Stack,
    parameters: &Rc<ParameterSet>,
) -> sar::Result<f64> {
    let test = dataloader(rank, g, split(rank, g, "test_mask")?, [Fanout::ALL; 2])?;
    let mut sums = [0.0, 0.0];
    for batch in test.epoch(0).take(test.own_len()) {
        let batch = batch?;
        let blocks = block_graphs(rank.manager(), &**g, &batch, false)?;
        let (inputs, labels) = load_subtensor(g, &batch)?;
        let mut tape = Tape::evaluation(rank.manager(), parameters);
        let batch_pred = predict(rank, &mut tape, model, &blocks, inputs)?;
        let all = labels.f_ge(0)?;
        let scores = ScoreSums::new(Task::Classification, &*batch_pred.pin()?, &labels, &all)?;
        sums[0] += scores.0[0];
        sums[1] += batch.seeds().len() as f64;
    }
    let sums = rank.sum(&sums)?;
    Ok(sums[0] / sums[1])
}
