//! Optimizers, with PyTorch's update rules, on a model's flat parameters.

use std::rc::Rc;

use serde::{Deserialize, Serialize};
use tch::Tensor;

use crate::engine::spill::{PartitionDataManager, PointerTensor};
use crate::engine::tape::ParameterSet;
use crate::engine::tensor;
use crate::error::{Error, Result};

/// An update rule and its constants.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", tag = "name")]
pub enum OptimizerConfig {
    /// `torch.optim.SGD`: g' = g + λθ; m = μm + g' (m = g' in the first step); θ -= lr·m.
    Sgd {
        /// Learning rate.
        lr: f64,
        /// The momentum μ; 0 for none.
        momentum: f64,
        /// The weight decay λ, an L2 penalty that is added to the gradient.
        weight_decay: f64,
    },
    /// `torch.optim.Adam` (Kingma and Ba 2015) with betas (0.9, 0.999) and eps 1e-8; λθ is added to the gradient.
    Adam {
        /// Learning rate.
        lr: f64,
        /// The weight decay λ.
        weight_decay: f64,
    },
    /// `torch.optim.AdamW` (Loshchilov and Hutter 2019) with Adam's constants; decay is applied to the parameters: θ -= lr·λ·θ.
    AdamW {
        /// Learning rate.
        lr: f64,
        /// The weight decay λ.
        weight_decay: f64,
    },
}

/// The default: Adam with learning rate 0.01.
impl Default for OptimizerConfig {
    fn default() -> Self {
        OptimizerConfig::Adam { lr: 0.01, weight_decay: 0.0 }
    }
}

impl OptimizerConfig {
    /// The learning rate.
    pub fn lr(mut self) -> f64 {
        *self.rate()
    }

    /// Whether the state has a first moment (with SGD, momentum) after a step.
    pub fn has_first(self) -> bool {
        match self {
            OptimizerConfig::Sgd { momentum, .. } => momentum != 0.0,
            OptimizerConfig::Adam { .. } | OptimizerConfig::AdamW { .. } => true,
        }
    }

    /// Whether the state has a second moment after a step.
    pub fn has_second(self) -> bool {
        match self {
            OptimizerConfig::Sgd { .. } => false,
            OptimizerConfig::Adam { .. } | OptimizerConfig::AdamW { .. } => true,
        }
    }

    fn rate(&mut self) -> &mut f64 {
        match self {
            OptimizerConfig::Sgd { lr, .. }
            | OptimizerConfig::Adam { lr, .. }
            | OptimizerConfig::AdamW { lr, .. } => lr,
        }
    }
}

const BETA1: f64 = 0.9;
const BETA2: f64 = 0.999;
const EPSILON: f64 = 1e-8;

/// An optimizer and its state.
pub struct Optimizer {
    config: OptimizerConfig,
    manager: Rc<PartitionDataManager>,
    state: OptimizerState,
}

/// State that an optimizer keeps between steps. Tensors are laid out as [`ParameterSet::flat`].
#[derive(Clone, Default)]
pub struct OptimizerState {
    /// Number of steps made.
    pub step: i32,
    /// Momentum (SGD), first moment (Adam).
    pub first: Option<PointerTensor>,
    /// Second moment (Adam).
    pub second: Option<PointerTensor>,
}

impl Optimizer {
    /// Creates an optimizer without state.
    ///
    /// # Errors
    /// If a constant is negative or not a number.
    pub fn new(config: OptimizerConfig, manager: &Rc<PartitionDataManager>) -> Result<Self> {
        let (lr, weight_decay, momentum) = match config {
            OptimizerConfig::Sgd { lr, momentum, weight_decay } => (lr, weight_decay, momentum),
            OptimizerConfig::Adam { lr, weight_decay }
            | OptimizerConfig::AdamW { lr, weight_decay } => (lr, weight_decay, 0.0),
        };
        for (name, value) in [("lr", lr), ("weight decay", weight_decay), ("momentum", momentum)] {
            if !(value >= 0.0 && value.is_finite()) {
                return Err(Error::config(name, format!("must be 0 or more, not {value}")));
            }
        }
        let state = OptimizerState::default();
        Ok(Optimizer { config, manager: manager.clone(), state })
    }

