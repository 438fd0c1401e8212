//! Message flow graphs: the part of the graph that outputs of labelled nodes depend on.

use std::rc::Rc;

use tch::{Kind, Tensor};

use super::hetero_graph::RankHeteroGraph;
use super::labelled::rows_by_group;
use super::labels::LabelFacts;
use super::setup::{RankSetup, Surroundings};
use crate::engine::spill::{Masks, PointerTensor};
use crate::engine::tape::{
    GraphShardManager, HeteroGraphShardManager, Mfgs, construct_hetero_mfgs, construct_mfgs,
};
use crate::engine::tensor;
use crate::event::Event;
use crate::train::SourceNodes;
use crate::words::error::{Error, Result};

/// Labelled nodes of a rank: those in any mask.
pub(super) struct LabelledNodes {
    /// Labels of the nodes.
    pub(super) labels: PointerTensor,
    /// Masks of the nodes.
    pub(super) masks: Masks,
    /// Indices of these nodes among the rank's own nodes, `int64`.
    rows: PointerTensor,
    num_nodes: i64,
}

impl LabelledNodes {
    pub(super) fn new(
        setup: &RankSetup,
        LabelFacts { labels, masks, .. }: &LabelFacts,
    ) -> Result<Self> {
        let manager = &setup.manager;
        let seeds = {
            let [train, val, test] = [masks.train.pin()?, masks.val.pin()?, masks.test.pin()?];
            train.f_logical_or(&val)?.f_logical_or(&test)?
        };
        let rows = manager.track("labelled-rows", seeds.f_nonzero()?.f_view([-1])?);
        let pick = |label: &str, values: &PointerTensor| -> Result<PointerTensor> {
            let picked = values.pin()?.f_index_select(0, &*rows.pin()?)?;
            Ok::<_, Error>(manager.track(label, picked))
        };
        Ok(LabelledNodes {
            labels: pick("labels", labels)?,
            masks: Masks {
                train: pick("mask", &masks.train)?,
                val: pick("mask", &masks.val)?,
                test: pick("mask", &masks.test)?,
            },
            num_nodes: labels.size()[0],
            rows,
        })
    }

    /// Indices of these nodes among the rank's own nodes.
    pub(super) fn rows(&self) -> Result<Vec<u32>> {
        let rows = self.rows.pin()?;
        Ok(tensor::slice::<i64>(&rows).iter().map(|row| *row as u32).collect())
    }

    /// Rows for all own nodes: the given values for labelled nodes, NaN for the others.
    pub(super) fn spread(&self, values: &Tensor) -> Result<Tensor> {
        let mut all = tensor::empty(&[self.num_nodes, values.size()[1]], Kind::Float)?;
        let _filled = all.f_fill_(f64::NAN)?;
        Ok(all.f_index_copy_(0, &*self.rows.pin()?, &values.f_to_kind(Kind::Float)?)?)
    }
}

/// Graph and features of a rank, restricted to nodes that outputs of labelled nodes depend on.
pub(super) struct LabelledMfgs {
    /// One graph per layer.
    pub(super) graphs: Vec<GraphShardManager>,
    /// Feature rows of the first graph's sources.
    pub(super) features: PointerTensor,
    pub(super) nodes: LabelledNodes,
}

impl LabelledMfgs {
    /// Builds the message flow graphs of all masks' nodes; `input` is the model's input for all own nodes. One
    /// collective per graph.
    pub(super) fn new(
        setup: &RankSetup,
        graph: &GraphShardManager,
        input: &PointerTensor,
        facts: &LabelFacts,
        num_graphs: usize,
    ) -> Result<Self> {
        let manager = &setup.manager;
        let nodes = LabelledNodes::new(setup, facts)?;
        let Mfgs { graphs, sources } = construct_mfgs(graph, nodes.rows()?, num_graphs)?;
        let sources = manager.track("source-rows", sources);
        let exact = input.exact_dtype();
        let features = if let Some(entries) = input.entries_of_rows(&sources)? {
            manager.track_entries("features", entries, exact)
        } else {
            let (all, size) = (input.clone(), [sources.len() as i64, input.size()[1]]);
            let read = Rc::new(move || {
                let rows: Vec<i64> = sources.pin()?.iter().map(|row| i64::from(*row)).collect();
                Ok(all.pin()?.f_index_select(0, &Tensor::f_from_slice(&rows)?)?)
            });
            manager.track_exact("features", &size, input.kind(), exact, read)
        };
        Ok(LabelledMfgs { graphs, features, nodes })
    }
}

/// Graph and inputs of a rank, with a layer per relation, restricted in the same way.
pub(super) struct LabelledRelations {
    /// One graph per layer.
    pub(super) graphs: Vec<HeteroGraphShardManager>,
    /// Sources of the first graph, by node type.
    pub(super) sources: Vec<SourceNodes>,
    pub(super) nodes: LabelledNodes,
}

impl LabelledRelations {
    /// Builds the message flow graphs of all masks' nodes. One collective per graph and relation.
    pub(super) fn new(
        setup: &RankSetup,
        hetero: &RankHeteroGraph,
        facts: &LabelFacts,
        layers: usize,
    ) -> Result<Self> {
        let nodes = LabelledNodes::new(setup, facts)?;
        let mut seeds = vec![Vec::new(); hetero.graph.ntypes().len()];
        let rows = {
            let rows = nodes.rows.pin()?;
            rows_by_group(&facts.groups, &tensor::slice(&rows))
        };
        for (ntype, rows) in hetero.targets.iter().zip(rows) {
            seeds[*ntype] = rows;
        }
        let Mfgs { graphs, sources } = construct_hetero_mfgs(&hetero.graph, seeds, layers)?;
        let sources = sources.into_iter().enumerate().map(|(ntype, rows)| {
            let rows = setup.manager.track("source-rows", rows);
            let features = hetero.rows(setup, ntype, &rows)?;
            Ok(SourceNodes { rows, features })
        });
        Ok(LabelledRelations { graphs, sources: sources.collect::<Result<_>>()?, nodes })
    }
}

/// Reports the number of edges that each layer works on, over all ranks. One collective.
pub(super) fn tell_share_of_edges(
    setup: &RankSetup,
    here: Surroundings<'_>,
    full: i64,
    layers: impl Iterator<Item = Result<i64>>,
) -> Result<()> {
    let counts = std::iter::once(Ok(full)).chain(layers);
    let sums = setup.sums(&counts.collect::<Result<Vec<_>>>()?)?;
    let layers = sums.iter().enumerate().skip(1).map(|(i, sum)| format!("layer {i} has {sum}"));
    let layers: Vec<_> = layers.collect();
    let note = format!("message flow graphs: of {} edges {}", sums[0], layers.join(", "));
    if here.rank == 0 { here.events.send(Event::Note(note)) } else { Ok(()) }
}
