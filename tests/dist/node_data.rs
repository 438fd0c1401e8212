//! Guards against: a program's own node data that loaders do not see, mix up between ranks or types, or that outlives its use.

use std::sync::Arc;

use sar::Result;
use sar::engine::comm::{NoHooks, Ranks};
use sar::engine::tape::Init;
use sar::formats::dgl::config::PartitionConfig;
use sar::sampling::loaders::{DataLoader, DataLoaderConfig, DistNeighborSampler};
use sar::sampling::stores::{
    DistEmbedding, DistGraph, DistTensor, DistTensorConfig, Fanout, IndexConfig, PartitionPolicy,
    node_data, start_values,
};
use sar::testing::on_ranks;
use tch::{Kind, Tensor};
use tempfile::TempDir;

use crate::common;

pub(crate) fn open(json: &str) -> (Arc<DistGraph>, TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let config = PartitionConfig::open(&common::repository(json)).unwrap();
    let graph = DistGraph::create(&config, &IndexConfig::default(), folder.path()).unwrap();
    (Arc::new(graph), folder)
}

/// A value of row `id`, column `j` of a type.
fn value(ntype: usize, id: u64, j: i64) -> f32 {
    (ntype * 1000) as f32 + id as f32 * 10.0 + j as f32
}

pub(crate) fn rows(ntype: usize, ids: impl Iterator<Item = u64>, width: i64) -> Vec<f32> {
    ids.flat_map(|id| (0..width).map(move |j| value(ntype, id, j))).collect()
}

#[test]
fn each_ranks_tensors_are_the_features_of_all_batches() {
    let (graph, folder) = open("data/karate/karate.json");
    let book = graph.book();
    let parts = book.num_parts();
    let checked = on_ranks(parts, parts, |context| {
        let ranks = Ranks { group: &*context.group, hooks: &NoHooks };
        let own = book.node_range(context.rank);
        let features = Tensor::from_slice(&rows(0, own.clone(), 6)).view([-1, 2, 3]);
        let labels: Vec<i64> = own.clone().map(|node| node as i64 * 7).collect();
        let labels = Tensor::from_slice(&labels).to_kind(Kind::Int);
        let features = node_data(book, 0, &features, folder.path(), ranks)?;
        let labels = node_data(book, 0, &labels, folder.path(), ranks)?;
        let sampler = DistNeighborSampler::new(vec![Fanout::Total(3), Fanout::Total(2)])?
            .input_node_feature("features", features)
            .output_node_feature("labels", labels);
        let config = DataLoaderConfig { batch_size: 4, ..DataLoaderConfig::default() };
        let loader = DataLoader::new(graph.clone(), own.collect(), sampler, config, ranks)?;
        for batch in loader.epoch(1) {
            let batch = batch?;
            let expected = rows(0, batch.input_nodes().iter().copied(), 6);
            assert_eq!(batch.input("features")?, &Tensor::from_slice(&expected).view([-1, 6]));
            let expected: Vec<i64> = batch.seeds().iter().map(|node| *node as i64 * 7).collect();
            assert_eq!(batch.output("labels")?, &Tensor::from_slice(&expected));
        }
        let few = Tensor::zeros([1, 2], (Kind::Float, tch::Device::Cpu));
        assert!(node_data(book, 0, &few, folder.path(), ranks).is_err());
        Ok(loader.len())
    });
    assert!(checked.unwrap().iter().all(|steps| *steps > 1));
    let left = std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name());
    let left: Vec<_> = left.filter(|name| name.to_string_lossy().contains("anonymous")).collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn assigned_tensors_are_the_graphs_node_data() -> Result<()> {
    let (graph, folder) = open("tests/fixtures/hetero/g.json");
    let book = graph.book();
    let tensor = |ntype: usize, row_shape: &[usize]| {
        let policy = PartitionPolicy::Nodes(ntype);
        let config = DistTensorConfig {
            folder: folder.path(),
            name: None,
            row_shape,
            policy,
            persistent: false,
        };
        let width = row_shape.iter().product::<usize>() as i64;
        DistTensor::<f32>::create_with(book, &config, |first, filled: &mut [f32]| {
            let count = filled.len() as u64 / width as u64;
            filled.copy_from_slice(&rows(ntype, first..first + count, width));
        })
    };
    let nodes: Vec<u64> = (0..book.num_nodes()).rev().collect();
    let place = |node: u64| book.to_per_type(node).unwrap();
    let first = tensor(0, &[2])?;
    graph.set_ndata("x", &first)?;
    let of_first: Vec<u64> = nodes.iter().copied().filter(|node| place(*node).0 == 0).collect();
    let column = graph.ndata("x")?;
    assert_eq!(*column.covered(&nodes), of_first[..]);
    let expected = rows(0, of_first.iter().map(|node| place(*node).1), 2);
    assert_eq!(column.read(&of_first)?, Tensor::from_slice(&expected).view([-1, 2]));
    let all: Vec<_> = (1..book.ntypes().len()).map(|t| tensor(t, &[2])).collect::<Result<_>>()?;
    for tensor in &all {
        graph.set_ndata("x", tensor)?;
    }
    let expected: Vec<f32> = nodes
        .iter()
        .flat_map(|node| (0..2).map(|j| value(place(*node).0, place(*node).1, j)))
        .collect();
    assert_eq!(graph.ndata("x")?.read(&nodes)?, Tensor::from_slice(&expected).view([-1, 2]));
    // A tensor is node data, not a copy: rows written now are read.
    first.write(&[1], &[-1.0, -2.0])?;
    let changed = nodes.iter().find(|node| place(**node) == (0, 1)).unwrap();
    let read = Vec::<f32>::try_from(graph.ndata("x")?.read(&[*changed])?.flatten(0, 1)).unwrap();
    assert_eq!(read, [-1.0, -2.0]);
    let error = graph.set_ndata("x", &tensor(0, &[3])?).unwrap_err().to_string();
    assert!(error.contains("3 numbers per node, but other types of nodes have 2"), "{error}");
    // Names of the partitions' own features are covered, and come back.
    let stored = graph.ndata("feat")?.width();
    graph.set_ndata("feat", &tensor(0, &[stored + 1])?)?;
    assert_eq!(graph.ndata("feat")?.width(), stored + 1);
    assert!(graph.remove_ndata("feat") && !graph.remove_ndata("feat"));
    assert_eq!(graph.ndata("feat")?.width(), stored);
    Ok(())
}

