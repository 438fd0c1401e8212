//! DGL's tutorial of training on several GPUs with `DistributedDataParallel`, line by line. Each comment is the line of Python that it
//! stands for; processes take the place of GPUs.
//!
//!     cargo run --release --example from_ddp [PART_JSON [BEST_MODEL [NUM_EPOCHS [BATCH_SIZE]]]]

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;

use sar::engine::tape::{Gradients, Graph, ParameterBuilder, ParameterSet, Policy, Tape, Var};
use sar::formats::dgl::config::PartitionConfig;
use sar::load::{NodeColumn, Normalize};
use sar::nn::{
    Conv, ConvInput, Loss, Optimizer, OptimizerConfig, SageAggregator, SageConv, SageConvConfig,
    ScoreSums, Task, save_state_dict,
};
use sar::run::{Job, Rank, launch};
use sar::sampling::loaders::{DataLoader, DataLoaderConfig, DistNeighborSampler, MiniBatch};
use sar::sampling::stores::{DistGraph, Fanout, IndexConfig, Sampling};
use sar::train::{block_graphs, seed_of_step};
use sar::{Error, Result};
use tch::Kind;

const FANOUTS: [i64; 3] = [4, 4, 4];
const HIDDEN: i64 = 128;
const LOG_EVERY: usize = 10;
const EVALUATE_EVERY: u32 = 5;

/// The arguments of the program.
struct Arguments {
    part_json: PathBuf,
    best_model: PathBuf,
    num_epochs: u32,
    batch_size: usize,
}

/// `class MultiLayerNeighborSampler(dgl.dataloading.BlockSampler)`
fn multi_layer_neighbor_sampler() -> Result<DistNeighborSampler> {
    // def sample_frontier(self, layer_id, g, seed_nodes):
    DistNeighborSampler::with_frontier(FANOUTS.len(), |g, layer_id, seed_nodes, key| {
        // return dgl.sampling.sample_neighbors(g, seed_nodes, self.fanouts[layer_id])
        let fanout = Fanout::Total(FANOUTS[layer_id]);
        g.sample_neighbors(seed_nodes, &Sampling { fanout, replace: false, weighted: false }, key)
    })
}

/// `def create_dataloader(rank, world_size, graph, nids)`
fn create_dataloader(
    rank: &Rank<'_>,
    graph: &Arc<DistGraph>,
    nids: &[u64],
    shuffle: bool,
    batch_size: usize,
) -> Result<DataLoader> {
    // partition_size = len(nids) // world_size; partition_offset = partition_size * rank
    let partition_size = nids.len() / rank.world_size();
    let partition_offset = partition_size * rank.index();
    // nids = nids[partition_offset:partition_offset + partition_size]
    let nids = nids[partition_offset..partition_offset + partition_size].to_vec();
    // The rows that a batch needs come with it: node_features[input_nodes], node_labels[output_nodes].
    let counters = rank.manager().store().counters();
    let features = NodeColumn::features(graph.config(), None, Normalize::None, counters.clone())?;
    let labels = NodeColumn::labels(graph.config(), None, counters.clone())?;
    let sampler = multi_layer_neighbor_sampler()?
        .out_degrees(false)
        .input_node_feature("features", features)
        .output_node_feature("labels", labels);
    // return dgl.dataloading.NodeDataLoader(graph, nids, sampler, batch_size=1024, shuffle=True, drop_last=False, num_workers=0)
    let sampler_threads = 0;
    let config =
        DataLoaderConfig { batch_size, shuffle, sampler_threads, ..DataLoaderConfig::default() };
    DataLoader::new(graph.clone(), nids, sampler, config, rank.ranks())
}

/// `class GraphSAGE(nn.Module)`
struct GraphSage {
    layers: Vec<SageConv>,
}

impl GraphSage {
    /// `def __init__(self, in_feats, n_hidden, n_classes, n_layers)`
    fn new(parameters: &mut ParameterBuilder, in_feats: i64, n_classes: i64) -> Self {
        let widths = [in_feats, HIDDEN, HIDDEN, n_classes];
        let layers = widths.windows(2).enumerate().map(|(i, pair)| {
            let config = SageConvConfig {
                in_feats: pair[0],
                out_feats: pair[1],
                aggregator: SageAggregator::Mean,
                edge_weights: false,
            };
            parameters.scope(&format!("layers.{i}"), |p| SageConv::new(p, config))
        });
        GraphSage { layers: layers.collect() }
    }

