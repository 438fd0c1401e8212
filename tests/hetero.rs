//! Heterogeneous graphs: DGL's numbers for HeteroGraphConv on DGL's own partitions (tests/fixtures/hetero_layers.py), and a
//! model with learned rows whose numbers do not depend on the partitioning and whose gradients are derivatives.
#![cfg(feature = "torch")]
#![allow(clippy::unwrap_used)]

mod common;
#[path = "common/tensor_files.rs"]
mod tensor_files;

use std::collections::HashMap;
use std::rc::Rc;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use sar::Result;
use sar::engine::tape::{HeteroGraphShardManager, Init, ParameterBuilder, Policy, Tape};
use sar::formats::dgl::Partition;
use sar::formats::dgl::config::PartitionConfig;
use sar::graph::{CanonicalEtype, GraphShard, PartitionBook, ShardBuilder};
use sar::io::IoCounters;
use sar::load::{EdgeData, NodeFeatures, Normalize, construct_full_hetero_graph};
use sar::nn::{
    AttentionConfig, Conv, GatConv, GcnConv, GcnConvConfig, GcnOptions, GinOptions, HeadMerge,
    Heads, HeteroConfig, HeteroGraphConv, HeteroStack, JumpMode, LearnedRows, ModelConfig,
    ModelKind, NodeEmbedding, Norm, NormKind, Optimizer, OptimizerConfig, Regularizer,
    RelationMerge, RgcnOptions, SageAggregator, SageConv, SageConvConfig, SageOptions,
};
use sar::testing::{RankContext, on_ranks};
use tch::{Kind, Tensor};
use tensor_files::{Tensors, assert_close, tensors};

fn fixture(name: &str) -> Tensors {
    let path = common::repository("tests/fixtures/hetero_layers").join(name);
    tensors(&std::fs::read(path.with_extension("safetensors")).unwrap())
}

fn values(tensor: &Tensor) -> Vec<f64> {
    Vec::try_from(tensor.to_kind(Kind::Double).contiguous().flatten(0, -1)).unwrap()
}

fn layer(name: &str, parameters: &mut ParameterBuilder) -> Box<dyn Conv> {
    let (in_feats, out_feats) = (2, 3);
    match name {
        "sage" => {
            let (aggregator, edge_weights) = (SageAggregator::Mean, false);
            let config = SageConvConfig { in_feats, out_feats, aggregator, edge_weights };
            Box::new(SageConv::new(parameters, config))
        }
        "gcn" => {
            let (norm, edge_weights, allow_zero_in_degree) = (Norm::Both, false, true);
            let config =
                GcnConvConfig { in_feats, out_feats, norm, edge_weights, allow_zero_in_degree };
            Box::new(GcnConv::new(parameters, config))
        }
        _ => {
            let config = AttentionConfig {
                in_feats,
                out_feats,
                heads: 2,
                feat_drop: 0.0,
                attn_drop: 0.0,
                negative_slope: 0.2,
                residual: false,
                merge: HeadMerge::Concat,
            };
            Box::new(GatConv::new(parameters, config))
        }
    }
}

/// The results of one rank: by key, original type-wise ids and rows.
type Rows = Vec<(String, Vec<i64>, Vec<f64>)>;

/// This rank's gradients of parameters, by key.
type Gradients = Vec<(String, Vec<f64>)>;

