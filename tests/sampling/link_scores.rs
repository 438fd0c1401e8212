//! Guards against: scores with vectors of edge types that are not PyTorch's (tests/fixtures/link_scores.py), and a trainer that takes
//! the vector of another edge type.

use std::rc::Rc;

use sar::Result;
use sar::engine::comm::{NoHooks, Ranks};
use sar::engine::spill::{PartitionDataManager, PointerTensor};
use sar::engine::tape::{ParameterBuilder, ParameterSet, Policy, Tape, Var};
use sar::nn::{LinkScore, auc, link_loss, mean_reciprocal_rank};
use sar::sampling::loaders::{
    DataLoaderConfig, DistEdgeDataLoader, Exclude, MiniBatch, NegativeSampler, Pairs,
};
use sar::sampling::stores::{GraphSource, IndexConfig};
use sar::testing::{RankContext, on_ranks};
use sar::train::{BatchForward, BatchModel, GradientReduce, LinkTrainer};
use tch::{Kind, Tensor};

use crate::common;
use crate::hetero::{GRAPH, assert_close, fixture, ids, sampler};
use crate::support::open;
use crate::tensor_files::Tensors;

/// The score that a fixture's name says.
fn score(name: &str, builder: &mut ParameterBuilder, etypes: i64, width: i64) -> LinkScore {
    if name.starts_with("distmult") {
        LinkScore::dist_mult(builder, etypes, width)
    } else {
        LinkScore::compl_ex(builder, etypes, width)
    }
}

fn check(context: &RankContext, name: &str, expected: &Tensors, policy: Policy) -> Result<()> {
    let manager = &context.manager;
    let tensor = |key: &str| {
        let (shape, values) = &expected[key];
        Tensor::from_slice(values).view(&shape[..])
    };
    let (h, vectors) = (tensor("h"), tensor("vectors"));
    let indices = |key: &str| tensor(key).to_kind(Kind::Int64);
    let mut builder = ParameterBuilder::new(0);
    let etypes = vectors.size()[0];
    let score = score(name, &mut builder, etypes, h.size()[1]);
    let parameters = Rc::new(builder.finish(manager, Kind::Double)?);
    parameters.set_flat(vectors.flatten(0, -1))?;
    assert_eq!(score.tells_etypes_apart(), etypes > 1);

    let mut tape = Tape::training(manager, &parameters, policy, 0, 1);
    let x = tape.trainable_input(&manager.track("h", h.copy()));
    let of_pairs = manager.track("etypes", indices("etypes").unsqueeze(1));
    let of_pairs = (etypes > 1).then(|| tape.input(&of_pairs));
    let ends = [indices("sources"), indices("destinations")];
    let scores = score.forward(&mut tape, &x, [&ends[0], &ends[1]], of_pairs.as_ref())?;
    assert_close("scores", &*scores.pin()?, &expected["scores"].1);
    let (loss, gradient) = link_loss(&*scores.pin()?, 7)?;
    assert!((loss - expected["loss"].1[0]).abs() < 1e-12, "{name}: {loss}");
    let gradients = tape.backward(scores, gradient)?;
    assert_close("h", &*gradients.input(&x).unwrap().pin()?, &expected["grad.h"].1);
    let of_vectors = parameters.flat_gradients(&gradients)?;
    assert_close("vectors", &of_vectors, &expected["grad.vectors"].1);

    // Predictions multiply the same rows.
    let of_pairs = (etypes > 1).then(|| indices("etypes"));
    let queries = score.queries(&parameters, &h.index_select(0, &ends[0]), of_pairs.as_ref())?;
    let products = (queries * h.index_select(0, &ends[1])).sum_dim_intlist(1, false, Kind::Double);
    assert_close("products", &products, &expected["scores"].1);
    Ok(())
}

#[test]
fn scores_with_vectors_have_pytorchs_values_loss_and_gradients() {
    for name in ["distmult_one", "distmult_several", "complex_one", "complex_several"] {
        let expected = fixture("link_scores", name);
        assert_eq!(ids(&expected, "etypes").len(), 22);
        for policy in [Policy::Rematerialise, Policy::Retain] {
            on_ranks(1, 1, |context| check(&context, name, &expected, policy)).unwrap();
        }
    }
}

