//! Guards against: blocks by type that differ from DGL's, and layers per relation whose results on them differ from those on
//! the full graph, including learned rows.

use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;

use sar::Result;
use sar::engine::comm::{Ranks, gather_grads};
use sar::engine::tape::{HeteroGraphShardManager, ParameterBuilder, ParameterSet, Policy, Tape};
use sar::formats::dgl::Partition;
use sar::graph::HeteroBlock;
use sar::io::IoCounters;
use sar::load::{EdgeData, NodeColumn, NodeFeatures, Normalize, construct_full_hetero_graph};
use sar::nn::{
    GcnOptions, Heads, HeteroConfig, HeteroOutput, HeteroStack, JumpMode, LearnedRows, Loss,
    ModelConfig, ModelKind, NodeEmbedding, Norm, NormKind, RelationMerge, RgcnOptions,
    SageAggregator, SageOptions, Task,
};
use sar::sampling::loaders::{DistNeighborSampler, MiniBatch};
use sar::sampling::stores::{DistGraph, Fanout, IndexConfig, SparseAdam};
use sar::testing::{RankContext, on_ranks};
use sar::train::{
    BatchModel, Forward, HeteroBatches, HeteroModel, NodeInput, RelationDegrees, StoredRows,
    features_of, stored_rows,
};
use tch::{Kind, Tensor};

use crate::common;
use crate::logits;
use crate::support::{key, open};
use crate::tensor_files::{self, Tensors, tensors};

/// The surroundings of layers.
const AROUND: [fn() -> ModelConfig; 3] = [
    ModelConfig::default,
    || ModelConfig { norm: NormKind::Layer, residual: true, ..ModelConfig::default() },
    || ModelConfig { jumping_knowledge: JumpMode::Cat, residual: true, ..ModelConfig::default() },
];

pub(crate) const GRAPH: &str = "tests/fixtures/hetero_uneven/g.json";
pub(crate) const AUTHOR: usize = 0;
const FIELD: usize = 1;
pub(crate) const PAPER: usize = 2;

/// A model with its inputs on one rank.
pub(crate) struct Made {
    graph: HeteroGraphShardManager,
    pub(crate) model: HeteroStack,
    pub(crate) parameters: Rc<ParameterSet>,
    pub(crate) features: Vec<NodeInput>,
}

fn make(
    context: &RankContext,
    whole: &DistGraph,
    config: &HeteroConfig,
    outputs: &[HeteroOutput],
) -> Result<Made> {
    Ok(make_with(context, whole, config, outputs, |_| ())?.0)
}

/// A model, and what has parameters besides it.
pub(crate) fn make_with<T>(
    context: &RankContext,
    whole: &DistGraph,
    config: &HeteroConfig,
    outputs: &[HeteroOutput],
    besides: impl FnOnce(&mut ParameterBuilder) -> T,
) -> Result<(Made, T)> {
    let (manager, group) = (&context.manager, &context.group);
    let partition = Partition::open(whole.config(), context.rank)?;
    let columns = EdgeData { weight: Some("weight"), ..EdgeData::default() };
    let graph = construct_full_hetero_graph(manager, group, &partition, columns)?;
    let features = NodeFeatures::by_type(&partition, None, Normalize::None)?;
    let widths: Vec<_> = features.iter().map(|f| f.as_ref().map(NodeFeatures::width)).collect();
    let mut builder = ParameterBuilder::new(3);
    let model = HeteroStack::with_outputs(&mut builder, &graph, config, &widths, outputs)?;
    let besides = besides(&mut builder);
    let parameters = Rc::new(builder.finish(manager, Kind::Double)?);
    let mut inputs = Vec::new();
    for rows in features.into_iter().flatten() {
        let rows = rows.read(Kind::Double, &IoCounters::default())?;
        inputs.push(NodeInput::Features(manager.track("features", rows)));
    }
    Ok((Made { graph, model, parameters, features: inputs }, besides))
}