/// Runs the layer on one rank, and backwards from the outputs of node type `target`; returns rows, and gradients of parameters.
fn dgl_rank(
    context: &RankContext,
    (name, merge, target): (&str, RelationMerge, usize),
    start: &Tensors,
) -> Result<(Rows, Gradients)> {
    let config = PartitionConfig::open(&common::repository("tests/fixtures/hetero/g.json"))?;
    let partition = Partition::open(&config, context.rank)?;
    let manager = &context.manager;
    let edges = EdgeData::default();
    let graph = construct_full_hetero_graph(manager, &context.group, &partition, edges)?;
    let mut builder = ParameterBuilder::new(1);
    let conv = HeteroGraphConv::new(&mut builder, &graph, merge, |parameters, _| {
        Ok(Some(layer(name, parameters)))
    })?;
    let parameters = Rc::new(builder.finish(manager, Kind::Double)?);
    let flat = parameters.flat().pin()?.copy();
    for parameter in parameters.iter() {
        let (shape, values) = &start[&format!("param.{}", parameters.name(parameter))];
        let value = Tensor::from_slice(values).view(&shape[..]);
        parameters.view(&flat, parameter)?.copy_(&value);
    }
    parameters.set_flat(flat)?;

    let mut tape = Tape::training(manager, &parameters, Policy::Rematerialise, 1, 1);
    let (mut inputs, mut ids) = (Vec::new(), Vec::new());
    for features in NodeFeatures::by_type(&partition, None, Normalize::None)? {
        let features = features.unwrap().read(Kind::Double, &IoCounters::default())?;
        // Features hold twice the original id, and one more.
        let doubled = values(&features.select(1, 0));
        ids.push(doubled.iter().map(|v| *v as i64 / 2).collect::<Vec<_>>());
        let mut builder = ParameterBuilder::new(1);
        let rows = builder.add("rows", &features.size(), Init::Zeros);
        let set = builder.finish(manager, Kind::Double)?;
        let flat = set.flat().pin()?.copy();
        set.view(&flat, rows)?.copy_(&(features / 10.0).sin());
        set.set_flat(flat)?;
        inputs.push(Some(tape.learned_input(&Rc::new(set), rows)));
    }
    let mut outputs = conv.forward(&mut tape, &graph, &inputs)?;
    let ntypes = graph.ntypes();
    let mut rows = Vec::new();
    for (ntype, output) in outputs.iter().enumerate() {
        let output = values(&*output.as_ref().unwrap().pin()?);
        rows.push((format!("output.{}", ntypes[ntype]), ids[ntype].clone(), output));
    }
    let output = outputs.swap_remove(target).unwrap();
    drop(outputs);
    let cotangent = output.pin()?.sin();
    let gradients = tape.backward(output, cotangent)?;
    for (ntype, input) in inputs.iter().enumerate() {
        let input = input.as_ref().unwrap();
        let gradient = match gradients.input(input) {
            Some(gradient) => values(&*gradient.pin()?),
            None => vec![0.0; input.size().iter().product::<i64>() as usize],
        };
        let key = format!("{}.input.{}", ntypes[target], ntypes[ntype]);
        rows.push((key, ids[ntype].clone(), gradient));
    }
    let flat = parameters.flat_gradients(&gradients)?;
    let of_parameters = parameters.iter().map(|parameter| {
        let key = format!("{}.grad.{}", ntypes[target], parameters.name(parameter));
        Ok((key, values(&parameters.view(&flat, parameter)?)))
    });
    Ok((rows, of_parameters.collect::<Result<_>>()?))
}

#[test]
fn layers_on_relations_give_dgls_outputs_and_gradients() {
    for (file, name, merge) in [
        ("sage_sum", "sage", RelationMerge::Sum),
        ("sage_mean", "sage", RelationMerge::Mean),
        ("sage_max", "sage", RelationMerge::Max),
        ("sage_min", "sage", RelationMerge::Min),
        ("sage_stack", "sage", RelationMerge::Stack),
        ("gcn_sum", "gcn", RelationMerge::Sum),
        ("gat_mean", "gat", RelationMerge::Mean),
    ] {
        let expected = fixture(file);
        for target in 0..2 {
            let rank = |context: RankContext| dgl_rank(&context, (name, merge, target), &expected);
            let mut whole: HashMap<String, Vec<f64>> = HashMap::new();
            for (rows, gradients) in on_ranks(2, 1, rank).unwrap() {
                for (key, ids, values) in rows {
                    let width = values.len() / ids.len();
                    let size = expected[&key].1.len();
                    let all = whole.entry(key).or_insert_with(|| vec![f64::NAN; size]);
                    for (id, row) in ids.iter().zip(values.chunks(width)) {
                        all[*id as usize * width..][..width].copy_from_slice(row);
                    }
                }
                for (key, values) in gradients {
                    let sum = whole.entry(key).or_insert_with(|| vec![0.0; values.len()]);
                    sum.iter_mut().zip(values).for_each(|(sum, v)| *sum += v);
                }
            }
            for (key, values) in whole {
                assert_close(&format!("{file} {key}"), &values, &expected[&key].1, 1e-10);
            }
        }
    }
}

