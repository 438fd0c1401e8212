//! Operations along edges on the values of tensors.

use pyo3::prelude::*;
use sar::engine::comm::Collective;
use sar::kernels::Selection;

use crate::errors::exception;
use crate::graph::{self, Factors};
use crate::rank::{Place, Rank, memory};

fn factors<T: bytemuck::Pod>(place: Option<Place>, heads: usize) -> Option<Factors<'static, T>> {
    place.map(|place| Factors { values: memory(place).slice(), heads })
}

/// The calls of Python, for an element type.
impl Rank {
    pub(crate) fn sum_of<T: Value>(
        &self,
        x: Place,
        of: Option<Place>,
        heads: usize,
        y: Place,
    ) -> PyResult<()> {
        let (x, y) = (memory(x).slice::<T>(), memory(y).slice_mut());
        let (graph, group) = (self.local()?, &self.peers.group);
        graph::sum(graph, group, self.arrived()?, factors(of, heads), x, y).map_err(exception)
    }

    pub(crate) fn send_of<T: Value>(
        &self,
        gy: Place,
        of: Option<Place>,
        heads: usize,
        x: Option<Place>,
    ) -> PyResult<Collective> {
        let (gy, x) = (memory(gy).slice::<T>(), x.map(|x| memory(x).slice::<T>()));
        let (graph, group) = (self.local()?, &self.peers.group);
        graph::send_gradients(graph, group, &self.peers, factors(of, heads), gy, x)
            .map_err(exception)
    }

    pub(crate) fn gradients_of<T: Value>(
        &self,
        gy: Place,
        of: Option<Place>,
        heads: usize,
        gx: Place,
    ) -> PyResult<()> {
        let (gy, gx) = (memory(gy).slice::<T>(), memory(gx).slice_mut::<T>());
        let graph = self.local()?;
        graph::adjoint_of_own(graph, factors(of, heads), gy, gx);
        graph::add_own_rows(graph, &self.peers.group, self.arrived()?, gx).map_err(exception)
    }

    pub(crate) fn factors_of<T: Value>(
        &self,
        heads: usize,
        x: Place,
        gy: Place,
        gfactors: Place,
    ) -> PyResult<()> {
        let (x, gy) = (memory(x).slice::<T>(), memory(gy).slice::<T>());
        let (graph, group) = (self.local()?, &self.peers.group);
        let gfactors = memory(gfactors).slice_mut();
        graph::factor_gradients(graph, group, self.arrived()?, heads, x, gy, gfactors)
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
        let (graph, group) = (self.local()?, &self.peers.group);
        let (x, value) = (memory(x).slice::<T>(), memory(value).slice_mut::<T>());
        let argument = memory(argument).slice_mut();
        graph::select_neighbours(graph, group, self.arrived()?, selection, x, value, argument)
            .map_err(exception)
    }

    pub(crate) fn send_selected<T: Value>(
        &self,
        gy: Place,
        argument: Place,
    ) -> PyResult<Collective> {
        let (gy, argument) = (memory(gy).slice::<T>(), memory(argument).slice());
        let (graph, group) = (self.local()?, &self.peers.group);
        graph::send_select_gradients(graph, group, &self.peers, gy, argument).map_err(exception)
    }

    pub(crate) fn selected_of<T: Value>(
        &self,
        gy: Place,
        argument: Place,
        gx: Place,
    ) -> PyResult<()> {
        let (gy, argument) = (memory(gy).slice::<T>(), memory(argument).slice());
        let gx = memory(gx).slice_mut::<T>();
        let graph = self.local()?;
        graph::select_own_adjoint(graph, gy, argument, gx);
        graph::add_own_rows(graph, &self.peers.group, self.arrived()?, gx).map_err(exception)
    }

    pub(crate) fn halo_of<T: Value>(&self, gradients: Place, gx: Place) -> PyResult<()> {
        let (gradients, gx) = (memory(gradients).slice::<T>(), memory(gx).slice_mut());
        let (graph, group) = (self.local()?, &self.peers.group);
        graph::add_halo_gradients(graph, group, self.arrived()?, gradients, gx).map_err(exception)
    }

    pub(crate) fn softmax_of<T: Value>(
        &self,
        heads: usize,
        scores: Place,
        y: Place,
    ) -> PyResult<()> {
        let (scores, y) = (memory(scores).slice::<T>(), memory(y).slice_mut());
        graph::edge_softmax(self.local()?, heads, scores, y);
        Ok(())
    }

    pub(crate) fn softmax_adjoint_of<T: Value>(
        &self,
        heads: usize,
        y: Place,
        gy: Place,
        gscores: Place,
    ) -> PyResult<()> {
        let (y, gy) = (memory(y).slice::<T>(), memory(gy).slice());
        let gscores = memory(gscores).slice_mut();
        graph::edge_softmax_adjoint(self.local()?, heads, y, gy, gscores);
        Ok(())
    }
}

/// The element types that kernels compute in.
pub(crate) trait Value: sar::kernels::Real {}

impl<T: sar::kernels::Real> Value for T {}
