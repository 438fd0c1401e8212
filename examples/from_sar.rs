//! The training loop of SAR's guide to single-node training, line by line. Each comment is the line of Python that it stands for.
//!
//!     cargo run --release --example from_sar [PART_JSON [MEMORY_BUDGET]]

use std::rc::Rc;

use sar::Result;
use sar::engine::comm::{gather_grads, sync_params};
use sar::engine::tape::{Graph, ParameterBuilder, Policy, Tape, Var};
use sar::load::EdgeData;
use sar::nn::{
    Conv, ConvInput, Loss, Optimizer, OptimizerConfig, SageAggregator, SageConv, SageConvConfig,
    Task,
};
use sar::run::{Job, Rank, launch};
use tch::{Kind, Tensor};

const NUM_EPOCHS: u32 = 20;
const HIDDEN: i64 = 16;

/// `class GNNModel(nn.Module)`: three `dgl.nn.SAGEConv` with ReLU between them.
struct GnnModel {
    convs: Vec<SageConv>,
}

impl GnnModel {
    fn new(parameters: &mut ParameterBuilder, widths: [i64; 4]) -> Self {
        let convs = widths.windows(2).enumerate().map(|(i, pair)| {
            let aggregator = SageAggregator::Mean;
            let config = SageConvConfig {
                in_feats: pair[0],
                out_feats: pair[1],
                aggregator,
                edge_weights: false,
            };
            parameters.scope(&format!("convs.{i}"), |p| SageConv::new(p, config))
        });
        GnnModel { convs: convs.collect() }
    }

    /// `def forward(self, graph, features)`
    fn forward<'a>(&self, tape: &mut Tape<'a>, graph: &'a dyn Graph, mut x: Var) -> Result<Var> {
        for (i, conv) in self.convs.iter().enumerate() {
            tape.enter_layer(i);
            x = conv.forward(tape, ConvInput::new(graph, x.clone(), x))?;
            if i + 1 < self.convs.len() {
                x = tape.relu(x)?;
            }
        }
        Ok(x)
    }
}

/// `def run(args, rank, lock, barrier)`. The lock is taken before this is called and given back after it (`lock.acquire()`,
/// `lock.release()`), and there is no process group to initialise.
fn run(rank: &Rank<'_>) -> Result<Vec<f64>> {
    // partition_data_manager = sar.PartitionDataManager(rank, lock)
    let partition_data_manager = rank.manager();
    // partition_data = sar.load_dgl_partition_data(...)
    // full_graph_manager = sar.construct_full_graph(partition_data, partition_data_manager=...)
    let full_graph_manager = rank.graph(EdgeData::default())?;
    // partition_data_manager.features, .labels, .masks = ...
    let features = rank.features(None)?;
    let labels = rank.labels(None)?;
    let train_mask = rank.mask("train_mask")?;
    let ours = train_mask.pin()?.f_sum(Kind::Double)?.f_double_value(&[])?;
    let n_train_points = rank.sum(&[ours])?[0];
    let largest = labels.pin()?.f_max()?.f_double_value(&[])?;
    let num_classes = rank.max(&[largest])?[0] as i64 + 1;

    // gnn_model = GNNModel(...); optimizer = torch.optim.Adam(gnn_model.parameters(), ...)
    let mut builder = ParameterBuilder::new(0);
    let widths = [features.size()[1], HIDDEN, HIDDEN, num_classes];
    let gnn_model = GnnModel::new(&mut builder, widths);
    let parameters = Rc::new(builder.finish(partition_data_manager, Kind::Float)?);
    let adam = OptimizerConfig::Adam { lr: 0.01, weight_decay: 0.0 };
    let mut optimizer = Optimizer::new(adam, partition_data_manager)?;
    // sar.sync_params(gnn_model, precall_func=..., callback_func=...)
    let flat = parameters.flat().pin()?.copy();
    let synced = sync_params(rank.group(), vec![flat], &**partition_data_manager)?;
    synced.into_iter().try_for_each(|flat| parameters.set_flat(flat))?;

    let cross_entropy = Loss::new(Task::Classification);
    let mut losses = Vec::new();
    // for epoch in range(num_epochs):
    for epoch in 1..=NUM_EPOCHS {
        // features = sar.PointerTensor(features, pointer=full_graph_manager.pointer_list, linked=...)
        let mut tape =
            Tape::training(partition_data_manager, &parameters, Policy::Rematerialise, 0, epoch);
        let x = tape.input(&features);
        // logits = gnn_model(full_graph_manager, partition_data_manager.features)
        let logits = gnn_model.forward(&mut tape, &full_graph_manager, x)?;
        // loss = F.cross_entropy(logits[train_indices], labels[train_indices], reduction='sum') / n_train_points
        let (loss, gradient) = {
            let (logits, labels) = (logits.pin()?, labels.pin()?);
            cross_entropy.forward(&logits, &labels, &*train_mask.pin()?, n_train_points)?
        };
        // optimizer.zero_grad(); loss.backward()
        let gradients = tape.backward(logits, gradient)?;
        // sar.gather_grads(gnn_model, precall_func=full_graph_manager.pause_process,
        //                  callback_func=full_graph_manager.resume_process)
        let ours = vec![parameters.flat_gradients(&gradients)?, Tensor::f_from_slice(&[loss])?];
        drop(gradients);
        let mut sums = gather_grads(rank.group(), ours, &full_graph_manager)?;
        let loss = sums.remove(1).f_double_value(&[0])?;
        // optimizer.step()
        optimizer.step(&parameters, sums.remove(0))?;
        // full_graph_manager.pointer_list = []; linked_list = []; partition_data_manager.remove_files()
        // (not needed: a file goes with the last handle of its value)
        losses.push(loss);
        rank.end_epoch(epoch, &[("loss", loss)])?;
    }
    Ok(losses)
}

fn main() -> Result<()> {
    // lock = Lock(); barrier = Barrier(args.world_size)
    // for rank_idx in range(args.world_size): Process(target=run, args=(args, rank_idx, lock, barrier)).start()
    let mut arguments = std::env::args().skip(1);
    let json = arguments.next().unwrap_or_else(|| "data/karate/karate.json".to_owned());
    let mut job = Job::new(json);
    if let Some(budget) = arguments.next() {
        job.resources.memory_budget = budget.parse()?;
    }
    let losses = launch(&job, &mut |_| {}, run)?;
    println!("{:?}", losses[0]);
    Ok(())
}
