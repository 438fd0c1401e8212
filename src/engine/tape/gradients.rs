//! The gradients of a step.

use std::collections::HashMap;

use tch::Tensor;

use super::parameters::{Parameter, ParameterSet};
use super::var::Var;
use crate::engine::spill::PointerTensor;
use crate::engine::tensor;
use crate::words::error::Result;

/// The gradients of a step, by parameter; parameters that the loss does not depend on have none.
pub struct Gradients {
    pub(super) by_parameter: HashMap<Parameter, PointerTensor>,
    /// Gradients of inputs, which are values that no operation computed.
    pub(super) by_input: HashMap<usize, PointerTensor>,
}

impl Gradients {
    /// The gradient of one parameter, in its shape.
    pub fn get(&self, parameter: Parameter) -> Option<&PointerTensor> {
        self.by_parameter.get(&parameter)
    }

    /// The gradient of a [trainable](super::Tape::trainable_input) or [learned](super::Tape::learned_input) input, in
    /// its shape; `None` if the loss does not depend on it.
    pub fn input(&self, input: &Var) -> Option<&PointerTensor> {
        self.by_input.get(&input.target()?.id)
    }
}

impl ParameterSet {
    /// Gradients in the layout of [`flat`](ParameterSet::flat); 0 where a parameter has none, and for buffers.
    ///
    /// # Errors
    /// If a gradient cannot be read back (`Io`, `Corrupt`).
    pub fn flat_gradients(&self, gradients: &Gradients) -> Result<Tensor> {
        let flat = self.flat();
        let all = tensor::zeros(flat.size(), flat.kind())?;
        for parameter in self.iter() {
            if let Some(gradient) = gradients.get(parameter) {
                self.view(&all, parameter)?.f_copy_(&*gradient.pin()?)?;
            }
        }
        Ok(all)
    }
}