/// Nodes of the types a, b (without features) and c (without in-edges) on each partition.
type Counts = [[u64; 3]];

const PARTITIONINGS: [&Counts; 4] = [
    &[[12, 8, 5]],
    &[[7, 2, 5], [5, 6, 0]],
    &[[4, 0, 1], [1, 8, 2], [7, 0, 2]],
    &[[6, 4, 2], [0, 0, 0], [6, 3, 3], [0, 1, 0]],
];

const ENDS: [(usize, usize); 5] = [(0, 0), (1, 0), (0, 1), (2, 0), (1, 1)];

fn book(counts: &Counts) -> PartitionBook {
    let names = ["a", "b", "c"];
    let etypes = ENDS.iter().enumerate();
    let etypes =
        etypes.map(|(i, (s, d))| CanonicalEtype::new(names[*s], &format!("r{i}"), names[*d]));
    let nodes: Vec<Vec<u64>> = counts.iter().map(|row| row.to_vec()).collect();
    let edges = vec![vec![0; ENDS.len()]; counts.len()];
    let names = names.map(str::to_owned).to_vec();
    PartitionBook::new(names, etypes.collect(), &nodes, &edges).unwrap()
}

/// First index of a partition's nodes of a type among all of the type.
fn begin(counts: &Counts, part: usize, ntype: usize) -> u64 {
    counts[..part].iter().map(|row| row[ntype]).sum()
}

/// The shards of each relation; the edges are the same for any partitioning.
fn shards(counts: &Counts, rank: usize) -> Vec<(Vec<GraphShard>, Vec<Vec<u32>>)> {
    let totals: Vec<u64> = (0..3).map(|t| begin(counts, counts.len(), t)).collect();
    let mut rng = ChaCha8Rng::seed_from_u64(9);
    let relations = ENDS.iter().map(|&(src_type, dst_type)| {
        let edges: Vec<(u64, u64)> = (0..20)
            .map(|_| (rng.random_range(0..totals[src_type]), rng.random_range(0..totals[dst_type])))
            .collect();
        let range =
            |part: usize, ntype: usize| begin(counts, part, ntype)..begin(counts, part + 1, ntype);
        let own = range(rank, dst_type);
        let built = (0..counts.len()).map(|source| {
            let theirs = range(source, src_type);
            let mut builder = ShardBuilder::default();
            for (src, dst) in &edges {
                if theirs.contains(src) && own.contains(dst) {
                    builder.push((src - theirs.start) as u32, (dst - own.start) as u32);
                }
            }
            let sizes = ((own.end - own.start) as usize, (theirs.end - theirs.start) as usize);
            builder.build(sizes.0, sizes.1, source == rank).unwrap()
        });
        built.unzip()
    });
    relations.collect()
}

/// Values that depend only on the node and the column.
fn wave(nodes: std::ops::Range<u64>, width: i64) -> Tensor {
    let value = |node: u64, column: i64| (node as f64 * 1.7 + column as f64 * 2.3).sin();
    let rows = (nodes.end - nodes.start) as i64;
    let values: Vec<f64> =
        nodes.flat_map(|v| (0..width).map(move |column| value(v, column))).collect();
    Tensor::from_slice(&values).view([rows, width])
}

#[derive(Default)]
struct Step {
    logits: Vec<f64>,
    loss: f64,
    gradient: Vec<f64>,
    /// The learned rows of type b after an update.
    rows: Vec<f64>,
}

