//! The graphs and rows on which the predictions of some nodes depend.

use std::rc::Rc;

use tch::Tensor;

use crate::engine::spill::PointerTensor;
use crate::engine::tape::{
    Graph, GraphShardManager, HeteroGraphShardManager, Mfgs, ParameterSet, Region, Tape,
    construct_hetero_mfgs, construct_mfgs, construct_region,
};
use crate::engine::tensor;
use crate::nn::{LearnedRows, Model};
use crate::run::config::RunConfig;
use crate::run::rank::hetero_graph::RankHeteroGraph;
use crate::run::rank::setup::RankSetup;
use crate::run::rank::whole_graph::WholeGraph;
use crate::train::NodeInput;
use crate::words::error::{Error, Result};
use crate::words::size::size;

/// Graphs of the nodes on which predicted nodes depend, and the input of the first graph's sources.
pub(super) struct Needed {
    graphs: Vec<GraphShardManager>,
    pub(super) features: PointerTensor,
    pub(super) edges: EdgeCounts,
}

impl Needed {
    /// The whole graph.
    pub(super) fn everything(
        setup: &RankSetup,
        whole: &WholeGraph,
        model: &dyn Model,
        parameters: &Rc<ParameterSet>,
    ) -> Result<Self> {
        let features = whole.model_input(setup, model, parameters, &whole.graph, None)?;
        Ok(Needed { graphs: Vec::new(), features, edges: EdgeCounts::default() })
    }

    /// Dependencies of the outputs of the own nodes `rows`, or of their outputs after a hidden layer. A collective per graph.
    pub(super) fn of(
        setup: &RankSetup,
        whole: &WholeGraph,
        model: &dyn Model,
        run: &RunConfig,
        parameters: &Rc<ParameterSet>,
        rows: &[u32],
        layer: Option<usize>,
    ) -> Result<Self> {
        let manager = &setup.manager;
        let full = &whole.graph;
        let kind = run.model.kind;
        let graphs = match layer {
            _ if kind.propagates_once() => 0,
            None => run.model.num_graphs(),
            Some(layer) if kind.is_stack() => run.model.num_graphs() / run.model.layers * layer,
            Some(_) => 0,
        };
        let Mfgs { mut graphs, sources } = construct_mfgs(full, rows.to_vec(), graphs)?;
        let mut edges = EdgeCounts::of(full.num_edges()?, graphs.iter().map(Graph::num_edges))?;
        let features = if kind.propagates_once() {
            let steps = kind.facts().steps;
            let Region { graph, rows } = construct_region(full, &sources, steps)?;
            edges.worked_on.push(graph.num_edges()?);
            let place = |row: &u32| rows.partition_point(|other| other < row) as u32;
            let places = manager.track("source-rows", sources.iter().map(place).collect());
            let mut tape = Tape::evaluation(manager, parameters);
            let rows = manager.track("rows", rows);
            let input = tape.input(&whole.features.rows(setup, &rows)?);
            model.precompute(&mut tape, &graph, input, Some(&places))?.value()
        } else {
            whole.features.rows(setup, &manager.track("source-rows", sources.clone()))?
        };
        if graphs.is_empty() {
            // Models without neighbours look at the ids of their nodes all the same.
            graphs.push(construct_region(full, &sources, 0)?.graph);
        }
        Ok(Needed { graphs, features, edges })
    }

    /// The graphs for a forward pass. A pass that ends after a hidden layer does not reach the last ones.
    pub(super) fn graphs<'a>(&'a self, whole: &'a WholeGraph, count: usize) -> Vec<&'a dyn Graph> {
        let graph = |i: usize| match self.graphs.get(i).or(self.graphs.last()) {
            Some(graph) => graph as &dyn Graph,
            None => &whole.graph,
        };
        (0..count).map(graph).collect()
    }
}

/// Dependencies of the outputs of own nodes in a model with a layer per relation: graphs, and inputs by node type.
pub(super) struct NeededRelations {
    pub(super) graphs: Vec<HeteroGraphShardManager>,
    pub(super) inputs: Vec<PointerTensor>,
    pub(super) edges: EdgeCounts,
}

impl NeededRelations {
    /// Dependencies of the outputs of own nodes after `layers` layers, by rows of each predicted type. A collective per layer and type.
    pub(super) fn of(
        setup: &RankSetup,
        hetero: &RankHeteroGraph,
        inputs: &[NodeInput],
        predicted: &[usize],
        rows: &[&[u32]],
        layers: usize,
    ) -> Result<Self> {
        let mut seeds = vec![Vec::new(); inputs.len()];
        predicted.iter().zip(rows).for_each(|(ntype, rows)| seeds[*ntype] = rows.to_vec());
        let Mfgs { graphs, sources } = construct_hetero_mfgs(&hetero.graph, seeds, layers)?;
        let counts = graphs.iter().map(HeteroGraphShardManager::num_edges);
        let edges = EdgeCounts::of(hetero.graph.num_edges()?, counts)?;
        let inputs = inputs.iter().zip(sources).enumerate();
        let inputs = inputs.map(|(ntype, (input, rows))| {
            if let NodeInput::Learned(learned) = input {
                let rows: Vec<i64> = rows.iter().map(|row| i64::from(*row)).collect();
                let all = learned.rows()?;
                let picked = all.f_index_select(0, &Tensor::f_from_slice(&rows)?)?;
                return Ok(setup.manager.track("learned-rows", tensor::copy(&picked)?));
            }
            let missing = || Error::internal("a node type has no features");
            let rows = setup.manager.track("source-rows", rows);
            hetero.rows(setup, ntype, &rows)?.ok_or_else(missing)
        });
        let inputs = inputs.collect::<Result<_>>()?;
        Ok(NeededRelations { graphs, inputs, edges })
    }
}

/// Numbers of edges into this rank's nodes.
#[derive(Default)]
pub(super) struct EdgeCounts {
    all: i64,
    /// In each layer, or in the propagation before the first one.
    worked_on: Vec<i64>,
}

impl EdgeCounts {
    fn of(all: i64, worked_on: impl Iterator<Item = Result<i64>>) -> Result<Self> {
        Ok(EdgeCounts { all, worked_on: worked_on.collect::<Result<_>>()? })
    }

    /// The numbers over all ranks, with the bytes written and read so far. One collective.
    pub(super) fn text(&self, setup: &RankSetup) -> Result<String> {
        let io = setup.manager.store().counters().totals();
        let mut numbers = vec![io.written as i64, io.read as i64, self.all];
        numbers.extend(&self.worked_on);
        let sums = setup.sums(&numbers)?;
        let [written, read] = [sums[0], sums[1]].map(|bytes| size(bytes as u64));
        let layers = sums[3..].iter().enumerate();
        let layers: Vec<_> = layers.map(|(i, n)| format!("layer {} takes {n}", i + 1)).collect();
        let edges = match &layers[..] {
            [] => "no edges are worked on".to_owned(),
            _ => format!("of {} edges {}", sums[2], layers.join(", ")),
        };
        Ok(format!("{edges}; {written} written, {read} read"))
    }
}
