//! Guards against: a step that predicts edges with a layer per edge type whose scores, loss or gradients are not DGL's
//! (tests/fixtures/hetero_links.py).

use std::path::Path;
use std::sync::Arc;

use sar::Result;
use sar::engine::tape::{ParameterBuilder, Policy, Tape};
use sar::nn::{
    HeteroConfig, HeteroOutput, LinkScore, ModelConfig, ModelKind, RelationMerge, SageAggregator,
    SageOptions, link_loss,
};
use sar::sampling::loaders::{EdgeMiniBatch, Pairs};
use sar::sampling::stores::{DistGraph, IndexConfig};
use sar::testing::{RankContext, on_ranks};
use sar::train::{BatchModel, HeteroBatches};
use tch::{Kind, Tensor};

use crate::common;
use crate::hetero::{
    AUTHOR, GRAPH, PAPER, assert_close, fixture, ids, make_with, sampler, start_from,
};
use crate::support::{key, open};
use crate::tensor_files::Tensors;

const WIDTH: i64 = 5;

/// The scored edges and pairs. Seeds are all authors, then all papers, so rows follow from ids.
fn batch(whole: &DistGraph, expected: &Tensors) -> Result<EdgeMiniBatch> {
    let book = whole.book();
    let authors = book.num_nodes_of_type(AUTHOR);
    let nodes = [AUTHOR, PAPER].into_iter().flat_map(|ntype| {
        (0..book.num_nodes_of_type(ntype)).map(move |id| book.to_homogeneous(ntype, id).unwrap())
    });
    let nodes: Vec<u64> = nodes.collect();
    let pairs = |key: &str| {
        let ids: Vec<i64> = ids(expected, key).iter().map(|id| *id as i64).collect();
        let (sources, papers) = ids.split_at(ids.len() / 2);
        let destinations = papers.iter().map(|id| authors as i64 + id).collect();
        Pairs { sources: sources.to_vec(), destinations }
    };
    let writes = book.get_etype_id("writes")?;
    let global = |id: &u64| book.edge_to_homogeneous(writes, *id).unwrap();
    let edges: Vec<u64> = ids(expected, "edges").iter().map(global).collect();
    let scored = |_, _, edge: u64| edges.contains(&edge);
    let neighbourhood = sampler(whole, 2)?.sample_without(whole, &nodes, Some(&scored), key(0))?;
    let (positive, negative) = (pairs("positive"), pairs("negative"));
    Ok(EdgeMiniBatch { edges, positive, negative, neighbourhood })
}

fn check_rank(
    context: &RankContext,
    (whole, folder): (&Arc<DistGraph>, &Path),
    expected: &Tensors,
) -> Result<()> {
    let kind =
        ModelKind::Sage(SageOptions { aggregator: SageAggregator::Mean, edge_weights: false });
    let hidden = WIDTH;
    let model = ModelConfig { kind, layers: 2, hidden, dropout: 0.0, ..ModelConfig::default() };
    let config = HeteroConfig { model, merge: RelationMerge::Sum };
    let outputs = [AUTHOR, PAPER].map(|ntype| HeteroOutput { ntype, out_feats: WIDTH });
    let bilinear = expected.contains_key("param.score.weight");
    let score = |builder: &mut ParameterBuilder| {
        if bilinear {
            builder.scope("score", |builder| LinkScore::bilinear(builder, WIDTH))
        } else {
            LinkScore::Dot
        }
    };
    let (mut made, score) = make_with(context, whole, &config, &outputs, score)?;
    let optimizer = start_from(context, &mut made, (whole, folder), expected)?;
    let batch = batch(whole, expected)?;

    // The step of a LinkTrainer.
    let manager = &context.manager;
    let batches = HeteroBatches::new(&made.model, &made.features, optimizer, None);
    let forward = batches.take_up(manager, &made.parameters, &**whole, &batch.neighbourhood)?;
    let mut tape = Tape::training(manager, &made.parameters, Policy::default(), 0, 1);
    let (rows, learned) = forward.forward(&mut tape)?;
    let [positive, negative] = [batch.positive.tensors()?, batch.negative.tensors()?];
    let both = |end: usize| Tensor::cat(&[&positive[end], &negative[end]], 0);
    let scores = score.forward(&mut tape, &rows, [&both(0), &both(1)], None)?;
    drop(rows);
    assert_close("scores", &*scores.pin()?, &expected["scores"].1);
    let (loss, gradient) = link_loss(&*scores.pin()?, batch.edges.len() as i64)?;
    assert!((loss - expected["loss"].1[0]).abs() < 1e-9, "{loss}");
    let gradients = tape.backward(scores, gradient)?;
    let flat = made.parameters.flat_gradients(&gradients)?;
    for parameter in made.parameters.iter() {
        let name = format!("grad.{}", made.parameters.name(parameter));
        assert_close(&name, &made.parameters.view(&flat, parameter)?, &expected[&name].1);
    }
    let (shape, of_authors) = &expected["grad.embeds.author.weight"];
    let block = sar::graph::HeteroBlock::new(&batch.neighbourhood.blocks[0], whole.book())?;
    let authors: Vec<i64> = block.ends()[AUTHOR].sources.iter().map(|id| *id as i64).collect();
    let all = Tensor::zeros(&shape[..], (Kind::Double, tch::Device::Cpu));
    let rows = gradients.input(&learned[0]).unwrap().pin()?.copy();
    assert_close("authors", &all.index_add(0, &Tensor::from_slice(&authors), &rows), of_authors);
    Ok(())
}

#[test]
fn a_step_that_predicts_edges_of_one_type_is_dgls() {
    let opened = open(&common::repository(GRAPH), &IndexConfig::default());
    for name in ["dot", "bilinear"] {
        let expected = fixture("hetero_links", name);
        let folder = tempfile::tempdir().unwrap();
        let graph = (&opened.graph, folder.path());
        on_ranks(2, 2, |context| check_rank(&context, graph, &expected)).unwrap();
    }
}