    /// `def forward(self, bipartites, x)`
    fn forward<'a>(
        &self,
        tape: &mut Tape<'a>,
        bipartites: &[&'a dyn Graph],
        mut x: Var,
    ) -> Result<Var> {
        // for l, (layer, bipartite) in enumerate(zip(self.layers, bipartites)):
        for (l, (layer, bipartite)) in self.layers.iter().zip(bipartites).enumerate() {
            tape.enter_layer(l);
            let destinations = tape.destinations(*bipartite, &x)?;
            x = layer.forward(tape, ConvInput::new(*bipartite, x, destinations))?;
            // if l != self.n_layers - 1: x = F.relu(x)
            if l + 1 < self.layers.len() {
                x = tape.relu(x)?;
            }
        }
        Ok(x)
    }
}

/// A step of training, by its number in its epoch.
struct Place {
    epoch: u32,
    step: usize,
}

/// A step of a rank up to its gradients, and what it adds to the loss, the right predictions and the seeds.
fn learn(
    rank: &Rank<'_>,
    graph: &Arc<DistGraph>,
    model: &GraphSage,
    parameters: &Rc<ParameterSet>,
    batch: &MiniBatch,
    Place { epoch, step }: Place,
) -> Result<(Gradients, [f64; 3])> {
    let bipartites = block_graphs(rank.manager(), &**graph, batch, false)?;
    let bipartites: Vec<&dyn Graph> = bipartites.iter().map(|block| block as &dyn Graph).collect();
    let seed = seed_of_step(0, step);
    let mut tape = Tape::training(rank.manager(), parameters, Policy::default(), seed, epoch);
    let inputs = rank.manager().track("inputs", batch.input("features")?.shallow_clone());
    let inputs = tape.input(&inputs);
    let predictions = model.forward(&mut tape, &bipartites, inputs)?;
    let (labels, seeds) = (batch.output("labels")?, batch.seeds().len() as f64);
    let cross_entropy = Loss::new(Task::Classification);
    let (loss, gradient, right) = {
        let predictions = predictions.pin()?;
        let all = labels.f_ge(0)?;
        let (loss, gradient) = cross_entropy.forward(&predictions, labels, &all, seeds)?;
        let ScoreSums([right, ..]) =
            ScoreSums::new(Task::Classification, &predictions, labels, &all)?;
        (loss, gradient, right)
    };
    Ok((tape.backward(predictions, gradient)?, [loss, right, seeds]))
}

/// The numbers of right predictions and of seeds of a batch.
fn evaluate(
    rank: &Rank<'_>,
    graph: &Arc<DistGraph>,
    model: &GraphSage,
    parameters: &Rc<ParameterSet>,
    batch: &MiniBatch,
) -> Result<[f64; 2]> {
    let bipartites = block_graphs(rank.manager(), &**graph, batch, false)?;
    let bipartites: Vec<&dyn Graph> = bipartites.iter().map(|block| block as &dyn Graph).collect();
    let mut tape = Tape::evaluation(rank.manager(), parameters);
    let inputs = rank.manager().track("inputs", batch.input("features")?.shallow_clone());
    let inputs = tape.input(&inputs);
    let predictions = model.forward(&mut tape, &bipartites, inputs)?;
    let labels = batch.output("labels")?;
    let all = labels.f_ge(0)?;
    let ScoreSums([right, ..]) =
        ScoreSums::new(Task::Classification, &*predictions.pin()?, labels, &all)?;
    Ok([right, batch.seeds().len() as f64])
}

/// The nodes that a mask chooses.
fn nids(graph: &DistGraph, nodes: &[u64], mask: &str) -> Result<Vec<u64>> {
    let mut chosen = vec![0; nodes.len()];
    graph.ndata(mask)?.read_i64(nodes, &mut chosen)?;
    Ok(nodes.iter().copied().filter(|node| chosen[*node as usize] != 0).collect())
}