/// Outputs of one width for some node types.
fn three_wide(targets: &[usize]) -> Vec<HeteroOutput> {
    targets.iter().map(|ntype| HeteroOutput { ntype: *ntype, out_feats: 3 }).collect()
}

/// The sampler of all neighbours, in `layers` layers.
pub(crate) fn sampler(whole: &DistGraph, layers: usize) -> Result<DistNeighborSampler> {
    let etypes = whole.book().etypes().len();
    let all = vec![Fanout::PerEtype(vec![-1; etypes]); layers];
    let mut sampler = DistNeighborSampler::new(all)?.out_degrees(false);
    for ntype in [FIELD, PAPER] {
        let (normalize, counters) = (Normalize::None, IoCounters::default());
        let column =
            NodeColumn::features_of_type(whole.config(), ntype, None, normalize, counters)?;
        sampler = sampler.input_node_feature(&features_of(&whole.book().ntypes()[ntype]), column);
    }
    Ok(sampler)
}

/// The batch's logits, the gradients of parameters, and those of author rows with the authors.
struct Step {
    logits: Tensor,
    gradient: Tensor,
    authors: Vec<u64>,
    rows: Tensor,
}

/// A step on a batch whose loss has this gradient.
fn step(
    context: &RankContext,
    made: &Made,
    batches: &HeteroBatches<'_>,
    (whole, batch): (&DistGraph, &MiniBatch),
    loss: impl Fn(&Tensor) -> Result<Tensor>,
) -> Result<Step> {
    let manager = &context.manager;
    let forward = batches.take_up(manager, &made.parameters, whole, batch)?;
    let mut tape = Tape::training(manager, &made.parameters, Policy::Rematerialise, 1, 1);
    let (output, learned) = forward.forward(&mut tape)?;
    let logits = output.pin()?.copy();
    let gradients = tape.backward(output, loss(&logits)?)?;
    let gradient = made.parameters.flat_gradients(&gradients)?;
    let rows = gradients.input(&learned[0]).unwrap().pin()?.copy();
    let block = HeteroBlock::new(&batch.blocks[0], whole.book())?;
    Ok(Step { logits, gradient, authors: block.ends()[AUTHOR].sources.clone(), rows })
}

/// The inputs of a rank with author rows on disk.
fn stored(
    context: &RankContext,
    made: &mut Made,
    whole: &DistGraph,
    folder: &Path,
) -> Result<SparseAdam> {
    let (manager, group) = (&context.manager, &*context.group);
    let (book, width) = (whole.book(), made.model.width() as usize);
    let (mut rows, optimizer) = stored_rows(manager, group, book, &[(AUTHOR, 5)], folder, width)?;
    made.features.insert(AUTHOR, NodeInput::Stored(rows.remove(0)));
    Ok(optimizer)
}

fn author_rows(inputs: &[NodeInput]) -> &StoredRows {
    match &inputs[AUTHOR] {
        NodeInput::Stored(rows) => rows,
        _ => panic!("authors have learned rows"),
    }
}

fn kinds() -> Vec<ModelKind> {
    let heads = Heads { heads: 2, attention_dropout: 0.2 };
    let mut kinds = logits::kinds_of_relations();
    kinds.extend([ModelKind::Gat(heads), ModelKind::Gatv2(heads)]);
    kinds
}

