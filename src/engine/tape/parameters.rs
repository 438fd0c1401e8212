//! A model's parameters, stored in one flat tensor.
//!
//! Because of the single tensor, an optimizer step takes a few operations, `gather_grads` one collective, and spilling
//! one file.

use std::cell::RefCell;
use std::rc::Rc;

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use tch::{Kind, Tensor};

use super::init::{Init, InitStyle};
use crate::engine::spill::{PartitionDataManager, PointerTensor};
use crate::engine::tensor;
use crate::words::error::{Error, Result};

/// Parameters begin at multiples of this number of elements, so that each is aligned like a separate tensor.
const ALIGNMENT: usize = 16;

/// Number of initial values that are rounded at a time.
const BLOCK: usize = 1 << 18;

/// A handle to one parameter of a [`ParameterSet`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Parameter(usize);

/// A handle to one buffer of a [`ParameterSet`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Buffer(usize);

/// A parameter or a buffer in a [`ParameterSet`].
#[derive(Debug, Clone)]
pub struct Entry {
    /// State-dict key.
    pub name: String,
    /// Sizes of the dimensions.
    pub shape: Vec<i64>,
    /// Whether state dicts store it as `int64`, like a number of steps.
    pub is_count: bool,
    offset: usize,
}

impl Entry {
    fn numel(&self) -> usize {
        self.shape.iter().product::<i64>() as usize
    }
}

/// Collects a model's parameters while its layers are built.
pub struct ParameterBuilder {
    prefix: String,
    parameters: Vec<Entry>,
    values: Vec<f64>,
    /// Buffers, each with its initial value.
    buffers: Vec<(Entry, f64)>,
    rng: ChaCha8Rng,
    style: InitStyle,
}

impl ParameterBuilder {
    /// A builder that draws initial values from a generator with this seed, in the order of calls.
    pub fn new(seed: u64) -> Self {
        ParameterBuilder {
            prefix: String::new(),
            parameters: Vec::new(),
            values: Vec::new(),
            buffers: Vec::new(),
            rng: ChaCha8Rng::seed_from_u64(seed),
            style: InitStyle::default(),
        }
    }

    /// Sets the library whose initial distributions layers use.
    #[must_use]
    pub fn style(self, style: InitStyle) -> Self {
        ParameterBuilder { style, ..self }
    }

    /// Selects one of two distributions by the style.
    pub fn either(&self, dgl: Init, pyg: Init) -> Init {
        match self.style {
            InitStyle::Dgl => dgl,
            InitStyle::Pyg => pyg,
        }
    }

    /// Builds a part of a model; its parameters are named `prefix.name`, as in a PyTorch state dict.
    pub fn scope<T>(&mut self, prefix: &str, make: impl FnOnce(&mut Self) -> T) -> T {
        let outer = self.prefix.clone();
        self.prefix = format!("{outer}{prefix}.");
        let made = make(self);
        self.prefix = outer;
        made
    }

    /// Adds a parameter. As in PyTorch, fan-in and fan-out are a matrix's two dimensions; with more dimensions, the
    /// first two times the product of the others.
    pub fn add(&mut self, name: &str, shape: &[i64], init: Init) -> Parameter {
        let offset = self.values.len().next_multiple_of(ALIGNMENT);
        let entry = Entry { offset, ..self.entry(name, shape) };
        let receptive: i64 = shape.iter().skip(2).product();
        let fans = (shape.iter().take(2).sum::<i64>() * receptive) as f64;
        self.values.resize(offset, 0.0);
        let count = entry.numel();
        match init {
            Init::Zeros => self.values.resize(offset + count, 0.0),
            Init::Constant(value) => self.values.resize(offset + count, value),
            Init::Uniform { bound } => self.draw(count, |unit| bound * (2.0 * unit() - 1.0)),
            Init::XavierUniform { gain } => {
                let bound = gain * (6.0 / fans).sqrt();
                self.draw(count, |unit| bound * (2.0 * unit() - 1.0));
            }
            Init::Glorot => {
                let last: i64 = shape.iter().rev().take(2).sum();
                let bound = (6.0 / last as f64).sqrt();
                self.draw(count, |unit| bound * (2.0 * unit() - 1.0));
            }
            Init::XavierNormal { gain } => {
                let deviation = gain * (2.0 / fans).sqrt();
                // Box-Muller transform; 1 - unit is never 0.
                self.draw(count, |unit| {
                    let radius = (-2.0 * (1.0 - unit()).ln()).sqrt();
                    deviation * radius * (std::f64::consts::TAU * unit()).cos()
                });
            }
        }
        self.parameters.push(entry);
        Parameter(self.parameters.len() - 1)
    }