/// A model whose row of a node follows from its id.
struct RowsOfIds;

struct Rows(PointerTensor);

const WIDTH: i64 = 4;

fn row(node: u64) -> [f64; WIDTH as usize] {
    [0, 1, 2, 3].map(|i| ((node * 7 + i * 3) as f64).sin())
}

impl BatchModel for RowsOfIds {
    fn take_up<'b>(
        &'b self,
        manager: &Rc<PartitionDataManager>,
        _: &ParameterSet,
        _: &dyn GraphSource,
        batch: &MiniBatch,
    ) -> Result<Box<dyn BatchForward + 'b>> {
        let rows: Vec<f64> = batch.seeds().iter().flat_map(|node| row(*node)).collect();
        let rows = Tensor::from_slice(&rows).view([-1, WIDTH]);
        Ok(Box::new(Rows(manager.track("rows", rows))))
    }
}

impl BatchForward for Rows {
    fn forward<'t>(&'t self, tape: &mut Tape<'t>) -> Result<(Var, Vec<Var>)> {
        Ok((tape.input(&self.0), Vec::new()))
    }
}

#[test]
fn a_drawn_pair_has_the_vector_of_its_edges_type() {
    let opened =
        open(&common::repository(GRAPH), &IndexConfig { ends: true, ..Default::default() });
    let whole = &opened.graph;
    let book = whole.book();
    let etypes = book.etypes().len();
    assert!(etypes > 1);
    let check = |context: RankContext| {
        let mut builder = ParameterBuilder::new(0);
        let score = LinkScore::dist_mult(&mut builder, etypes as i64, WIDTH);
        let parameters = Rc::new(builder.finish(&context.manager, Kind::Double)?);
        let vectors = parameters.flat().pin()?.copy().view([-1, WIDTH]);
        let config = DataLoaderConfig { batch_size: 9, ..DataLoaderConfig::default() };
        let loader = DistEdgeDataLoader::new(
            whole.clone(),
            book.edge_range(context.rank).collect(),
            sampler(whole, 1)?,
            Exclude::Nothing,
            Some(NegativeSampler::PerSourceUniform(2)),
            config,
            Ranks { group: &*context.group, hooks: &NoHooks },
        )?;
        let trainer = LinkTrainer {
            manager: &context.manager,
            group: &*context.group,
            model: &RowsOfIds,
            score: &score,
            parameters: &parameters,
            seed: 0,
            policy: Policy::default(),
            reduce: GradientReduce::Mean,
            log: None,
        };
        let judged = trainer.evaluate(&loader)?;

        let (mut edges, mut others) = (Vec::new(), Vec::new());
        for batch in loader.each_seed_once() {
            let Some(batch) = batch.transpose()? else { continue };
            let seeds = batch.neighbourhood.seeds();
            let score = |edge: u64, [source, destination]: [i64; 2]| {
                let etype = book.edge_type(edge).unwrap() as i64;
                let [u, v] = [source, destination].map(|end| row(seeds[end as usize]));
                let factor = |i: usize| u[i] * v[i] * vectors.double_value(&[etype, i as i64]);
                (0..WIDTH as usize).map(factor).sum::<f64>() as f32
            };
            for (i, edge) in batch.edges.iter().enumerate() {
                let ends = |pairs: &Pairs, i: usize| [pairs.sources[i], pairs.destinations[i]];
                edges.push(score(*edge, ends(&batch.positive, i)));
                others.extend([0, 1].map(|k| score(*edge, ends(&batch.negative, 2 * i + k))));
            }
        }
        let close = |a: Option<f64>, b: Option<f64>| (a.unwrap() - b.unwrap()).abs() < 1e-6;
        assert!(close(judged.auc, auc(&edges, &others)));
        assert!(close(judged.mean_reciprocal_rank, mean_reciprocal_rank(&edges, &others)));
        Ok(())
    };
    on_ranks(1, 1, check).unwrap();
}
