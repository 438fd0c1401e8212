//! Message flow graphs: the part of the graph that labelled nodes need.

use std::rc::Rc;

use tch::{Kind, Tensor};

use super::labels::LabelFacts;
use super::setup::RankSetup;
use crate::engine::spill::{Masks, PointerTensor};
use crate::engine::tape::{Graph, GraphShardManager, Mfgs, construct_mfgs};
use crate::engine::tensor;
use crate::error::{Error, Result};

/// The graph, features, labels and masks of a rank, restricted to what the outputs of labelled nodes depend on.
pub(super) struct LabelledMfgs {
    /// One graph per layer.
    pub(super) graphs: Vec<GraphShardManager>,
    /// Feature rows of the first graph's sources.
    pub(super) features: PointerTensor,
    /// Labels of the labelled nodes, which are those in any mask.
    pub(super) labels: PointerTensor,
    /// Masks of the labelled nodes.
    pub(super) masks: Masks,
    /// Indices of the labelled nodes among the own nodes, `int64`.
    rows: PointerTensor,
    num_nodes: i64,
}

impl LabelledMfgs {
    /// Builds the message flow graphs of all masks' nodes; one collective per graph. `input` is the model's, for all own nodes.
    pub(super) fn new(
        setup: &RankSetup,
        graph: &GraphShardManager,
        input: &PointerTensor,
        LabelFacts { labels, masks, .. }: &LabelFacts,
        num_graphs: usize,
    ) -> Result<Self> {
        let manager = &setup.manager;
        let seeds = {
            let [train, val, test] = [masks.train.pin()?, masks.val.pin()?, masks.test.pin()?];
            train.f_logical_or(&val)?.f_logical_or(&test)?
        };
        let rows = manager.track("labelled-rows", seeds.f_nonzero()?.f_view([-1])?);
        let seeds = manager.track("seeds", seeds);
        let Mfgs { graphs, sources } = construct_mfgs(graph, &seeds, num_graphs)?;
        let features = {
            let (all, kind) = (input.clone(), input.kind());
            let size = [sources.len() as i64, input.size()[1]];
            let read = Rc::new(move || {
                let rows: Vec<i64> = sources.pin()?.iter().map(|row| i64::from(*row)).collect();
                Ok(all.pin()?.f_index_select(0, &Tensor::f_from_slice(&rows)?)?)
            });
            manager.track_recipe("features", &size, kind, None, read)
        };
        let pick = |label: &str, values: &PointerTensor| -> Result<PointerTensor> {
            let picked = values.pin()?.f_index_select(0, &*rows.pin()?)?;
            Ok::<_, Error>(manager.track(label, picked))
        };
        Ok(LabelledMfgs {
            graphs,
            features,
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

    /// The number of edges that each layer works on, over all ranks; one collective.
    pub(super) fn share_of_edges(
        &self,
        setup: &RankSetup,
        full: &GraphShardManager,
    ) -> Result<String> {
        let counts = std::iter::once(full).chain(&self.graphs).map(Graph::num_edges);
        let all = setup.gather(&counts.collect::<Result<Vec<_>>>()?)?;
        let sum = |i: usize| all.iter().map(|rank| rank[i]).sum::<i64>();
        let layers = (1..=self.graphs.len()).map(|i| format!("layer {i} has {}", sum(i)));
        let layers: Vec<_> = layers.collect();
        Ok(format!("message flow graphs: of {} edges {}", sum(0), layers.join(", ")))
    }

    /// Rows for all own nodes: given values for labelled nodes, and NaN for the others.
    pub(super) fn spread(&self, values: &Tensor) -> Result<Tensor> {
        let mut all = tensor::empty(&[self.num_nodes, values.size()[1]], Kind::Float)?;
        let _filled = all.f_fill_(f64::NAN)?;
        Ok(all.f_index_copy_(0, &*self.rows.pin()?, &values.f_to_kind(Kind::Float)?)?)
    }
}
