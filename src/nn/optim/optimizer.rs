//! Optimizers, with PyTorch's update rules, on a model's flat parameters.

use std::rc::Rc;

use serde::{Deserialize, Serialize};
use tch::Tensor;

use crate::engine::spill::{PartitionDataManager, PointerTensor};
use crate::engine::tape::ParameterSet;
use crate::engine::tensor;
use crate::words::error::{Error, Result};

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

/// Number of elements that are updated at a time, so that intermediate results take little memory.
const BLOCK: i64 = 1 << 18;

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
    /// If the gradient has another size (`Config`), or a value cannot be read back (`Io`, `Corrupt`).
    pub fn step(&mut self, parameters: &ParameterSet, gradient: Tensor) -> Result<()> {
        self.state.step += 1;
        let value = tensor::copy(&*parameters.flat().pin()?)?;
        if gradient.size() != value.size() {
            let (got, size) = (gradient.size(), value.size());
            return Err(Error::config("gradient", format!("has shape {got:?}, not {size:?}")));
        }
        let moment = |is_used: bool, old: Option<PointerTensor>| {
            is_used.then(|| Moment::new(old, &value)).transpose()
        };
        let first = moment(self.config.has_first(), self.state.first.take())?;
        let second = moment(self.config.has_second(), self.state.second.take())?;
        let all = value.size()[0];
        for begin in (0..all).step_by(BLOCK as usize) {
            let len = BLOCK.min(all - begin);
            let part = |tensor: &Tensor| tensor.f_narrow(0, begin, len);
            let part_of = |moment: &Moment| moment.part(begin, len);
            let gradient = part(&gradient)?;
            let (first, second) = (
                first.as_ref().map(part_of).transpose()?,
                second.as_ref().map(part_of).transpose()?,
            );
            self.update(part(&value)?, gradient, first, second)?;
        }
        let label = match self.config {
            OptimizerConfig::Sgd { .. } => "momentum",
            OptimizerConfig::Adam { .. } | OptimizerConfig::AdamW { .. } => "first-moment",
        };
        self.state.first = first.map(|moment| self.manager.track(label, moment.value));
        self.state.second = second.map(|moment| self.manager.track("second-moment", moment.value));
        parameters.set_trained(value)
    }

    /// Updates a part of the parameters and of the state in place.
    fn update(
        &self,
        mut value: Tensor,
        gradient: Tensor,
        first: Option<Moment>,
        second: Option<Moment>,
    ) -> Result<()> {
        let gradient = match self.config {
            OptimizerConfig::Sgd { weight_decay, .. }
            | OptimizerConfig::Adam { weight_decay, .. } => {
                gradient.f_add(&value.f_mul_scalar(weight_decay)?)?
            }
            OptimizerConfig::AdamW { lr, weight_decay } => {
                value = value.f_mul_scalar_(1.0 - lr * weight_decay)?;
                gradient
            }
        };
        let step = match (self.config, first, second) {
            (OptimizerConfig::Sgd { lr, momentum, .. }, first, _) => {
                let direction = match first {
                    Some(first) => first.decay(momentum, &gradient)?,
                    None => gradient,
                };
                direction.f_mul_scalar(lr)?
            }
            (_, Some(first), Some(second)) => {
                let first = first.decay(BETA1, &gradient.f_mul_scalar(1.0 - BETA1)?)?;
                let squares = gradient.f_square()?.f_mul_scalar(1.0 - BETA2)?;
                let second = second.decay(BETA2, &squares)?;
                let correction1 = 1.0 - BETA1.powi(self.state.step);
                let correction2 = 1.0 - BETA2.powi(self.state.step);
                let scale =
                    second.f_sqrt()?.f_div_scalar(correction2.sqrt())?.f_add_scalar(EPSILON)?;
                first.f_div(&scale)?.f_mul_scalar(self.lr() / correction1)?
            }
            _ => return Err(Error::internal("an optimizer without its state")),
        };
        let _updated = value.f_sub_(&step)?;
        Ok(())
    }
}

/// A tensor of an optimizer's state during a step, or a part of it.
struct Moment {
    value: Tensor,
    /// Whether the state had no such tensor before the step.
    is_new: bool,
}

impl Moment {
    fn new(old: Option<PointerTensor>, parameters: &Tensor) -> Result<Self> {
        let is_new = old.is_none();
        let value = match old {
            Some(old) => old.into_tensor(false)?,
            None => tensor::empty(&parameters.size(), parameters.kind())?,
        };
        Ok(Moment { value, is_new })
    }

    /// A part, which shares memory.
    fn part(&self, begin: i64, len: i64) -> Result<Self> {
        Ok(Moment { value: self.value.f_narrow(0, begin, len)?, is_new: self.is_new })
    }

    /// Multiplies the tensor by `factor` in place and adds `new`; a new one becomes `new`.
    fn decay(mut self, factor: f64, new: &Tensor) -> Result<Tensor> {
        if self.is_new {
            self.value.f_copy_(new)?;
            return Ok(self.value);
        }
        Ok(self.value.f_mul_scalar_(factor)?.f_add_(new)?)
    }
}
