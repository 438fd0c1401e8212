//! Draws the neighbourhoods of training nodes, without training, and prints the edges drawn per second, as
//! `benches/sampling_against_dgl.py rate` does with DGL. With a share of memory for rows of features (in MiB), features are
//! also read, and the bytes that batches need are compared with the bytes that are read.
//!
//!     cargo run --release --example sampling_rate -- [G.JSON [FANOUTS [BATCH SIZE [THREADS [BATCHES [MIB OF ROWS]]]]]]

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use sar::engine::comm::{NoHooks, Ranks};
use sar::formats::dgl::config::PartitionConfig;
use sar::graph::Block;
use sar::io::IoCounters;
use sar::load::{NodeColumn, Normalize};
use sar::sampling::loaders::{DataLoader, DataLoaderConfig, DistNeighborSampler};
use sar::sampling::stores::{DistGraph, Fanout, IndexConfig};
use sar::testing::on_ranks;

fn main() -> anyhow::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let karate = concat!(env!("CARGO_MANIFEST_DIR"), "/data/karate/karate.json");
    let json = arguments.first().map_or(karate, String::as_str);
    let fanouts = arguments.get(1).map_or("15,10,5", String::as_str);
    let fanouts = fanouts.split(',').map(|f| Ok(Fanout::Total(f.parse()?)));
    let fanouts = fanouts.collect::<anyhow::Result<Vec<_>>>()?;
    let number = |i: usize, usual: usize| arguments.get(i).map_or(Ok(usual), |text| text.parse());
    let (batch_size, sampler_threads) = (number(2, 1024)?, number(3, 2)?);
    let batches = number(4, usize::MAX)?;
    let room = arguments.get(5).map(|mib| mib.parse::<u64>()).transpose()?;

    let folder = tempfile::tempdir_in("/var/tmp")?;
    let partitions = PartitionConfig::open(Path::new(json))?;
    let graph = DistGraph::create(&partitions, &IndexConfig::default(), folder.path())?;
    let graph = Arc::new(graph);
    let nodes: Vec<u64> = (0..graph.num_nodes(None)?).collect();
    let mut mask = vec![0; nodes.len()];
    graph.ndata("train_mask")?.read_i64(&nodes, &mut mask)?;
    let seeds: Vec<u64> = nodes.into_iter().filter(|node| mask[*node as usize] != 0).collect();
    drop(mask);
    on_ranks(1, 1, |context| {
        let mut sampler = DistNeighborSampler::new(fanouts.clone())?.out_degrees(false);
        if room.is_some() {
            let counters = IoCounters::default();
            let features = NodeColumn::features(&partitions, None, Normalize::None, counters)?;
            sampler = sampler.input_node_feature("features", features);
        }
        let config = DataLoaderConfig { batch_size, sampler_threads, ..Default::default() };
        let ranks = Ranks { group: &*context.group, hooks: &NoHooks };
        let loader = DataLoader::new(graph.clone(), seeds.clone(), sampler, config, ranks)?;
        loader.keep_rows(room.unwrap_or(0) << 20)?;
        for epoch in 1..=3 {
            let begin = (Instant::now(), processor_seconds(), loader.sampler().row_bytes());
            let (mut edges, mut count) = (0, 0);
            for batch in loader.epoch(epoch).take(batches) {
                edges += batch?.blocks.iter().map(Block::num_edges).sum::<usize>();
                count += 1;
            }
            let rate = |seconds: f64| edges as f64 / seconds / 1e6;
            println!(
                "{edges} edges, {:.2} million per second, {:.2} per processor second",
                rate(begin.0.elapsed().as_secs_f64()),
                rate(processor_seconds() - begin.1)
            );
            let rows = loader.sampler().row_bytes() - begin.2;
            if rows.needed > 0 {
                println!(
                    "{count} batches: rows of {:.1} MiB each, {:.2} times as much read",
                    rows.needed as f64 / f64::from(count) / f64::from(1 << 20),
                    rows.read as f64 / rows.needed as f64
                );
            }
        }
        Ok(())
    })?;
    Ok(())
}

/// Processor time of this process, over all threads.
fn processor_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // After the name in parentheses, user and system time are the 12th and 13th field, in hundredths of a second.
    let fields: Vec<&str> =
        stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    let ticks = |field: usize| fields.get(field).and_then(|text| text.parse::<f64>().ok());
    (ticks(11).unwrap_or(0.0) + ticks(12).unwrap_or(0.0)) / 100.0
}
