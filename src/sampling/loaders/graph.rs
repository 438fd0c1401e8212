//! The graph that a loader samples.

use std::rc::Rc;
use std::sync::Arc;

use crate::sampling::stores::{CollectiveGraph, DistGraph, GraphSource};

/// Where a loader's samples come from.
#[derive(Clone)]
pub enum SampledGraph {
    /// The files of all partitions; sampler threads read them.
    Files(Arc<DistGraph>),
    /// The ranks that own the partitions. Collectives are made by the thread that asks for batches, and by no other, so
    /// nothing is sampled ahead.
    Ranks(Rc<CollectiveGraph>),
}

impl SampledGraph {
    /// What is asked of it.
    pub(super) fn source(&self) -> &dyn GraphSource {
        match self {
            SampledGraph::Files(graph) => &**graph,
            SampledGraph::Ranks(graph) => &**graph,
        }
    }
}

impl From<Arc<DistGraph>> for SampledGraph {
    fn from(graph: Arc<DistGraph>) -> Self {
        SampledGraph::Files(graph)
    }
}

impl From<Rc<CollectiveGraph>> for SampledGraph {
    fn from(graph: Rc<CollectiveGraph>) -> Self {
        SampledGraph::Ranks(graph)
    }
}