/// The largest difference between a step on the full graph and one on blocks of all neighbours, relative to the largest number.
fn difference(
    context: &RankContext,
    (whole, folder): (&Arc<DistGraph>, &Path),
    config: &HeteroConfig,
    targets: &[usize],
) -> Result<f64> {
    let (manager, group, book) = (&context.manager, &context.group, whole.book());
    let mut made = make(context, whole, config, &three_wide(targets))?;
    let optimizer = stored(context, &mut made, whole, folder)?;
    let cotangent = |logits: &Tensor| Ok((logits * 3.0).sin());

    // On the full graph the rows are in memory.
    let (nodes, width) = (book.type_nodes(context.rank, AUTHOR), made.model.width());
    let embedding = NodeEmbedding::new(manager, "author", nodes, width, Kind::Double, 1)?;
    embedding.set_rows(&author_rows(&made.features).rows()?.to_kind(Kind::Double))?;
    let copy = |input: &NodeInput| match input {
        NodeInput::Features(rows) => NodeInput::Features(rows.clone()),
        _ => panic!("only authors have learned rows"),
    };
    let in_memory = vec![
        NodeInput::Learned(embedding),
        copy(&made.features[FIELD]),
        copy(&made.features[PAPER]),
    ];
    let full = HeteroModel {
        model: &made.model,
        graphs: vec![&made.graph; made.model.num_layers()],
        inputs: &in_memory,
        sources: None,
    };
    // The gradients of several outputs are the sums of those of each alone.
    let (mut expected, mut expected_rows, mut flat) = (Vec::new(), Vec::new(), Vec::new());
    for target in 0..targets.len() {
        let mut tape = Tape::training(manager, &made.parameters, Policy::Rematerialise, 1, 1);
        let (mut outputs, learned) = full.outputs(&mut tape)?;
        let output = outputs.swap_remove(target);
        drop(outputs);
        let values = output.pin()?.copy();
        let gradients = tape.backward(output, cotangent(&values)?)?;
        expected.push(values);
        expected_rows.push(full.learned()[0].flat_gradient(&learned[0], &gradients)?);
        flat.push(made.parameters.flat_gradients(&gradients)?);
    }
    let expected = Tensor::cat(&expected, 0);
    let sum = |parts: Vec<Tensor>| parts.into_iter().reduce(|a, b| a + b).unwrap();
    let (expected_rows, flat) = (sum(expected_rows), sum(flat));
    let expected_gradient = gather_grads(&**group, vec![flat], &**manager)?.remove(0);

    let degrees = match config.model.kind {
        ModelKind::Gcn(_) => {
            let ranks = Ranks { group: &**group, hooks: &**manager };
            Some(RelationDegrees::new(&made.graph, book, folder, ranks)?)
        }
        _ => None,
    };
    let batches = HeteroBatches::new(&made.model, &made.features, optimizer, degrees);
    // Another order than that of the full graph.
    let seeds = targets.iter().flat_map(|ntype| book.node_type_range(context.rank, *ntype));
    let mut seeds: Vec<u64> = seeds.collect();
    seeds.reverse();
    let batch = sampler(whole, config.model.layers)?.sample(&**whole, &seeds, key(0))?;
    let step = step(context, &made, &batches, (whole, &batch), cotangent)?;
    drop(batches);
    // Every rank sends the gradients of the rows that it used, and finds those of its own nodes in the sum.
    let width = made.model.width();
    let total = book.num_nodes_of_type(AUTHOR) as i64;
    let all = Tensor::zeros([total, width], (Kind::Double, tch::Device::Cpu));
    let ids: Vec<i64> = step.authors.iter().map(|id| *id as i64).collect();
    let all = all.index_add(0, &Tensor::from_slice(&ids), &step.rows);
    let mut sums = gather_grads(&**group, vec![step.gradient, all], &**manager)?;
    let own_authors = book.type_nodes(context.rank, AUTHOR);
    let rows = sums.remove(1).narrow(0, own_authors.first as i64, own_authors.own as i64);
    let pairs = [
        (step.logits.flip([0]), expected),
        (sums.remove(0), expected_gradient),
        (rows.flatten(0, -1), expected_rows),
    ];
    let differences = pairs.iter().map(|(ours, expected)| {
        let scale = expected.abs().max().double_value(&[]).max(1.0);
        (ours - expected).abs().max().double_value(&[]) / scale
    });
    Ok(differences.fold(0.0, f64::max))
}

