//! Attention over in-neighbours: scores, softmax and weighted sum in one pass over the edges, with no row per edge.

use pyo3::prelude::*;
use sar::Result;
use sar::engine::comm::{Collective, Operation, Recipient};
use sar::kernels::{
    AdditiveScore, Attention as Walk, AttentionDropout, Destinations, DropoutKey, DynamicScore,
    Element, Real, Score,
};

use super::local::LocalGraph;
use super::messages::{Kept, read_values};
use crate::memory::Place;
use crate::scratch::Scratch;

/// How edges are scored and dropped, and the own rows.
#[pyclass(frozen, module = "sar_single._engine")]
pub(crate) struct Attention {
    heads: usize,
    slope: f64,
    /// Rows that are summed, `[sources, heads * width]`.
    messages: Place,
    /// Scores of the sources, `[sources, heads]`; of GATv2 nothing.
    scores: Place,
    /// Scores of the destinations, `[nodes, heads]`; of GATv2 rows, `[nodes, heads * width]`.
    destinations: Place,
    /// The attention vector of GATv2.
    vector: Option<Place>,
    /// The seed, and the probability that an edge is dropped.
    seed: u64,
    dropout: f64,
}

#[pymethods]
impl Attention {
    #[new]
    #[pyo3(signature = (heads, slope, messages, scores, destinations, vector, seed, dropout))]
    #[allow(clippy::too_many_arguments)] // a record, made once in Python
    fn new(
        heads: usize,
        slope: f64,
        messages: Place,
        scores: Place,
        destinations: Place,
        vector: Option<Place>,
        seed: u64,
        dropout: f64,
    ) -> Self {
        Attention { heads, slope, messages, scores, destinations, vector, seed, dropout }
    }
}

/// The running state of the forward pass: the largest score and the sum of exponentials, `[nodes, heads]`, and the weighted sum.
pub(crate) struct State<'a, T> {
    pub(crate) largest: &'a mut [T],
    pub(crate) sum: &'a mut [T],
    pub(crate) weighted: &'a mut [T],
}

/// Gradients that a walk adds to.
pub(crate) struct Gradients<'a, T> {
    pub(crate) messages: &'a mut [T],
    pub(crate) scores: &'a mut [T],
    /// Each row of GATv2 has the gradient of the destination's row, then its part of that of the attention vector.
    pub(crate) destinations: &'a mut [T],
}

/// Facts about the sources of a shard.
struct Sources<'a, T> {
    messages: &'a [T],
    scores: &'a [T],
    ids: Vec<i64>,
}

/// The direction of a walk along a shard's edges.
enum Direction<'a, 'b, T> {
    Forward(&'b mut State<'a, T>),
    Backward(Destinations<'a, T>, &'b mut Gradients<'a, T>),
}

/// Adds all edges to the state, from rows that have been shared: own edges first, then those from the other ranks ascending.
pub(crate) fn attend<T: Real + Element<Real = T>>(
    graph: &LocalGraph,
    kept: &Kept,
    how: &Attention,
    mut state: State<'_, T>,
) -> Result<()> {
    for rank in graph.order() {
        if rank == graph.own() {
            how.walk(graph, rank, &how.own(graph), Direction::Forward(&mut state));
        } else if graph.ends(rank).num_cols() > 0 {
            let (messages, scores) = how.read(graph, kept, rank)?;
            let sources = how.sources(graph, rank, &messages, &scores);
            how.walk(graph, rank, &sources, Direction::Forward(&mut state));
        }
    }
    Ok(())
}

/// Adds the gradients that own edges give to `gradients`, and sends each other rank those of its rows; one collective.
pub(crate) fn send_attention_gradients<T: Real + Element<Real = T>>(
    graph: &LocalGraph,
    kept: &Kept,
    how: &Attention,
    of: Destinations<'_, T>,
    gradients: Gradients<'_, T>,
) -> Result<Collective> {
    let Gradients { messages, scores, destinations } = gradients;
    let mut own = Gradients { messages, scores, destinations: &mut *destinations };
    how.walk(graph, graph.own(), &how.own(graph), Direction::Backward(of, &mut own));
    let mut outbox = graph.world.group.outbox(Operation::PushRows)?;
    for rank in graph.others() {
        outbox.begin(Recipient::Rank(rank))?;
        if graph.ends(rank).num_cols() == 0 {
            continue;
        }
        let (messages, scores) = how.read(graph, kept, rank)?;
        let sources = how.sources(graph, rank, &messages, &scores);
        let mut gmessages = Scratch::<T>::zeros(messages.len());
        let mut gscores = Scratch::<T>::zeros(scores.len());
        let mut gradients = Gradients {
            messages: &mut gmessages,
            scores: &mut gscores,
            destinations: &mut *destinations,
        };
        how.walk(graph, rank, &sources, Direction::Backward(of, &mut gradients));
        outbox.write_elements(bytemuck::cast_slice(&gmessages), size_of::<T>())?;
        outbox.write_elements(bytemuck::cast_slice(&gscores), size_of::<T>())?;
    }
    graph.world.complete(outbox)
}

impl Attention {
    /// Columns of the messages.
    fn columns<T>(&self, graph: &LocalGraph) -> usize {
        (self.messages.1 / size_of::<T>()).checked_div(graph.num_sources()).unwrap_or(0)
    }