    /// Adds a value that is not trained, such as a running mean; all its elements are `value`.
    pub fn add_buffer(&mut self, name: &str, shape: &[i64], value: f64) -> Buffer {
        let entry = self.entry(name, shape);
        self.buffers.push((entry, value));
        Buffer(self.buffers.len() - 1)
    }

    /// Adds a buffer for a number of steps, initially 0.
    pub fn add_count(&mut self, name: &str) -> Buffer {
        let entry = Entry { is_count: true, ..self.entry(name, &[]) };
        self.buffers.push((entry, 0.0));
        Buffer(self.buffers.len() - 1)
    }

    fn entry(&self, name: &str, shape: &[i64]) -> Entry {
        let name = format!("{}{name}", self.prefix);
        Entry { name, shape: shape.to_vec(), is_count: false, offset: 0 }
    }

    fn draw(&mut self, count: usize, draw: impl Fn(&mut dyn FnMut() -> f64) -> f64) {
        // 53 random bits make a double in [0, 1).
        let mut unit = || (self.rng.next_u64() >> 11) as f64 * 2f64.powi(-53);
        self.values.extend((0..count).map(|_| draw(&mut unit)));
    }

    /// Creates the set; values are rounded to `kind`.
    ///
    /// # Errors
    /// If memory for the values runs out (`Tensor`).
    pub fn finish(self, manager: &Rc<PartitionDataManager>, kind: Kind) -> Result<ParameterSet> {
        let ParameterBuilder { parameters, mut values, buffers, .. } = self;
        let trained = values.len();
        let buffers = buffers.into_iter().map(|(entry, value)| {
            let offset = values.len().next_multiple_of(ALIGNMENT);
            values.resize(offset, 0.0);
            values.resize(offset + entry.numel(), value);
            Entry { offset, ..entry }
        });
        let buffers = buffers.collect();
        let flat = tensor::empty(&[values.len() as i64], kind)?;
        for (block, begin) in values.chunks(BLOCK).zip((0..).step_by(BLOCK)) {
            let len = block.len() as i64;
            flat.f_narrow(0, begin, len)?.f_copy_(&Tensor::f_from_slice(block)?)?;
        }
        let flat = RefCell::new(manager.track("parameters", flat));
        Ok(ParameterSet { parameters, buffers, trained, manager: manager.clone(), flat })
    }
}

/// All parameters and buffers of a model. Buffers belong to its state and are not trained.
pub struct ParameterSet {
    parameters: Vec<Entry>,
    buffers: Vec<Entry>,
    /// Number of elements of the flat tensor that hold parameters; the buffers follow.
    trained: usize,
    manager: Rc<PartitionDataManager>,
    flat: RefCell<PointerTensor>,
}

impl ParameterSet {
    /// A set of one parameter with this value.
    ///
    /// # Errors
    /// If the value is not contiguous (`Tensor`).
    pub fn single(
        manager: &Rc<PartitionDataManager>,
        name: &str,
        value: &Tensor,
    ) -> Result<(Self, Parameter)> {
        let entry =
            Entry { name: name.to_owned(), shape: value.size(), is_count: false, offset: 0 };
        let trained = entry.numel();
        let flat = RefCell::new(manager.track("parameters", value.f_view([-1])?));
        let (parameters, manager) = (vec![entry], manager.clone());
        Ok((ParameterSet { parameters, buffers: Vec::new(), trained, manager, flat }, Parameter(0)))
    }