#[test]
fn layers_per_relation_give_on_blocks_of_all_neighbours_what_they_give_on_the_full_graph() {
    let keys = IndexConfig { weight: Some("weight".to_owned()), ..IndexConfig::default() };
    let opened = open(&common::repository(GRAPH), &keys);
    let merges = [RelationMerge::Max, RelationMerge::Sum, RelationMerge::Mean];
    for (i, kind) in kinds().into_iter().enumerate() {
        let merge = merges[i % merges.len()];
        let hidden = if i % 2 == 0 { 4 } else { 9 };
        let around = AROUND[i % AROUND.len()];
        let model = ModelConfig { kind, layers: 3, hidden, dropout: 0.3, ..around() };
        let config = HeteroConfig { model, merge };
        let folder = tempfile::tempdir().unwrap();
        let targets: &[usize] = if i % 2 == 0 { &[PAPER] } else { &[AUTHOR, PAPER] };
        let work = |context| difference(&context, (&opened.graph, folder.path()), &config, targets);
        let differences = on_ranks(2, 1, work).unwrap();
        assert!(differences.iter().all(|d| *d < 1e-9), "{config:?}: {differences:?}");
    }
}

/// R-GCN has one tensor for the weights of all edge types; jumping knowledge maps to the outputs.
#[test]
fn outputs_of_several_widths_need_layers_with_separate_weights() {
    let opened = open(&common::repository(GRAPH), &IndexConfig::default());
    let outputs = [(AUTHOR, 2), (PAPER, 3)];
    let outputs = outputs.map(|(ntype, out_feats)| HeteroOutput { ntype, out_feats });
    let made = |kind, jumping_knowledge| {
        let model = ModelConfig { kind, jumping_knowledge, layers: 2, ..ModelConfig::default() };
        let config = HeteroConfig { model, merge: RelationMerge::Sum };
        let work = |context| make(&context, &opened.graph, &config, &outputs).map(drop);
        on_ranks(2, 1, work).map(drop).map_err(|e| e.to_string())
    };
    let (rgcn, sage) = (ModelKind::Rgcn(RgcnOptions::default()), ModelConfig::default().kind);
    let refused = made(rgcn, JumpMode::None).unwrap_err();
    assert!(refused.contains("node types have outputs of several widths"), "{refused}");
    assert_eq!(made(rgcn, JumpMode::Cat), Ok(()));
    assert_eq!(made(sage, JumpMode::None), Ok(()));
}

pub(crate) fn fixture(folder: &str, name: &str) -> Tensors {
    let path = common::repository("tests/fixtures").join(folder).join(name);
    tensors(&std::fs::read(path.with_extension("safetensors")).unwrap())
}

pub(crate) fn ids(tensors: &Tensors, key: &str) -> Vec<u64> {
    tensors[key].1.iter().map(|id| *id as u64).collect()
}

fn sorted(mut ids: Vec<u64>) -> Vec<u64> {
    ids.sort_unstable();
    ids
}

/// Compares blocks with DGL's, and returns the content of DGL's.
fn check_blocks(batch: &MiniBatch, whole: &DistGraph, expected: &Tensors) {
    for (layer, block) in batch.blocks.iter().enumerate() {
        let block = HeteroBlock::new(block, whole.book()).unwrap();
        for (nodes, name) in block.ends().iter().zip(whole.book().ntypes()) {
            let theirs = |end: &str| sorted(ids(expected, &format!("layer{layer}.{end}.{name}")));
            assert_eq!(sorted(nodes.sources.clone()), theirs("src"), "{layer} {name}");
            assert_eq!(sorted(nodes.destinations().to_vec()), theirs("dst"), "{layer} {name}");
        }
        for (etype, edges) in block.relations().iter().enumerate() {
            let theirs = ids(expected, &format!("layer{layer}.edges.{etype}"));
            assert_eq!(sorted(edges.edges.clone()), theirs, "{layer} {etype}");
        }
    }
}

pub(crate) fn assert_close(what: &str, ours: &Tensor, expected: &[f64]) {
    let ours = Vec::<f64>::try_from(ours.contiguous().flatten(0, -1)).unwrap();
    tensor_files::assert_close(what, &ours, expected, 1e-9);
}