fn step(
    context: &RankContext,
    counts: &Counts,
    kind: ModelKind,
    nudge: Option<(usize, f64)>,
) -> Result<Step> {
    let (manager, rank) = (&context.manager, context.rank);
    let book = book(counts);
    let graph = HeteroGraphShardManager::new(manager, &context.group, &book, shards(counts, rank))?;
    let merge = RelationMerge::Mean;
    let config = config(kind, merge);
    let mut builder = ParameterBuilder::new(2);
    let widths = [Some(3), None, Some(2)];
    let model = HeteroStack::new(&mut builder, &graph, &config, &widths, 0, 2)?;
    let parameters = Rc::new(builder.finish(manager, Kind::Double)?);
    let mut flat = values(&*parameters.flat().pin()?);
    flat.iter_mut().enumerate().for_each(|(i, v)| *v += 0.05 * (i as f64).cos());
    if let Some((index, by)) = nudge {
        flat[index] += by;
    }
    parameters.set_flat(Tensor::from_slice(&flat))?;
    let nodes = |t: usize| begin(counts, rank, t)..begin(counts, rank + 1, t);
    let own = book.type_nodes(rank, 1);
    let sgd = OptimizerConfig::Sgd { lr: 0.1, momentum: 0.0, weight_decay: 0.0 };
    let embedding = NodeEmbedding::new(manager, "b", own, model.width(), Kind::Double, 5)?;

    let mut tape = Tape::training(manager, &parameters, Policy::Rematerialise, 3, 1);
    let learned = embedding.input(&mut tape);
    let a = tape.input(&manager.track("features", wave(nodes(0), 3)));
    let c = tape.input(&manager.track("features", wave(nodes(2), 2)));
    let logits = model.forward(&mut tape, &[&graph; 3], vec![a, learned.clone(), c])?;
    let output = logits.pin()?.copy();
    let cotangent = wave(nodes(0), 2);
    let loss = (&output * &cotangent).sum(Kind::Double).double_value(&[]);
    let gradients = tape.backward(logits, cotangent)?;
    let gradient = embedding.flat_gradient(&learned, &gradients)?;
    Optimizer::new(sgd, manager)?.step(embedding.parameters(), gradient)?;
    Ok(Step {
        logits: values(&output),
        loss,
        gradient: values(&parameters.flat_gradients(&gradients)?),
        rows: values(&embedding.rows()?),
    })
}

fn whole_step(counts: &Counts, kind: ModelKind, nudge: Option<(usize, f64)>) -> Step {
    let ranks = counts.len();
    let mut whole = Step::default();
    for part in on_ranks(ranks, 1, |context| step(&context, counts, kind, nudge)).unwrap() {
        whole.logits.extend(part.logits);
        whole.rows.extend(part.rows);
        whole.loss += part.loss;
        whole.gradient.resize(part.gradient.len(), 0.0);
        whole.gradient.iter_mut().zip(part.gradient).for_each(|(sum, g)| *sum += g);
    }
    whole
}

/// A model of three layers; GIN has everything between them.
fn config(kind: ModelKind, merge: RelationMerge) -> HeteroConfig {
    let plain = ModelConfig { kind, layers: 3, hidden: 4, dropout: 0.0, ..ModelConfig::default() };
    let model = match kind {
        ModelKind::Gin(_) => ModelConfig {
            norm: NormKind::Batch,
            jumping_knowledge: JumpMode::Cat,
            residual: true,
            ..plain
        },
        _ => plain,
    };
    HeteroConfig { model, merge }
}

fn kinds() -> [ModelKind; 6] {
    [
        ModelKind::Sage(SageOptions { aggregator: SageAggregator::Mean, edge_weights: false }),
        ModelKind::Gcn(GcnOptions { norm: Norm::Both, edge_weights: false }),
        ModelKind::Gat(Heads { heads: 2, attention_dropout: 0.0 }),
        ModelKind::Gin(GinOptions { learn_eps: true, edge_weights: false }),
        ModelKind::Rgcn(RgcnOptions { regularizer: Regularizer::Basis(2) }),
        ModelKind::Rgcn(RgcnOptions { regularizer: Regularizer::Bdd(2) }),
    ]
}

#[test]
fn the_numbers_do_not_depend_on_the_partitioning_learned_rows_included() {
    for kind in kinds() {
        let one = whole_step(PARTITIONINGS[0], kind, None);
        for counts in &PARTITIONINGS[1..] {
            let many = whole_step(counts, kind, None);
            let what = format!("{kind:?} {counts:?}");
            assert_close(&what, &many.logits, &one.logits, 1e-10);
            assert_close(&what, &many.gradient, &one.gradient, 1e-10);
            assert_close(&what, &many.rows, &one.rows, 1e-10);
        }
    }
}

