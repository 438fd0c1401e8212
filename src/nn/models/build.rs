//! From the configuration of a model to the model.

use super::model_config::ModelConfig;
use super::stack::Stack;
use crate::engine::tape::ParameterBuilder;
use crate::nn::conv::layer::Model;
use crate::nn::describe::Sizes;
use crate::words::error::Result;

impl ModelConfig {
    /// Creates the model.
    ///
    /// # Errors
    /// If the number of layers or the hidden width is 0, or a layer does not support its width.
    pub fn build(&self, parameters: &mut ParameterBuilder, sizes: Sizes) -> Result<Box<dyn Model>> {
        Ok(match self.kind.whole_model(parameters, self.hidden_layers(), sizes)? {
            Some(model) => model,
            None => Box::new(Stack::new(parameters, self, sizes)?),
        })
    }
}