/// Gives a model the start values of a fixture. Author rows are on disk.
pub(crate) fn start_from(
    context: &RankContext,
    made: &mut Made,
    (whole, folder): (&Arc<DistGraph>, &Path),
    expected: &Tensors,
) -> Result<SparseAdam> {
    let flat = made.parameters.flat().pin()?.copy();
    for parameter in made.parameters.iter() {
        let (shape, values) = &expected[&format!("param.{}", made.parameters.name(parameter))];
        let value = Tensor::from_slice(values).view(&shape[..]);
        made.parameters.view(&flat, parameter)?.copy_(&value);
    }
    made.parameters.set_flat(flat)?;
    let optimizer = stored(context, made, whole, folder)?;
    let (shape, values) = &expected["param.embeds.author.weight"];
    let start = Tensor::from_slice(values).view(&shape[..]);
    let own = whole.book().type_nodes(context.rank, AUTHOR);
    let rows = author_rows(&made.features);
    rows.set_rows(&start.narrow(0, own.first as i64, own.own as i64))?;
    sar::engine::comm::barrier(&*context.group, &*context.manager)?;
    Ok(optimizer)
}

fn check_rank(
    context: &RankContext,
    (whole, folder): (&Arc<DistGraph>, &Path),
    (name, config): (&str, &HeteroConfig),
) -> Result<()> {
    let (expected, book) = (fixture("hetero_blocks", name), whole.book());
    let mut made = make(context, whole, config, &three_wide(&[PAPER]))?;
    let optimizer = start_from(context, &mut made, (whole, folder), &expected)?;
    let seeds = ids(&expected, "seeds");
    let homogeneous = seeds.iter().map(|id| book.to_homogeneous(PAPER, *id).unwrap());
    let homogeneous: Vec<u64> = homogeneous.collect();
    let batch = sampler(whole, 2)?.sample(&**whole, &homogeneous, key(0))?;
    check_blocks(&batch, whole, &expected);
    let batches = HeteroBatches::new(&made.model, &made.features, optimizer, None);
    let counters = IoCounters::default();
    let labels = NodeColumn::labels(whole.config(), None, counters)?.read(&homogeneous)?;
    let all = labels.ge(0);
    let loss = Loss::new(Task::Classification);
    let gradient = |logits: &Tensor| Ok(loss.forward(logits, &labels, &all, seeds.len() as f64)?.1);
    let step = step(context, &made, &batches, (whole, &batch), gradient)?;
    assert_close("logits", &step.logits, &expected["logits"].1);
    for parameter in made.parameters.iter() {
        let name = format!("grad.{}", made.parameters.name(parameter));
        let ours = made.parameters.view(&step.gradient, parameter)?;
        assert_close(&name, &ours, &expected[&name].1);
    }
    let ids: Vec<i64> = step.authors.iter().map(|id| *id as i64).collect();
    let shape = &expected["grad.embeds.author.weight"].0;
    let rows = Tensor::zeros(&shape[..], (Kind::Double, tch::Device::Cpu));
    let rows = rows.index_add(0, &Tensor::from_slice(&ids), &step.rows);
    assert_close("rows", &rows, &expected["grad.embeds.author.weight"].1);
    Ok(())
}

#[test]
fn blocks_and_what_layers_per_relation_give_on_them_are_dgls() {
    let opened = open(&common::repository(GRAPH), &IndexConfig::default());
    let heads = Heads { heads: 2, attention_dropout: 0.0 };
    for (name, kind) in [
        (
            "sage",
            ModelKind::Sage(SageOptions { aggregator: SageAggregator::Mean, edge_weights: false }),
        ),
        ("gcn", ModelKind::Gcn(GcnOptions { norm: Norm::Right, edge_weights: false })),
        ("gat", ModelKind::Gat(heads)),
    ] {
        let merge = RelationMerge::Sum;
        let model =
            ModelConfig { kind, layers: 2, hidden: 5, dropout: 0.0, ..ModelConfig::default() };
        let config = HeteroConfig { model, merge };
        let folder = tempfile::tempdir().unwrap();
        let graph = (&opened.graph, folder.path());
        on_ranks(2, 2, |context| check_rank(&context, graph, (name, &config))).unwrap();
    }
}
