//! Attention stores nothing with a row per edge: with five times the edges between the same nodes, its peak of memory grows
//! only by the structure of the graph.
//!
//! This test is alone in its file, because it measures the peak of the whole process.
#![cfg(feature = "torch")]
#![allow(clippy::unwrap_used)]

use std::fs;
use std::io::Write;
use std::rc::Rc;

use sar::Result;
use sar::engine::comm::barrier;
use sar::engine::tape::{Graph, ParameterBuilder, Policy, Propagation, Tape, Var};
use sar::nn::{AttentionConfig, Conv, ConvInput, GatConv, Gatv2Conv, HeadMerge};
use sar::platform::give_memory_back;
use sar::testing::{RankContext, TestGraph, on_ranks};
use tch::{Kind, Tensor};

const NODES: u32 = 2000;
const HEADS: usize = 64;

/// Number of edges into each node, few and many.
const FEW: u32 = 50;
const MANY: u32 = 250;

/// Number of additional edges of one of the two ranks in the second case.
const MORE: u64 = (MANY - FEW) as u64 * NODES as u64 / 2;

/// Size of an edge in a shard, in bytes: its ends in two orders, its weight in two orders, its feature row.
const STRUCTURE: u64 = 4 + 4 + 4 + 4 + 8;

/// Size of an edge in one tensor of scores, in bytes, in single precision.
const SCORES: u64 = 4 * HEADS as u64;

/// Allowance for the allocator and the other rank, in bytes.
const SLACK: u64 = 8 << 20;

fn graph(edges_per_node: u32) -> TestGraph {
    let edge = |i: u32| (i.wrapping_mul(2_654_435_761) % NODES, i % NODES, 1.0);
    let edges = (0..NODES * edges_per_node).map(edge).collect();
    TestGraph { edges, types: vec![], boundaries: vec![0, NODES / 2, NODES] }
}

/// A line of /proc/self/status, in bytes.
fn memory(line: &str) -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|l| l.strip_prefix(line)).unwrap();
    line.trim_start_matches(':').split_whitespace().next().unwrap().parse::<u64>().unwrap() << 10
}

/// The largest growth of memory while `work` runs on two ranks, one in memory at a time, after their graph is spilled.
fn growth(
    edges_per_node: u32,
    work: impl Fn(&RankContext, &dyn Graph) -> Result<()> + Sync,
) -> u64 {
    let graph = graph(edges_per_node);
    let peaks = on_ranks(2, 1, |context| {
        let full = graph.on(&context)?;
        let wait = || barrier(&*context.group, &*context.manager);
        wait()?;
        let mut before = 0;
        if context.rank == 0 {
            give_memory_back();
            // The peak is reset here.
            fs::write("/proc/self/clear_refs", "5").unwrap();
            before = memory("VmRSS");
        }
        wait()?;
        work(&context, &full)?;
        wait()?;
        Ok(memory("VmHWM").saturating_sub(before))
    });
    peaks.unwrap()[0]
}

/// Forward and backward pass of a layer.
fn train(make: fn(&mut ParameterBuilder) -> Box<dyn Conv>, edges_per_node: u32) -> u64 {
    growth(edges_per_node, |context, graph| {
        let manager = &context.manager;
        let mut builder = ParameterBuilder::new(1);
        let layer = make(&mut builder);
        let parameters = Rc::new(builder.finish(manager, Kind::Float)?);
        let mut tape = Tape::training(manager, &parameters, Policy::Rematerialise, 0, 1);
        let x = tape.trainable_input(&manager.track("x", features(graph)));
        let y = layer.forward(&mut tape, ConvInput::new(graph, x.clone(), x))?;
        let gradient = Tensor::ones(y.size(), (Kind::Float, tch::Device::Cpu));
        tape.backward(y, gradient)?;
        Ok(())
    })
}

fn features(graph: &dyn Graph) -> Tensor {
    Tensor::arange(graph.num_sources() as i64 * 8, (Kind::Float, tch::Device::Cpu)).view([-1, 8])
        * 1e-4
}

/// Memory that attention would take if it had a row per edge: the least of some measurements, as what another rank or the allocator
/// has not given back yet adds to one.
fn edge_scores(edges_per_node: u32) -> u64 {
    (0..3).map(|_| edge_scores_once(edges_per_node)).min().unwrap()
}

fn edge_scores_once(edges_per_node: u32) -> u64 {
    growth(edges_per_node, |context, graph| {
        let manager = &context.manager;
        let parameters = Rc::new(ParameterBuilder::new(0).finish(manager, Kind::Float)?);
        let mut tape = Tape::evaluation(manager, &parameters);
        let x = tape.input(&manager.track("x", features(graph)));
        let inputs = Propagation { src: x.clone(), dst: x, edge: None, parameters: &[] };
        let scores: Var = tape
            .apply_edges(graph, inputs, |edges| Ok(edges.src.f_repeat([1, HEADS as i64 / 8])?))?;
        assert_eq!(scores.size(), [graph.num_edges()?, HEADS as i64]);
        Ok(())
    })
}

const CONFIG: AttentionConfig = AttentionConfig {
    in_feats: 8,
    out_feats: 1,
    heads: HEADS,
    feat_drop: 0.0,
    attn_drop: 0.1,
    negative_slope: 0.2,
    residual: false,
    merge: HeadMerge::Concat,
};

/// Creates a layer.
type Make = fn(&mut ParameterBuilder) -> Box<dyn Conv>;

#[test]
fn the_peak_of_attention_grows_with_the_structure_alone() {
    if fs::write("/proc/self/clear_refs", "5").is_err() {
        // This bypasses libtest's capture, so that a skipped test never looks like one that ran.
        let _ = writeln!(std::io::stderr(), "SKIPPED: the peak of memory cannot be reset here");
        return;
    }
    let layers: [(&str, Make); 2] = [
        ("GAT", |parameters| Box::new(GatConv::new(parameters, CONFIG))),
        ("GATv2", |parameters| Box::new(Gatv2Conv::new(parameters, CONFIG, 0))),
    ];
    for (name, make) in layers {
        // Code and buffers of the first use exist before the measurement.
        train(make, FEW);
        let (few, many) = (train(make, FEW), train(make, MANY));
        let more = many.saturating_sub(few);
        // Once in memory, and once more while it is read.
        let bound = 2 * STRUCTURE * MORE + SLACK;
        assert!(more <= bound, "{name}: {few} bytes and {many} bytes: {more} more than {bound}");
        assert!(bound < SCORES * MORE / 2, "the bound would not show a row of scores per edge");
    }
    let (few, many) = (edge_scores(FEW), edge_scores(MANY));
    assert!(
        many >= few + SCORES * MORE * 9 / 10,
        "a row of scores per edge is not seen: {few} bytes and {many} bytes"
    );
}
