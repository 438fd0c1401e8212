//! The operations along a graph's edges, on the memory of tensors.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use sar::engine::comm::Collective;
use sar::kernels::Selection;

use crate::elements::with_elements;
use crate::errors::exception;
use crate::graph::{self, Attention, Destinations, Factors, Gradients, Keep, Kept, LocalGraph};
use crate::memory::Place;

/// The edges of a rank or of a sampled block.
#[pyclass(unsendable, module = "sar_single._engine")]
pub(crate) struct Edges {
    graph: LocalGraph,
    received: Option<Collective>,
}

impl Edges {
    pub(crate) fn new(graph: LocalGraph) -> Self {
        Edges { graph, received: None }
    }

    fn arrived(&self) -> PyResult<&Collective> {
        self.received.as_ref().ok_or_else(|| PyValueError::new_err("nothing has been sent"))
    }

    /// Notes the messages that the next operation reads.
    fn receive(&mut self, sent: sar::Result<Collective>) -> PyResult<()> {
        self.received = Some(sent.map_err(exception)?);
        Ok(())
    }
}

fn factors_at<T: bytemuck::Pod>(place: Option<Place>, heads: usize) -> Option<Factors<'static, T>> {
    place.map(|place| Factors { values: place.slice(), heads })
}

#[pymethods]
impl Edges {
    /// The edges of a block from int64 arrays: of each edge its source, below `num_sources`, and its destination, below `num_nodes`.
    #[staticmethod]
    fn of_block(
        num_sources: usize,
        num_nodes: usize,
        source: Place,
        destination: Place,
    ) -> PyResult<Self> {
        let (source, destination) = (source.slice(), destination.slice());
        let graph = LocalGraph::of_block(num_sources, num_nodes, source, destination);
        Ok(Edges::new(graph.map_err(exception)?))
    }

    /// Nodes that edges end at.
    #[getter]
    fn num_nodes(&self) -> usize {
        self.graph.num_nodes()
    }

    /// Nodes here that edges begin at.
    #[getter]
    fn num_sources(&self) -> usize {
        self.graph.num_sources()
    }

    #[getter]
    fn num_edges(&self) -> usize {
        self.graph.num_edges()
    }

    #[getter]
    fn num_halo_rows(&self) -> usize {
        self.graph.num_halo_rows()
    }

    /// Fills int64 arrays with, of each edge: its source among the halo's rows, its destination, its type, its row among features.
    fn edges(&self, source: Place, destination: Place, etype: Place, row: Place) {
        let [source, destination, etype, row] =
            [source, destination, etype, row].map(Place::slice_mut::<i64>);
        self.graph.each_edge(|number, edge| {
            source[number] = edge.source;
            destination[number] = edge.destination;
            etype[number] = edge.etype;
            row[number] = edge.row;
        });
    }

    /// Fills an int64 array with the number of edges, of all ranks, that begin at each own node.
    fn out_degrees(&self, out: Place) {
        out.slice_mut().copy_from_slice(self.graph.out_degrees());
    }

    /// Fills an int64 array with the ids of the nodes whose rows `halo_rows` gives.
    fn halo_ids(&self, out: Place) {
        let out = out.slice_mut();
        let ids = self.graph.order().flat_map(|rank| self.graph.source_ids(rank));
        for (out, id) in out.iter_mut().zip(ids) {
            *out = id;
        }
    }

    /// Sends every other rank the rows of `x` that it has edges from, and waits.
    fn share_rows(&mut self, x: Place) -> PyResult<()> {
        self.receive(graph::share_rows(&self.graph, &[x.slice()], Keep::No))
    }

    /// `y += ` sums over in-edges of `x`, which has been shared. `factors` has `heads` values per edge.
    fn sum(
        &self,
        size: usize,
        x: Place,
        factors: Option<Place>,
        heads: usize,
        y: Place,
    ) -> PyResult<()> {
        with_elements!(size, |T| {
            let (x, y) = (x.slice::<T>(), y.slice_mut());
            let factors = factors_at(factors, heads);
            graph::sum(&self.graph, self.arrived()?, factors, x, y).map_err(exception)
        })
    }

    /// Sends gradients of the sum's sources to their owners, and with them `x`, if given; waits.
    fn send_gradients(
        &mut self,
        size: usize,
        gy: Place,
        factors: Option<Place>,
        heads: usize,
        x: Option<Place>,
    ) -> PyResult<()> {
        with_elements!(size, |T| {
            let (gy, x) = (gy.slice::<T>(), x.map(Place::slice));
            let factors = factors_at(factors, heads);
            self.receive(graph::send_gradients(&self.graph, factors, gy, x))
        })
    }

    /// `gx += ` the gradients of the own rows.
    fn sum_gradients(
        &self,
        size: usize,
        gy: Place,
        factors: Option<Place>,
        heads: usize,
        gx: Place,
    ) -> PyResult<()> {
        with_elements!(size, |T| {
            let (gy, gx) = (gy.slice::<T>(), gx.slice_mut());
            graph::adjoint_of_own(&self.graph, factors_at(factors, heads), gy, gx);
            graph::add_own_rows(&self.graph, self.arrived()?, [gx]).map_err(exception)
        })
    }

    /// The gradients of the factors, `[edges, heads]`; after `send_gradients` with `x`.
    fn factor_gradients(
        &self,
        size: usize,
        heads: usize,
        x: Place,
        gy: Place,
        gfactors: Place,
    ) -> PyResult<()> {
        with_elements!(size, |T| {
            let (x, gy) = (x.slice::<T>(), gy.slice());
            let gfactors = gfactors.slice_mut();
            graph::factor_gradients(&self.graph, self.arrived()?, heads, x, gy, gfactors)
                .map_err(exception)
        })
    }