#[test]
fn a_tensor_without_a_name_is_one_tensor_on_all_ranks() {
    let (graph, folder) = open("data/karate/karate.json");
    let policy = PartitionPolicy::Nodes(0);
    let seen = on_ranks(2, 2, |context| {
        let ranks = Ranks { group: &*context.group, hooks: &NoHooks };
        let config = DistTensorConfig {
            folder: folder.path(),
            name: None,
            row_shape: &[],
            policy,
            persistent: false,
        };
        let start = |first: u64, rows: &mut [i16]| {
            rows.iter_mut().zip(first..).for_each(|(row, id)| *row = id as i16);
        };
        let a = DistTensor::on_all_ranks(graph.book(), &config, start, ranks)?;
        let b = DistTensor::on_all_ranks(graph.book(), &config, start, ranks)?;
        assert_ne!(a.name(), b.name());
        b.write(&[context.rank as u64], &[-7])?;
        sar::engine::comm::barrier(ranks.group, ranks.hooks)?;
        // A name that exists is opened, whatever `init` says.
        let config = DistTensorConfig { name: Some(b.name()), ..config };
        let same = DistTensor::on_all_ranks(graph.book(), &config, |_, _| {}, ranks)?;
        let read = [a.read(&[0, 1, 2])?, b.read(&[0, 1, 2])?, same.read(&[0, 1, 2])?];
        sar::engine::comm::barrier(ranks.group, ranks.hooks)?;
        Ok(read)
    });
    let expected = [vec![0, 1, 2], vec![-7, -7, 2], vec![-7, -7, 2]];
    assert_eq!(seen.unwrap(), [expected.clone(), expected]);
}

#[test]
fn embeddings_begin_with_the_values_of_their_distribution() {
    let (rows, dim) = (4000, 5);
    let start = |init| {
        let fill = start_values(init, rows, dim, 3);
        let mut all = vec![0.0; rows as usize * dim];
        fill(0, &mut all);
        let mut some = vec![0.0; 2 * dim];
        fill(1234, &mut some);
        assert_eq!(some, all[1234 * dim..1236 * dim], "{init:?} depends on what is filled");
        all
    };
    let moments = |values: &[f32]| {
        let count = values.len() as f64;
        let mean = values.iter().map(|v| f64::from(*v)).sum::<f64>() / count;
        let square = values.iter().map(|v| f64::from(*v).powi(2)).sum::<f64>() / count;
        (mean, square.sqrt(), values.iter().fold(0.0_f32, |most, v| most.max(v.abs())))
    };
    assert!(start(Init::Zeros).iter().all(|v| *v == 0.0));
    assert!(start(Init::Constant(1.5)).iter().all(|v| v.to_bits() == 1.5_f32.to_bits()));
    let fans = rows as f64 + dim as f64;
    for (init, deviation, most) in [
        (Init::Uniform { bound: 0.3 }, 0.3 / 3f64.sqrt(), 0.3),
        (Init::XavierUniform { gain: 2.0 }, 2.0 * (2.0 / fans).sqrt(), 2.0 * (6.0 / fans).sqrt()),
        (Init::XavierNormal { gain: 2.0 }, 2.0 * (2.0 / fans).sqrt(), f64::INFINITY),
    ] {
        let (mean, square, largest) = moments(&start(init));
        assert!(mean.abs() < 0.05 * deviation, "{init:?}: mean {mean}");
        assert!((square / deviation - 1.0).abs() < 0.05, "{init:?}: {square} {deviation}");
        assert!(f64::from(largest) <= most * 1.000_001, "{init:?}: {largest} {most}");
    }
    let normal = start(Init::XavierNormal { gain: 1.0 });
    let deviation = (2.0 / fans).sqrt() as f32;
    let beyond = normal.iter().filter(|v| v.abs() > 2.0 * deviation).count() as f64;
    assert!((beyond / normal.len() as f64 - 0.0455).abs() < 0.01, "{beyond}");
}

#[test]
fn an_embedding_is_one_embedding_on_all_ranks() {
    let (graph, folder) = open("data/karate/karate.json");
    let policy = PartitionPolicy::Nodes(0);
    let seen = on_ranks(2, 2, |context| {
        let ranks = Ranks { group: &*context.group, hooks: &NoHooks };
        let config = DistTensorConfig {
            folder: folder.path(),
            name: Some("e"),
            row_shape: &[3],
            policy,
            persistent: false,
        };
        let start = start_values(Init::Uniform { bound: 1.0 }, 34, 3, 5);
        let embedding = DistEmbedding::on_all_ranks(graph.book(), &config, &start, ranks)?;
        let rows = embedding.lookup(&[33, 0])?;
        let mut expected = [0.0; 3];
        start(33, &mut expected);
        assert_eq!((embedding.name(), &rows[..3]), ("e", &expected[..]));
        sar::engine::comm::barrier(ranks.group, ranks.hooks)?;
        Ok(rows)
    });
    let seen = seen.unwrap();
    assert_eq!(seen[0], seen[1]);
}