#[test]
fn gradients_are_derivatives() {
    let counts = PARTITIONINGS[2];
    for kind in kinds() {
        let gradient = whole_step(counts, kind, None).gradient;
        let mut rng = ChaCha8Rng::seed_from_u64(8);
        for _ in 0..6 {
            let i = rng.random_range(0..gradient.len());
            let loss = |by| whole_step(counts, kind, Some((i, by))).loss;
            let numeric = (loss(1e-6) - loss(-1e-6)) / 2e-6;
            assert!(
                (numeric - gradient[i]).abs() < 1e-6 + 1e-5 * numeric.abs(),
                "{kind:?}, parameter {i}: {} instead of {numeric}",
                gradient[i]
            );
        }
    }
}

#[test]
fn learned_rows_come_back_on_another_number_of_partitions() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("embeds.safetensors");
    let embedding = |context: &RankContext, counts: &Counts, ntype: &str, seed: u64| {
        let nodes = book(counts).type_nodes(context.rank, 1);
        NodeEmbedding::new(&context.manager, ntype, nodes, 3, Kind::Float, seed)
    };
    let save = |context: RankContext| {
        let embedding = embedding(&context, PARTITIONINGS[3], "b", 1)?;
        embedding.save(&path, &*context.group)?;
        Ok(values(&embedding.rows()?))
    };
    let saved = on_ranks(4, 1, save).unwrap().concat();
    let load = |context: RankContext| {
        let other = embedding(&context, PARTITIONINGS[1], "a", 2)?;
        let unlike = other.load(&path).unwrap_err().to_string();
        assert!(unlike.contains("embeds.a.weight"), "{unlike}");
        let embedding = embedding(&context, PARTITIONINGS[1], "b", 2)?;
        embedding.load(&path)?;
        Ok(values(&embedding.rows()?))
    };
    assert_eq!(on_ranks(2, 1, load).unwrap().concat(), saved);
}

#[test]
fn a_target_that_no_edge_ends_at_is_refused() {
    let counts = PARTITIONINGS[0];
    let refused = on_ranks(1, 1, |context| {
        let book = book(counts);
        let shards = shards(counts, 0);
        let graph = HeteroGraphShardManager::new(&context.manager, &context.group, &book, shards)?;
        let kind = kinds()[0];
        let merge = RelationMerge::Sum;
        let config = config(kind, merge);
        let widths = [Some(3), None, Some(2)];
        HeteroStack::new(&mut ParameterBuilder::new(1), &graph, &config, &widths, 2, 2).map(drop)
    });
    assert!(refused.unwrap_err().to_string().contains("no edge ends at a node of type c"));
}

#[test]
fn features_of_one_type_expand_to_all_nodes_with_zeros() {
    let json = "tests/fixtures/hetero/g.json".as_ref();
    let config = PartitionConfig::open(json).unwrap();
    let counters = IoCounters::default();
    for part in 0..config.parts().len() {
        let partition = Partition::open(&config, part).unwrap();
        let by_type = NodeFeatures::by_type(&partition, None, Normalize::None).unwrap();
        for (ntype, name) in partition.book().ntypes().iter().enumerate() {
            let key = format!("{name}/feat");
            let refused = NodeFeatures::find(&partition, Some(&key), Normalize::None);
            assert!(refused.is_err(), "{key}");
            let expanded =
                NodeFeatures::expand_to_all(&partition, Some(&key), Normalize::None).unwrap();
            let all = expanded.read(Kind::Double, &counters).unwrap();
            assert_eq!(all.size(), [partition.num_inner_nodes() as i64, expanded.width()]);
            let mut rows = Vec::new();
            for (other, features) in by_type.iter().enumerate() {
                let features = features.as_ref().unwrap().read(Kind::Double, &counters).unwrap();
                let zeros = Tensor::zeros(
                    [features.size()[0], expanded.width()],
                    (Kind::Double, tch::Device::Cpu),
                );
                rows.push(if other == ntype { features } else { zeros });
            }
            assert_eq!(values(&all), values(&Tensor::cat(&rows, 0)), "{key}");
            let some: Vec<u32> = (0..partition.num_inner_nodes() as u32).step_by(3).collect();
            let picked = expanded.read_rows(&some, &counters).unwrap();
            let wanted =
                Tensor::from_slice(&some.iter().map(|row| i64::from(*row)).collect::<Vec<_>>());
            assert_eq!(values(&picked), values(&all.index_select(0, &wanted)), "{key}");
        }
    }
}