    /// All parameters, in the order in which they were added.
    pub fn iter(&self) -> impl Iterator<Item = Parameter> + use<> {
        (0..self.parameters.len()).map(Parameter)
    }

    /// The state-dict key of a parameter.
    pub fn name(&self, parameter: Parameter) -> &str {
        &self.parameters[parameter.0].name
    }

    /// The shape of a parameter.
    pub fn shape(&self, parameter: Parameter) -> &[i64] {
        &self.parameters[parameter.0].shape
    }

    /// The element type of all parameters.
    pub fn kind(&self) -> Kind {
        self.flat.borrow().kind()
    }

    /// The value of a parameter. It shares memory with the whole set, so drop it before the next collective.
    ///
    /// # Errors
    /// If the value cannot be read back (`Io`, `Corrupt`) or computed again.
    pub fn value(&self, parameter: Parameter) -> Result<Tensor> {
        let flat = self.flat.borrow().pin()?;
        self.view(&flat, parameter)
    }

    /// All entries of a state dict: parameters, then buffers.
    pub fn state(&self) -> impl Iterator<Item = &Entry> {
        self.parameters.iter().chain(&self.buffers)
    }

    /// A copy of the value of a buffer.
    ///
    /// # Errors
    /// If the value cannot be read back (`Io`, `Corrupt`) or computed again.
    pub fn buffer(&self, buffer: Buffer) -> Result<Tensor> {
        let flat = self.flat.borrow().pin()?;
        tensor::copy(&self.part(&flat, &self.buffers[buffer.0])?)
    }

    /// Replaces the values of these buffers.
    ///
    /// # Errors
    /// If a value has another shape (`Tensor`), or the old values cannot be read back (`Io`, `Corrupt`).
    pub fn set_buffers(&self, values: &[(Buffer, Tensor)]) -> Result<()> {
        let flat = tensor::copy(&*self.flat().pin()?)?;
        for (buffer, value) in values {
            self.part(&flat, &self.buffers[buffer.0])?.f_copy_(value)?;
        }
        self.set_flat(flat)
    }

    /// All values as one vector, with padding between parameters, and buffers at the end. Optimizers work on this.
    pub fn flat(&self) -> PointerTensor {
        self.flat.borrow().clone()
    }

    /// Replaces the values of parameters by those of a flat tensor; buffers are unchanged. The tensor must be the only
    /// handle to its memory.
    ///
    /// # Errors
    /// If the tensor has another size (`Internal`), or the buffers cannot be read back (`Io`, `Corrupt`).
    pub fn set_trained(&self, flat: Tensor) -> Result<()> {
        let trained = self.trained as i64;
        let buffers = flat.size()[0] - trained;
        if buffers > 0 {
            let old = self.flat.borrow().pin()?;
            flat.f_narrow(0, trained, buffers)?.f_copy_(&old.f_narrow(0, trained, buffers)?)?;
        }
        self.set_flat(flat)
    }

    /// Replaces all values.
    ///
    /// # Errors
    /// If the tensor has another size (`Internal`).
    pub fn set_flat(&self, flat: Tensor) -> Result<()> {
        if flat.size() != self.flat.borrow().size() {
            return Err(Error::internal("these parameters have another layout"));
        }
        *self.flat.borrow_mut() = self.manager.track("parameters", flat);
        Ok(())
    }

    /// A parameter's part of a flat tensor, in its shape. Shares memory.
    ///
    /// # Errors
    /// If the tensor is too short (`Tensor`).
    pub fn view(&self, flat: &Tensor, parameter: Parameter) -> Result<Tensor> {
        self.part(flat, &self.parameters[parameter.0])
    }

    /// A parameter's or buffer's part of a flat tensor, in its shape. Shares memory.
    ///
    /// # Errors
    /// If the tensor is too short (`Tensor`).
    pub fn part(&self, flat: &Tensor, entry: &Entry) -> Result<Tensor> {
        let part = flat.f_narrow(0, entry.offset as i64, entry.numel() as i64)?;
        Ok(part.f_view(entry.shape.as_slice())?)
    }
}