/// `def train(rank, world_size, data)`; returns the best validation accuracy.
fn train(rank: &Rank<'_>, graph: &Arc<DistGraph>, arguments: &Arguments) -> Result<f64> {
    // torch.distributed.init_process_group(...): nothing to do.
    // graph, node_features, node_labels, train_nids, valid_nids, ... = data
    let nodes: Vec<u64> = (0..graph.num_nodes(None)?).collect();
    let train_nids = nids(graph, &nodes, "train_mask")?;
    let valid_nids = nids(graph, &nodes, "val_mask")?;
    let mut labels = vec![0; nodes.len()];
    let counters = rank.manager().store().counters().clone();
    NodeColumn::labels(graph.config(), None, counters.clone())?.read_i64(&nodes, &mut labels)?;
    let num_classes = labels.iter().max().map_or(0, |largest| largest + 1);
    let features = NodeColumn::features(graph.config(), None, Normalize::None, counters)?;
    let num_features = features.width() as i64;
    // train_dataloader = create_dataloader(rank, world_size, graph, train_nids)
    let batch_size = arguments.batch_size;
    let train_dataloader = create_dataloader(rank, graph, &train_nids, true, batch_size)?;
    // valid_dataloader = create_dataloader(0, 1, graph, valid_nids): here all ranks take their share of it.
    let valid_dataloader = create_dataloader(rank, graph, &valid_nids, false, batch_size)?;
    // model = init_model(rank, num_features, 128, num_classes, 3): DistributedDataParallel sends rank 0's parameters to all.
    let mut builder = ParameterBuilder::new(0);
    let model = GraphSage::new(&mut builder, num_features, num_classes);
    let parameters = Rc::new(builder.finish(rank.manager(), Kind::Float)?);
    rank.sync_params(&parameters)?;
    // opt = torch.optim.Adam(model.parameters())
    let adam = OptimizerConfig::Adam { lr: 0.001, weight_decay: 0.0 };
    let mut opt = Optimizer::new(adam, rank.manager())?;
    // best_accuracy = 0
    let mut best_accuracy = 0.0;
    // for epoch in range(num_epochs):
    for epoch in 1..=arguments.num_epochs {
        let mut loss_of_epoch = 0.0;
        // for step, (input_nodes, output_nodes, bipartites) in enumerate(train_dataloader):
        for (step, batch) in train_dataloader.epoch(epoch).enumerate() {
            // predictions = model(bipartites, inputs); loss = F.cross_entropy(predictions, labels); loss.backward()
            let (gradients, sums) =
                learn(rank, graph, &model, &parameters, &batch?, Place { epoch, step })?;
            // DistributedDataParallel averages the gradients over the ranks.
            let gathered = rank.gather_grads(&parameters, gradients, &sums)?;
            // opt.step()
            opt.step(&parameters, gathered.gradient / rank.world_size() as f64)?;
            let [loss, right, seeds] = gathered.numbers[..] else { unreachable!() };
            let loss = loss / rank.world_size() as f64;
            loss_of_epoch = loss;
            // if rank == 0 and step % 10 == 0: print(...)
            if rank.index() == 0 && step % LOG_EVERY == 0 {
                let accuracy = right / seeds;
                println!("Epoch {epoch:05} Step {step:05} Loss {loss:.4} Accuracy {accuracy:.4}");
            }
        }
        let mut values = vec![("loss", loss_of_epoch)];
        // if epoch % 5 == 0: model.eval(); with torch.no_grad(): ...
        if epoch % EVALUATE_EVERY == 0 || epoch == arguments.num_epochs {
            let mut sums = [0.0; 2];
            for batch in valid_dataloader.epoch(0).take(valid_dataloader.own_len()) {
                let [right, seeds] = evaluate(rank, graph, &model, &parameters, &batch?)?;
                sums[0] += right;
                sums[1] += seeds;
            }
            let sums = rank.sum(&sums)?;
            let accuracy = sums[0] / sums[1];
            if rank.index() == 0 {
                println!("Epoch {epoch} Validation Accuracy {accuracy:.4}");
            }
            values.push(("val_acc", accuracy));
            // if best_accuracy < accuracy: best_accuracy = accuracy; torch.save(model.module.state_dict(), best_model_path)
            if best_accuracy < accuracy {
                best_accuracy = accuracy;
                let texts = BTreeMap::new();
                save_state_dict(&arguments.best_model, &parameters, &[], &texts, rank.ranks())?;
            }
        }
        rank.end_epoch(epoch, &values)?;
    }
    Ok(best_accuracy)
}

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let mut argument = |default: &str| arguments.next().unwrap_or_else(|| default.to_owned());
    let (part_json, best_model) =
        (argument("data/karate/karate.json"), argument("model.safetensors"));
    let number = |text: String| -> Result<u32> {
        let number = text.parse();
        number.map_err(|_| Error::config("arguments", format!("`{text}` is not a number")))
    };
    let (num_epochs, batch_size) = (number(argument("10"))?, number(argument("1024"))? as usize);
    let arguments = Arguments {
        part_json: part_json.into(),
        best_model: best_model.into(),
        num_epochs,
        batch_size,
    };
    // graph, node_features, ... = load_data(): every rank reads the same files.
    let folder = tempfile::tempdir().map_err(|e| Error::io("create", "index".as_ref(), e))?;
    let partitions = PartitionConfig::open(&arguments.part_json)?;
    let graph = Arc::new(DistGraph::create(&partitions, &IndexConfig::default(), folder.path())?);
    // mp.spawn(train, args=(world_size, data), nprocs=world_size)
    let job = Job::new(&arguments.part_json);
    let best = launch(&job, &mut |_| {}, |rank| train(rank, &graph, &arguments))?;
    println!("Best Validation Accuracy {:.4}", best[0]);
    Ok(())
}
