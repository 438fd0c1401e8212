//! A relational graph convolution on two node types, one of which has learned rows instead of features: a weight matrix per
//! relation, and results averaged over relations. It separates later papers from earlier ones.
//!
//!     cargo run --release --example hetero_rgcn

use std::rc::Rc;

use sar::Result;
use sar::engine::tape::{ParameterBuilder, Policy, Tape};
use sar::io::IoCounters;
use sar::load::{NodeFeatures, Normalize};
use sar::nn::{
    GcnOptions, HeteroConfig, HeteroStack, Loss, ModelConfig, ModelKind, NodeEmbedding, Norm,
    Optimizer, OptimizerConfig, RelationMerge, Task,
};
use sar::run::{Job, Rank, launch};
use tch::{Kind, Tensor};

const AUTHOR: usize = 0;
const PAPER: usize = 1;
const EPOCHS: u32 = 60;

fn main() -> Result<()> {
    let job = Job::new("tests/fixtures/hetero/g.json");
    let losses = launch(&job, &mut |_| {}, train)?;
    println!("loss {:.3}, after {EPOCHS} epochs {:.3}", losses[0][0], losses[0][1]);
    Ok(())
}

/// The work of one rank; returns the first and the last loss.
fn train(rank: &Rank<'_>) -> Result<[f64; 2]> {
    let (manager, partition) = (rank.manager(), rank.partition_data());
    let book = partition.book();
    let graph = rank.hetero_graph(None)?;

    let kind = ModelKind::Gcn(GcnOptions { norm: Norm::Right, edge_weights: false });
    let model = ModelConfig { kind, layers: 2, hidden: 16, dropout: 0.2, ..ModelConfig::default() };
    let model = HeteroConfig { model, merge: RelationMerge::Mean };
    let adam = OptimizerConfig::Adam { lr: 0.02, weight_decay: 0.0 };
    let mut builder = ParameterBuilder::new(1);
    let model = HeteroStack::new(&mut builder, &graph, &model, &[None, Some(2)], PAPER, 2)?;
    let parameters = Rc::new(builder.finish(manager, Kind::Float)?);
    let mut optimizer = Optimizer::new(adam, manager)?;
    let (authors, width) = (book.type_nodes(rank.index(), AUTHOR), model.width());
    let embedding = NodeEmbedding::new(manager, "author", authors, width, Kind::Float, 1)?;
    let mut rows_optimizer = Optimizer::new(adam, manager)?;

    // The features of papers hold their age; those of authors are not used.
    let features =
        NodeFeatures::by_type(partition, Some("feat"), Normalize::None)?.swap_remove(PAPER);
    let papers = match features {
        Some(features) => features.read(Kind::Float, &IoCounters::default())?.f_div_scalar(10)?,
        None => Tensor::f_zeros([0, 2], (Kind::Float, tch::Device::Cpu))?,
    };
    let labels = papers.f_select(1, 0)?.f_ge(0.8)?.f_to_kind(Kind::Int64)?;
    let mask = labels.f_ge(0)?;
    let papers = manager.track("features", papers);
    let loss = Loss::new(Task::Classification);
    let total = book.num_nodes_of_type(PAPER) as f64;

    let mut losses = [0.0; 2];
    for epoch in 1..=EPOCHS {
        let mut tape = Tape::training(manager, &parameters, Policy::Rematerialise, 1, epoch);
        let rows = embedding.input(&mut tape);
        let papers = tape.input(&papers);
        let logits = model.forward(&mut tape, &[&graph; 2], vec![rows.clone(), papers])?;
        let (part, gradient) = loss.forward(&*logits.pin()?, &labels, &mask, total)?;
        let gradients = tape.backward(logits, gradient)?;
        // Weights have the same gradient on all ranks; learned rows belong to one rank.
        rows_optimizer.step(embedding.parameters(), embedding.flat_gradient(&rows, &gradients)?)?;
        let sums = rank.gather_grads(&parameters, gradients, &[part])?;
        losses[usize::from(epoch > 1)] = sums.numbers[0];
        optimizer.step(&parameters, sums.gradient)?;
    }
    Ok(losses)
}