    fn own<T: Real + Element<Real = T>>(&self, graph: &LocalGraph) -> Sources<'static, T> {
        let (messages, scores) = (self.messages.slice(), self.scores.slice());
        self.sources(graph, graph.own(), messages, scores)
    }

    fn sources<'a, T>(
        &self,
        graph: &LocalGraph,
        rank: usize,
        messages: &'a [T],
        scores: &'a [T],
    ) -> Sources<'a, T> {
        let ids = if self.dropout > 0.0 { graph.source_ids(rank) } else { Vec::new() };
        Sources { messages, scores, ids }
    }

    /// Messages and scores of another rank's rows.
    fn read<T: Real + Element<Real = T>>(
        &self,
        graph: &LocalGraph,
        kept: &Kept,
        rank: usize,
    ) -> Result<(Scratch<T>, Scratch<T>)> {
        let rows = graph.ends(rank).num_cols();
        let mut inbox = graph.world.group.inbox(kept.collective(), rank)?;
        let messages = read_values(&mut *inbox, rows * self.columns::<T>(graph))?;
        let scores = if self.vector.is_none() { rows * self.heads } else { 0 };
        Ok((messages, read_values(&mut *inbox, scores)?))
    }

    fn walk<T: Real + Element<Real = T>>(
        &self,
        graph: &LocalGraph,
        rank: usize,
        sources: &Sources<'_, T>,
        direction: Direction<'_, '_, T>,
    ) {
        let width = self.columns::<T>(graph) / self.heads.max(1);
        if width == 0 {
            return;
        }
        let (messages, src) = (sources.messages, sources.scores);
        let (heads, slope) = (self.heads, T::from_f64(self.slope));
        let node_ids = if self.dropout > 0.0 { graph.node_ids() } else { Vec::new() };
        let dropout = (self.dropout > 0.0).then_some(AttentionDropout {
            key: DropoutKey { seed: self.seed, epoch: 0, layer: 0 },
            probability: self.dropout,
            src_ids: &sources.ids,
            dst_ids: &node_ids,
        });
        let dst = self.destinations.slice();
        if let Some(vector) = self.vector {
            let vector = vector.slice();
            let score = DynamicScore { src: messages, dst, vector, width, slope };
            along(&Walk { score, messages, heads, width, dropout }, graph, rank, direction);
        } else {
            let score = AdditiveScore { src, dst, heads, slope };
            along(&Walk { score, messages, heads, width, dropout }, graph, rank, direction);
        }
    }
}

fn along<T: Real + Element<Real = T>, S: Score<T>>(
    walk: &Walk<'_, T, S>,
    graph: &LocalGraph,
    rank: usize,
    direction: Direction<'_, '_, T>,
) {
    match direction {
        Direction::Forward(State { largest, sum, weighted }) => {
            walk.accumulate(graph.ends(rank), largest, sum, weighted);
        }
        Direction::Backward(of, Gradients { messages, scores, destinations }) => {
            walk.destination_adjoint(graph.ends(rank), of, destinations);
            walk.source_adjoint(graph.transpose(rank), of, messages, scores);
        }
    }
}