    /// The state. While this handle is alive, the next step changes a copy; otherwise it changes the state in place.
    pub fn state(&self) -> OptimizerState {
        self.state.clone()
    }

    /// The update rule and its constants.
    pub fn config(&self) -> OptimizerConfig {
        self.config
    }

    /// Replaces the state.
    pub fn set_state(&mut self, state: OptimizerState) {
        self.state = state;
    }

    /// The learning rate.
    pub fn lr(&self) -> f64 {
        self.config.lr()
    }

    /// Changes the learning rate.
    pub fn set_lr(&mut self, lr: f64) {
        *self.config.rate() = lr;
    }

    /// Updates the parameters; `gradient` is laid out as [`ParameterSet::flat`].
    ///
    /// # Errors
    /// If the gradient has another size (`Tensor`), or a value cannot be read back (`Io`, `Corrupt`).
    pub fn step(&mut self, parameters: &ParameterSet, gradient: Tensor) -> Result<()> {
        self.state.step += 1;
        let value = tensor::copy(&*parameters.flat().pin()?)?;
        let updated = match self.config {
            OptimizerConfig::Sgd { lr, momentum, weight_decay } => {
                let gradient = decayed(&gradient, &value, weight_decay)?;
                self.sgd(value, gradient, lr, momentum)?
            }
            OptimizerConfig::Adam { lr, weight_decay } => {
                let gradient = decayed(&gradient, &value, weight_decay)?;
                self.adam(value, &gradient, lr)?
            }
            OptimizerConfig::AdamW { lr, weight_decay } => {
                let value = value.f_mul_scalar(1.0 - lr * weight_decay)?;
                self.adam(value, &gradient, lr)?
            }
        };
        parameters.set_trained(updated)
    }

    fn sgd(&mut self, value: Tensor, gradient: Tensor, lr: f64, momentum: f64) -> Result<Tensor> {
        let direction = match self.state.first.take() {
            Some(old) if momentum != 0.0 => own(old)?.f_mul_scalar_(momentum)?.f_add_(&gradient)?,
            _ => gradient,
        };
        let updated = value.f_sub(&direction.f_mul_scalar(lr)?)?;
        if momentum != 0.0 {
            self.state.first = Some(self.manager.track("momentum", direction));
        }
        Ok(updated)
    }

    fn adam(&mut self, value: Tensor, gradient: &Tensor, lr: f64) -> Result<Tensor> {
        let moment = |old: Option<PointerTensor>, beta: f64, new: &Tensor| -> Result<Tensor> {
            let new = new.f_mul_scalar(1.0 - beta)?;
            match old {
                Some(old) => Ok(own(old)?.f_mul_scalar_(beta)?.f_add_(&new)?),
                None => Ok(new),
            }
        };
        let first = moment(self.state.first.take(), BETA1, gradient)?;
        let second = moment(self.state.second.take(), BETA2, &gradient.f_square()?)?;
        let correction1 = 1.0 - BETA1.powi(self.state.step);
        let correction2 = 1.0 - BETA2.powi(self.state.step);
        let scale = second.f_sqrt()?.f_div_scalar(correction2.sqrt())?.f_add_scalar(EPSILON)?;
        let update = first.f_div(&scale)?.f_mul_scalar(lr / correction1)?;
        self.state.first = Some(self.manager.track("first-moment", first));
        self.state.second = Some(self.manager.track("second-moment", second));
        Ok(value.f_sub(&update)?)
    }
}

/// A value that can be changed in place: a copy if other handles to it exist.
fn own(value: PointerTensor) -> Result<Tensor> {
    if value.is_unique() { value.take() } else { tensor::copy(&*value.pin()?) }
}

fn decayed(gradient: &Tensor, value: &Tensor, weight_decay: f64) -> Result<Tensor> {
    Ok(gradient.f_add(&value.f_mul_scalar(weight_decay)?)?)
}
