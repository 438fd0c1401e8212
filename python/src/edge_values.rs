//! Operations along edges on the values of tensors.

use pyo3::prelude::*;
use sar::engine::comm::Collective;
use sar::kernels::Selection;

use crate::edges::Edges;
use crate::errors::exception;
use crate::graph::{self, Attention, Destinations, Factors, Gradients, Kept};
use crate::memory::{Place, memory};

fn factors<T: bytemuck::Pod>(place: Option<Place>, heads: usize) -> Option<Factors<'static, T>> {
    place.map(|place| Factors { values: memory(place).slice(), heads })
}

/// The calls of Python, for an element type.
impl Edges {
    pub(crate) fn sum_of<T: Value>(
        &self,
        x: Place,
        of: Option<Place>,
        heads: usize,
        y: Place,
    ) -> PyResult<()> {
        let (x, y) = (memory(x).slice::<T>(), memory(y).slice_mut());
        let (graph, world) = (&self.graph, &self.world);
        graph::sum(graph, world, self.arrived()?, factors(of, heads), x, y).map_err(exception)
    }

    pub(crate) fn send_of<T: Value>(
        &self,
        gy: Place,
        of: Option<Place>,
        heads: usize,
        x: Option<Place>,
    ) -> PyResult<Collective> {
        let (gy, x) = (memory(gy).slice::<T>(), x.map(|x| memory(x).slice::<T>()));
        let (graph, world) = (&self.graph, &self.world);
        graph::send_gradients(graph, world, factors(of, heads), gy, x).map_err(exception)
    }

    pub(crate) fn gradients_of<T: Value>(
        &self,
        gy: Place,
        of: Option<Place>,
        heads: usize,
        gx: Place,
    ) -> PyResult<()> {
        let (gy, gx) = (memory(gy).slice::<T>(), memory(gx).slice_mut::<T>());
        let graph = &self.graph;
        graph::adjoint_of_own(graph, factors(of, heads), gy, gx);
        graph::add_own_rows(graph, &self.world, self.arrived()?, gx).map_err(exception)
    }

    pub(crate) fn factors_of<T: Value>(
        &self,
        heads: usize,
        x: Place,
        gy: Place,
        gfactors: Place,
    ) -> PyResult<()> {
        let (x, gy) = (memory(x).slice::<T>(), memory(gy).slice::<T>());
        let (graph, world) = (&self.graph, &self.world);
        let gfactors = memory(gfactors).slice_mut();
        graph::factor_gradients(graph, world, self.arrived()?, heads, x, gy, gfactors)
            .map_err(exception)
    }

    pub(crate) fn select_of<T: Value>(
        &self,
        largest: bool,
        x: Place,
        value: Place,
        argument: Place,
    ) -> PyResult<()> {
        let selection = if largest { Selection::Max } else { Selection::Min };
        let (graph, world) = (&self.graph, &self.world);
        let (x, value) = (memory(x).slice::<T>(), memory(value).slice_mut::<T>());
        let argument = memory(argument).slice_mut();
        graph::select_neighbours(graph, world, self.arrived()?, selection, x, value, argument)
            .map_err(exception)
    }

    pub(crate) fn send_selected<T: Value>(
        &self,
        gy: Place,
        argument: Place,
    ) -> PyResult<Collective> {
        let (gy, argument) = (memory(gy).slice::<T>(), memory(argument).slice());
        let (graph, world) = (&self.graph, &self.world);
        graph::send_select_gradients(graph, world, gy, argument).map_err(exception)
    }

    pub(crate) fn selected_of<T: Value>(
        &self,
        gy: Place,
        argument: Place,
        gx: Place,
    ) -> PyResult<()> {
        let (gy, argument) = (memory(gy).slice::<T>(), memory(argument).slice());
        let gx = memory(gx).slice_mut::<T>();
        let graph = &self.graph;
        graph::select_own_adjoint(graph, gy, argument, gx);
        graph::add_own_rows(graph, &self.world, self.arrived()?, gx).map_err(exception)
    }

    pub(crate) fn halo_of<T: Value>(&self, gradients: Place, gx: Place) -> PyResult<()> {
        let (gradients, gx) = (memory(gradients).slice::<T>(), memory(gx).slice_mut());
        let (graph, world) = (&self.graph, &self.world);
        graph::add_halo_gradients(graph, world, self.arrived()?, gradients, gx).map_err(exception)
    }

    pub(crate) fn attend_of<T: Value>(
        &self,
        how: &Attention,
        kept: &Kept,
        largest: Place,
        sum: Place,
        y: Place,
    ) -> PyResult<()> {
        let state = graph::State {
            largest: memory(largest).slice_mut::<T>(),
            sum: memory(sum).slice_mut(),
            weighted: memory(y).slice_mut(),
        };
        graph::attend(&self.graph, &self.world, kept, how, state).map_err(exception)
    }

    pub(crate) fn attention_of<T: Value>(
        &self,
        how: &Attention,
        kept: &Kept,
        [largest, log_sum, delta, gy]: [Place; 4],
        [messages, scores, destinations]: [Place; 3],
    ) -> PyResult<Collective> {
        let of = Destinations {
            largest: memory(largest).slice::<T>(),
            log_sum: memory(log_sum).slice::<T>(),
            delta: memory(delta).slice(),
            gy: memory(gy).slice(),
        };
        let gradients = Gradients {
            messages: memory(messages).slice_mut(),
            scores: memory(scores).slice_mut(),
            destinations: memory(destinations).slice_mut(),
        };
        let sent =
            graph::send_attention_gradients(&self.graph, &self.world, kept, how, of, gradients);
        sent.map_err(exception)
    }

    pub(crate) fn add_attention<T: Value>(&self, messages: Place, scores: Place) -> PyResult<()> {
        let (messages, scores) = (memory(messages).slice_mut::<T>(), memory(scores).slice_mut());
        let (graph, arrived) = (&self.graph, self.arrived()?);
        graph::add_attention_gradients(graph, &self.world, arrived, messages, scores)
            .map_err(exception)
    }

    pub(crate) fn softmax_of<T: Value>(&self, heads: usize, scores: Place, y: Place) {
        let (scores, y) = (memory(scores).slice::<T>(), memory(y).slice_mut());
        graph::edge_softmax(&self.graph, heads, scores, y);
    }

    pub(crate) fn softmax_adjoint_of<T: Value>(
        &self,
        heads: usize,
        y: Place,
        gy: Place,
        gscores: Place,
    ) {
        let (y, gy) = (memory(y).slice::<T>(), memory(gy).slice());
        let gscores = memory(gscores).slice_mut();
        graph::edge_softmax_adjoint(&self.graph, heads, y, gy, gscores);
    }
}

/// The element types that kernels compute in.
pub(crate) trait Value: sar::kernels::Real {}

impl<T: sar::kernels::Real> Value for T {}