    /// The largest (or smallest) value over in-edges of `x`, which has been shared, and which source it is (uint32).
    fn select(
        &self,
        size: usize,
        largest: bool,
        x: Place,
        value: Place,
        argument: Place,
    ) -> PyResult<()> {
        let selection = if largest { Selection::Max } else { Selection::Min };
        let argument = argument.slice_mut();
        with_elements!(size, |T| {
            let (x, value) = (x.slice::<T>(), value.slice_mut());
            graph::select_neighbours(&self.graph, self.arrived()?, selection, x, value, argument)
                .map_err(exception)
        })
    }

    /// Sends gradients of selected rows to their owners; waits.
    fn send_select_gradients(&mut self, size: usize, gy: Place, argument: Place) -> PyResult<()> {
        let argument = argument.slice();
        with_elements!(size, |T| {
            let gy = gy.slice::<T>();
            self.receive(graph::send_select_gradients(&self.graph, gy, argument))
        })
    }

    /// `gx += ` the gradients of the own rows.
    fn select_gradients(&self, size: usize, gy: Place, argument: Place, gx: Place) -> PyResult<()> {
        let argument = argument.slice();
        with_elements!(size, |T| {
            let (gy, gx) = (gy.slice::<T>(), gx.slice_mut());
            graph::select_own_adjoint(&self.graph, gy, argument, gx);
            graph::add_own_rows(&self.graph, self.arrived()?, [gx]).map_err(exception)
        })
    }

    /// Fills `out` with the rows of all sources of edges: those of `x`, which has been shared, then those of the other ranks.
    fn halo_rows(&self, x: Place, out: Place) -> PyResult<()> {
        let (x, out) = (x.slice(), out.slice_mut());
        graph::halo_rows(&self.graph, self.arrived()?, x, out).map_err(exception)
    }

    /// Sends the gradients of other ranks' rows to them; waits.
    fn send_halo_gradients(&mut self, gradients: Place) -> PyResult<()> {
        let gradients = gradients.slice::<u8>();
        self.receive(graph::send_halo_gradients(&self.graph, gradients))
    }

    /// `gx` becomes the sum of the gradients of the own rows.
    fn halo_gradients(&self, size: usize, gradients: Place, gx: Place) -> PyResult<()> {
        with_elements!(size, |T| {
            let (gradients, gx) = (gradients.slice::<T>(), gx.slice_mut());
            graph::add_halo_gradients(&self.graph, self.arrived()?, gradients, gx)
                .map_err(exception)
        })
    }

    /// Softmax over the in-edges of each node, `[edges, heads]`.
    fn edge_softmax(&self, size: usize, heads: usize, scores: Place, y: Place) -> PyResult<()> {
        with_elements!(size, |T| {
            let (scores, y) = (scores.slice::<T>(), y.slice_mut());
            graph::edge_softmax(&self.graph, heads, scores, y);
            Ok(())
        })
    }

    /// The gradient of the scores.
    fn edge_softmax_gradients(
        &self,
        size: usize,
        heads: usize,
        y: Place,
        gy: Place,
        gscores: Place,
    ) -> PyResult<()> {
        with_elements!(size, |T| {
            let (y, gy) = (y.slice::<T>(), gy.slice());
            let gscores = gscores.slice_mut();
            graph::edge_softmax_adjoint(&self.graph, heads, y, gy, gscores);
            Ok(())
        })
    }

    /// Sends every other rank the rows of several tensors that it has edges from, and waits. The messages can be read until the
    /// result is dropped.
    fn share_and_keep(&self, parts: Vec<Place>) -> PyResult<Kept> {
        let parts: Vec<_> = parts.into_iter().map(Place::slice).collect();
        let kept = graph::share_rows(&self.graph, &parts, Keep::Yes);
        Ok(Kept::new(kept.map_err(exception)?))
    }

    /// Fills the largest score and the sum of exponentials, `[nodes, heads]`, and the weighted sum `y`, `[nodes, columns]`; `kept`
    /// are the messages and scores of the sources.
    fn attend(
        &self,
        size: usize,
        how: &Attention,
        kept: &Kept,
        largest: Place,
        sum: Place,
        y: Place,
    ) -> PyResult<()> {
        with_elements!(size, |T| {
            let state = graph::State {
                largest: largest.slice_mut::<T>(),
                sum: sum.slice_mut(),
                weighted: y.slice_mut(),
            };
            graph::attend(&self.graph, kept, how, state).map_err(exception)
        })
    }

    /// Fills the gradients of the own messages, of the sources' scores and of the destinations, as far as own edges give them, and
    /// sends the rest; waits.
    fn send_attention_gradients(
        &mut self,
        size: usize,
        how: &Attention,
        kept: &Kept,
        of: [Place; 4],
        gradients: [Place; 3],
    ) -> PyResult<()> {
        with_elements!(size, |T| {
            let [largest, log_sum, delta, gy] = of.map(Place::slice::<T>);
            let of = Destinations { largest, log_sum, delta, gy };
            let [messages, scores, destinations] = gradients.map(Place::slice_mut);
            let gradients = Gradients { messages, scores, destinations };
            self.receive(graph::send_attention_gradients(&self.graph, kept, how, of, gradients))
        })
    }

    /// Adds what other ranks sent to the gradients of the own messages and of the sources' scores.
    fn add_attention_gradients(&self, size: usize, messages: Place, scores: Place) -> PyResult<()> {
        with_elements!(size, |T| {
            let gradients = [messages, scores].map(Place::slice_mut::<T>);
            graph::add_own_rows(&self.graph, self.arrived()?, gradients).map_err(exception)
        })
    }
}
