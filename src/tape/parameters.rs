//! A model's parameters, in one flat tensor.
//!
//! One tensor makes an optimizer step a handful of operations, `gather_grads` one collective, and spilling one file.

use std::cell::RefCell;
use std::rc::Rc;

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use tch::{Kind, Tensor};

use super::record::Gradients;
use crate::error::{Error, Result};
use crate::spill::{PartitionDataManager, PointerTensor};
use crate::tensor;

/// Parameters begin at multiples of this many elements, so that each is aligned like a tensor of its own.
const ALIGNMENT: usize = 16;

/// A handle on one parameter of a [`ParameterSet`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Parameter(usize);

/// How a parameter's start values are drawn.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Init {
    /// All 0.
    Zeros,
    /// Uniform in ±gain·√(6 / (fan_in + fan_out)) (Glorot and Bengio 2010), as `torch.nn.init.xavier_uniform_`.
    XavierUniform {
        /// 1, or √2 before a ReLU.
        gain: f64,
    },
    /// Normal with deviation gain·√(2 / (fan_in + fan_out)), as `torch.nn.init.xavier_normal_`.
    XavierNormal {
        /// 1, or √2 before a ReLU.
        gain: f64,
    },
    /// Uniform in ±bound.
    Uniform {
        /// The largest absolute value.
        bound: f64,
    },
}

struct Spec {
    name: String,
    shape: Vec<i64>,
    offset: usize,
}

impl Spec {
    fn numel(&self) -> usize {
        self.shape.iter().product::<i64>() as usize
    }
}

/// Collects a model's parameters while its layers are made.
pub struct ParameterBuilder {
    prefix: String,
    specs: Vec<Spec>,
    values: Vec<f64>,
    rng: ChaCha8Rng,
}

impl ParameterBuilder {
    /// Start values are drawn from a generator with this seed, in the order in which parameters are added.
    pub fn new(seed: u64) -> Self {
        ParameterBuilder {
            prefix: String::new(),
            specs: Vec::new(),
            values: Vec::new(),
            rng: ChaCha8Rng::seed_from_u64(seed),
        }
    }

    /// Makes part of a model whose parameters are named `prefix.name`, as in a PyTorch state dict.
    pub fn scope<T>(&mut self, prefix: &str, make: impl FnOnce(&mut Self) -> T) -> T {
        let outer = self.prefix.clone();
        self.prefix = format!("{outer}{prefix}.");
        let made = make(self);
        self.prefix = outer;
        made
    }

    /// Adds a parameter. Of a matrix, the two sides are fan-in and fan-out; with more dimensions, the first two times the
    /// product of the others, as in PyTorch.
    pub fn add(&mut self, name: &str, shape: &[i64], init: Init) -> Parameter {
        let offset = self.values.len().next_multiple_of(ALIGNMENT);
        let spec = Spec { name: format!("{}{name}", self.prefix), shape: shape.to_vec(), offset };
        let receptive: i64 = shape.iter().skip(2).product();
        let fans = (shape.iter().take(2).sum::<i64>() * receptive) as f64;
        self.values.resize(offset, 0.0);
        let count = spec.numel();
        match init {
            Init::Zeros => self.values.resize(offset + count, 0.0),
            Init::Uniform { bound } => self.draw(count, |unit| bound * (2.0 * unit() - 1.0)),
            Init::XavierUniform { gain } => {
                let bound = gain * (6.0 / fans).sqrt();
                self.draw(count, |unit| bound * (2.0 * unit() - 1.0));
            }
            Init::XavierNormal { gain } => {
                let deviation = gain * (2.0 / fans).sqrt();
                // Box and Muller's transform; 1 - unit is never 0.
                self.draw(count, |unit| {
                    let radius = (-2.0 * (1.0 - unit()).ln()).sqrt();
                    deviation * radius * (std::f64::consts::TAU * unit()).cos()
                });
            }
        }
        self.specs.push(spec);
        Parameter(self.specs.len() - 1)
    }

    fn draw(&mut self, count: usize, draw: impl Fn(&mut dyn FnMut() -> f64) -> f64) {
        // 53 random bits make a double in [0, 1).
        let mut unit = || (self.rng.next_u64() >> 11) as f64 * 2f64.powi(-53);
        self.values.extend((0..count).map(|_| draw(&mut unit)));
    }

    /// Ends the collection; values are rounded to `kind`.
    pub fn finish(self, manager: &Rc<PartitionDataManager>, kind: Kind) -> Result<ParameterSet> {
        let flat = Tensor::f_from_slice(&self.values)?.f_to_kind(kind)?;
        let flat = RefCell::new(manager.track("parameters", flat));
        Ok(ParameterSet { specs: self.specs, manager: manager.clone(), flat })
    }
}

/// All parameters of a model.
pub struct ParameterSet {
    specs: Vec<Spec>,
    manager: Rc<PartitionDataManager>,
    flat: RefCell<PointerTensor>,
}

impl ParameterSet {
    /// All parameters, in the order in which they were added.
    pub fn iter(&self) -> impl Iterator<Item = Parameter> + use<> {
        (0..self.specs.len()).map(Parameter)
    }

    /// The state-dict key of a parameter.
    pub fn name(&self, parameter: Parameter) -> &str {
        &self.specs[parameter.0].name
    }

    /// The shape of a parameter.
    pub fn shape(&self, parameter: Parameter) -> &[i64] {
        &self.specs[parameter.0].shape
    }

    /// The element type of all parameters.
    pub fn kind(&self) -> Kind {
        self.flat.borrow().kind()
    }

    /// The value of a parameter. It shares memory with the whole set: drop it before the next collective.
    pub fn value(&self, parameter: Parameter) -> Result<Tensor> {
        let flat = self.flat.borrow().pin()?;
        self.view(&flat, parameter)
    }

    /// All values as one vector, with unused elements between parameters. An optimizer works on this.
    pub fn flat(&self) -> PointerTensor {
        self.flat.borrow().clone()
    }

    /// Replaces all values.
    pub fn set_flat(&self, flat: Tensor) -> Result<()> {
        if flat.size() != self.flat.borrow().size() {
            return Err(Error::Internal("parameters of another layout".to_owned()));
        }
        *self.flat.borrow_mut() = self.manager.track("parameters", flat);
        Ok(())
    }

    /// Gradients laid out as [`flat`](ParameterSet::flat); 0 where a parameter has none.
    pub fn flat_gradients(&self, gradients: &Gradients) -> Result<Tensor> {
        let flat = self.flat.borrow();
        let all = tensor::zeros(flat.size(), flat.kind())?;
        for parameter in self.iter() {
            if let Some(gradient) = gradients.get(parameter) {
                self.view(&all, parameter)?.f_copy_(&*gradient.pin()?)?;
            }
        }
        Ok(all)
    }

    /// The part of a flat tensor that belongs to a parameter, in its shape. Shares memory.
    pub fn view(&self, flat: &Tensor, parameter: Parameter) -> Result<Tensor> {
        let spec = &self.specs[parameter.0];
        let part = flat.f_narrow(0, spec.offset as i64, spec.numel() as i64)?;
        Ok(part.f_view(spec.shape.as_slice())?)
    }
}
