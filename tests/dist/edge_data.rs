//! Guards against: a program's own edge data that samplers do not see, mix up between ranks or edge types, or that outlives its
//! use.

use sar::Result;
use sar::engine::comm::{NoHooks, Ranks};
use sar::graph::HeteroBlock;
use sar::sampling::loaders::{DataLoader, DataLoaderConfig, DistNeighborSampler};
use sar::sampling::stores::{
    DistTensor, DistTensorConfig, Fanout, PartitionPolicy, SampleKey, edge_data,
};
use sar::testing::on_ranks;
use tch::{Device, Kind, Tensor};

use crate::node_data::{open, rows};

const KEY: SampleKey = SampleKey { seed: 0, epoch: 1, batch: 0, layer: 0 };

#[test]
fn each_ranks_tensors_are_the_features_of_the_edges_of_all_blocks() {
    let (graph, folder) = open("data/karate/karate.json");
    let book = graph.book();
    let parts = book.num_parts();
    let checked = on_ranks(parts, parts, |context| {
        let ranks = Ranks { group: &*context.group, hooks: &NoHooks };
        let own = Tensor::from_slice(&rows(0, book.edge_range(context.rank), 6)).view([-1, 2, 3]);
        let features = edge_data(book, 0, &own.to_kind(Kind::Double), folder.path(), ranks)?;
        let sampler = DistNeighborSampler::new(vec![Fanout::Total(3), Fanout::Total(2)])?
            .edge_feature("e", features);
        let nodes = book.node_range(context.rank).collect();
        let config = DataLoaderConfig { batch_size: 4, ..DataLoaderConfig::default() };
        let loader = DataLoader::new(graph.clone(), nodes, sampler, config, ranks)?;
        for batch in loader.epoch(1) {
            let batch = batch?;
            for (block, edata) in batch.blocks.iter().zip(&batch.edata) {
                let expected = rows(0, block.edges().iter().copied(), 6);
                assert_eq!(edata["e"], Tensor::from_slice(&expected).view([-1, 6]));
            }
        }
        let few = Tensor::zeros([1, 2], (Kind::Float, Device::Cpu));
        let error = edge_data(book, 0, &few, folder.path(), ranks).unwrap_err().to_string();
        assert!(error.contains("does not have a row for each of"), "{error}");
        Ok(loader.len())
    });
    assert!(checked.unwrap().iter().all(|steps| *steps > 1));
    let left = std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name());
    let left: Vec<_> = left.filter(|name| name.to_string_lossy().contains("anonymous")).collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn assigned_tensors_are_the_graphs_edge_data() -> Result<()> {
    let (graph, folder) = open("tests/fixtures/hetero_edges/g.json");
    let book = graph.book();
    let tensor = |policy: PartitionPolicy, width: usize| {
        let config = DistTensorConfig {
            folder: folder.path(),
            name: None,
            row_shape: &[width],
            policy,
            persistent: false,
        };
        DistTensor::<f32>::create_with(book, &config, |first, filled: &mut [f32]| {
            let count = (filled.len() / width) as u64;
            let (PartitionPolicy::Nodes(number) | PartitionPolicy::Edges(number)) = policy;
            filled.copy_from_slice(&rows(number, first..first + count, width as i64));
        })
    };
    // Each edge type has its own width: 1, 2, 3 and 4.
    let types = 0..book.etypes().len();
    let all = types.clone().map(|etype| tensor(PartitionPolicy::Edges(etype), etype + 1));
    let all = all.collect::<Result<Vec<_>>>()?;
    for tensor in &all {
        graph.set_edata("x", tensor)?;
    }
    let mut sampler = DistNeighborSampler::new(vec![Fanout::ALL; 2])?;
    for (number, etype) in book.etypes().iter().enumerate() {
        let name = etype.to_string();
        let features = graph.edata_of_type(&name, "x")?;
        let ids: Vec<u64> = (0..book.num_edges_of_type(number)).rev().collect();
        let width = number as i64 + 1;
        let expected = Tensor::from_slice(&rows(number, ids.iter().copied(), width));
        let read = features.read_of_type(number, &ids, Kind::Float)?;
        assert_eq!(read, expected.view([-1, width]), "{name}");
        sampler = sampler.edge_feature(&name, features);
    }
    // A block has the rows of the edges of each type, in the order of its edges.
    let seeds: Vec<u64> = (0..book.num_nodes()).rev().collect();
    let batch = sampler.sample(&*graph, &seeds, KEY)?;
    for (block, edata) in batch.blocks.iter().zip(&batch.edata) {
        let block = HeteroBlock::new(block, book)?;
        for (number, edges) in block.relations().iter().enumerate() {
            let width = number as i64 + 1;
            let expected = Tensor::from_slice(&rows(number, edges.edges.iter().copied(), width));
            assert_eq!(edata[&book.etypes()[number].to_string()], expected.view([-1, width]));
        }
    }
    let error = graph.edata("x").unwrap_err().to_string();
    assert!(error.contains("2 numbers per edge, but other types of edges have 1"), "{error}");
    // With one width, all edges have rows under one name.
    let alike = types.map(|etype| tensor(PartitionPolicy::Edges(etype), 2));
    let alike = alike.collect::<Result<Vec<_>>>()?;
    for tensor in &alike {
        graph.set_edata("x", tensor)?;
    }
    let edges: Vec<u64> = (0..book.num_edges()).rev().collect();
    let places = edges.iter().map(|edge| book.edge_to_per_type(*edge).unwrap());
    let expected: Vec<f32> =
        places.flat_map(|(etype, id)| rows(etype, std::iter::once(id), 2)).collect();
    let read = graph.edata("x")?.read(&edges, Kind::Float)?;
    assert_eq!(read, Tensor::from_slice(&expected).view([-1, 2]));
    // A tensor is edge data, not a copy: rows written now are read.
    alike[0].write(&[1], &[-1.0, -2.0])?;
    let name = book.etypes()[0].to_string();
    let read = graph.edata_of_type(&name, "x")?.read_of_type(0, &[1], Kind::Float)?;
    assert_eq!(read, Tensor::from_slice(&[-1.0_f32, -2.0]).view([1, 2]));
    let error = graph.set_edata("x", &tensor(PartitionPolicy::Nodes(0), 2)?).unwrap_err();
    assert!(error.to_string().contains("belongs to nodes"), "{error}");
    // Names of the partitions' own features are covered, and come back.
    let stored = graph.edata_of_type(&name, "vector")?.width();
    graph.set_edata("vector", &tensor(PartitionPolicy::Edges(0), 7)?)?;
    assert_eq!(graph.edata_of_type(&name, "vector")?.width(), 7);
    assert!(graph.remove_edata("vector") && !graph.remove_edata("vector"));
    assert_eq!(graph.edata_of_type(&name, "vector")?.width(), stored);
    Ok(())
}
