//! Draws the neighbourhoods of all training nodes, without features and without training, and prints the edges drawn per second:
//! what `benches/sampling_against_dgl.py rate` does with DGL.
//!
//!     cargo run --release --example sampling_rate -- g.json [FANOUTS] [BATCH SIZE] [THREADS]

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use sar::comm::NoHooks;
use sar::data::dgl::PartitionConfig;
use sar::dist::{DistGraph, Fanout, IndexConfig};
use sar::graph::Block;
use sar::loader::{DataLoader, DataLoaderConfig, DistNeighborSampler};
use sar::testing::on_ranks;

fn main() -> anyhow::Result<()> {
    let mut arguments = std::env::args().skip(1);
    let json = arguments.next().ok_or_else(|| anyhow::anyhow!("which partition JSON?"))?;
    let fanouts = arguments.next().unwrap_or_else(|| "15,10,5".to_owned());
    let fanouts = fanouts.split(',').map(|f| Ok(Fanout::Total(f.parse()?)));
    let fanouts = fanouts.collect::<anyhow::Result<Vec<_>>>()?;
    let batch_size = arguments.next().map_or(Ok(1024), |text| text.parse())?;
    let sampler_threads = arguments.next().map_or(Ok(2), |text| text.parse())?;

    let folder = tempfile::tempdir_in("/var/tmp")?;
    let partitions = PartitionConfig::open(Path::new(&json))?;
    let graph = DistGraph::create(&partitions, &IndexConfig::default(), folder.path())?;
    let graph = Arc::new(graph);
    let nodes: Vec<u64> = (0..graph.num_nodes(None)?).collect();
    let mut mask = vec![0; nodes.len()];
    graph.ndata("train_mask")?.read_i64(&nodes, &mut mask)?;
    let seeds: Vec<u64> = nodes.into_iter().filter(|node| mask[*node as usize] != 0).collect();
    on_ranks(1, 1, |context| {
        let sampler = DistNeighborSampler::new(fanouts.clone())?.out_degrees(false);
        let config = DataLoaderConfig { batch_size, sampler_threads, ..Default::default() };
        let ranks = (&*context.group, &NoHooks as _);
        let loader = DataLoader::new(graph.clone(), seeds.clone(), sampler, config, ranks)?;
        for epoch in 1..=3 {
            let begin = (Instant::now(), processor_seconds());
            let mut edges = 0;
            for batch in loader.epoch(epoch) {
                edges += batch?.blocks.iter().map(Block::num_edges).sum::<usize>();
            }
            let wall = begin.0.elapsed().as_secs_f64();
            let processor = processor_seconds() - begin.1;
            let rate = |seconds: f64| edges as f64 / seconds / 1e6;
            println!(
                "{edges} edges, {:.2} million per second, {:.2} per processor second",
                rate(wall),
                rate(processor)
            );
        }
        Ok(())
    })?;
    Ok(())
}

/// Processor time of this process, all threads together.
fn processor_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // Behind the name in parentheses: user and system time are the 12th and 13th field, in hundredths of a second.
    let fields: Vec<&str> =
        stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    let ticks = |field: usize| fields.get(field).and_then(|text| text.parse::<f64>().ok());
    (ticks(11).unwrap_or(0.0) + ticks(12).unwrap_or(0.0)) / 100.0
}
