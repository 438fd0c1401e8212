//! The graph that a loader samples.

use std::rc::Rc;
use std::sync::Arc;

use crate::sampling::stores::{CollectiveGraph, DistGraph, EdgelessGraph, GraphSource};

/// The source of a loader's samples.
#[derive(Clone)]
pub enum SampledGraph {
    /// The files of all partitions, read by sampler threads.
    Files(Arc<DistGraph>),
    /// The ranks that own the partitions. Only the thread that requests batches runs collectives, so nothing is sampled
    /// ahead.
    Ranks(Rc<CollectiveGraph>),
    /// The nodes alone, for models that need no neighbours while they train.
    Edgeless(Arc<EdgelessGraph>),
}

impl SampledGraph {
    /// The graph as a source of samples.
    pub(super) fn source(&self) -> &dyn GraphSource {
        match self {
            SampledGraph::Files(graph) => &**graph,
            SampledGraph::Ranks(graph) => &**graph,
            SampledGraph::Edgeless(graph) => &**graph,
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

impl From<Arc<EdgelessGraph>> for SampledGraph {
    fn from(graph: Arc<EdgelessGraph>) -> Self {
        SampledGraph::Edgeless(graph)
    }
}
