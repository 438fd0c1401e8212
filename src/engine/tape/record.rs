//! The tape: operations in the order of the forward pass, and the backward pass over them.

use std::collections::HashMap;
use std::rc::Rc;

use serde::{Deserialize, Serialize};
use tch::Tensor;

use super::constants::Constants;
use super::gradients::Gradients;
use super::graphs::graph::Graph;
use super::letting_go::LettingGo;
use super::parameters::{Parameter, ParameterSet};
use super::var::{Target, Var};
use crate::engine::comm::{Collective, Posted};
use crate::engine::spill::{Hold, PartitionDataManager, PointerTensor};
use crate::engine::tensor;
use crate::engine::turns::Phase;
use crate::event::{Span, SpanKind, span, span_of};
use crate::kernels::DropoutKey;
use crate::words::error::{Error, Result};

/// Policy for values inside a segment between its forward and its backward pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Policy {
    /// Only inputs are kept; the values inside are recomputed, and so is the output when it is used.
    #[default]
    Rematerialise,
    /// libtorch's local graph stays in memory, even through pauses (SAR's `disable_sr`).
    Retain,
}

/// A computation on the tape: complete, or waiting for other ranks' rows after posting its own.
#[must_use]
pub enum Computation<'a, T> {
    /// The computation is complete.
    Complete(T),
    /// The computation continues after a pause.
    Waiting(Waiting<'a, T>),
}

/// Result of the start of a computation.
pub type Begun<'a, T = ()> = Result<Computation<'a, T>>;

/// A computation before a pause; of its values, only `PointerTensor`s survive the pause.
pub struct Waiting<'a, T> {
    pub(super) graph: &'a dyn Graph,
    /// Taken when the pause begins.
    pub(super) posted: Option<Posted>,
    /// The relation of the computation, as in [`Tape::enter_relation`].
    pub(super) relation: u32,
    pub(super) resume: Box<Resume<'a, T>>,
}

/// The computation after the pause, up to its end or its next pause.
pub(super) type Resume<'a, T> = dyn FnOnce(&mut Tape<'a>, Option<Collective>) -> Begun<'a, T> + 'a;

/// The backward half of an operation that never pauses.
pub(super) trait Adjoint {
    /// Takes the gradient of the operation's output and adds its inputs' and parameters' gradients to the tape.
    fn adjoint(self: Box<Self>, tape: &mut Tape<'_>, gy: PointerTensor) -> Result<()>;
}

/// The backward half of an operation, with pauses that others can share.
pub(super) trait PausingAdjoint<'a> {
    /// [`Adjoint::adjoint`] up to the first pause.
    fn begin(self: Box<Self>, tape: &mut Tape<'a>, gy: PointerTensor) -> Begun<'a>;
}

impl<'a, T: Adjoint> PausingAdjoint<'a> for T {
    fn begin(self: Box<Self>, tape: &mut Tape<'a>, gy: PointerTensor) -> Begun<'a> {
        self.adjoint(tape, gy).map(Computation::Complete)
    }
}

struct Entry<'a> {
    output: usize,
    /// Label of the output.
    name: String,
    layer: u32,
    /// Round of [`Tape::join`] in which the operation was recorded, from 1; 0 outside.
    round: usize,
    operation: Box<dyn PausingAdjoint<'a> + 'a>,
}

/// The record of one forward pass.
pub struct Tape<'a> {
    manager: &'a Rc<PartitionDataManager>,
    parameters: &'a Rc<ParameterSet>,
    policy: Policy,
    /// Seed and epoch of dropout; `None` in an evaluation, which records nothing and has no dropout.
    training: Option<DropoutKey>,
    entries: Vec<Entry<'a>>,
    values: usize,
    layer: u32,
    /// Number of the current relation's part of a layer, from 1; 0 if the layer has no such parts.
    pub(super) relation: u32,
    /// Current round of [`Tape::join`], from 1; 0 outside.
    pub(super) round: usize,
    /// Number of rounds so far.
    pub(super) rounds: usize,
    /// The hidden layer, from 1, whose output is the result of the pass, unless it is the last layer's output.
    result: Option<usize>,
    grads: HashMap<usize, PointerTensor>,
    parameter_grads: HashMap<Parameter, PointerTensor>,
    /// Store for aggregates of constants, and number of aggregates so far in this pass.
    pub(super) constants: Option<(&'a Constants, usize)>,
    pub(super) letting_go: LettingGo,
}

impl<'a> Tape<'a> {
    /// A tape for a training step: operations are recorded, and dropout is a function of (`seed`, `epoch`). Steps of one
    /// epoch need seeds of their own, from [`seed_of_step`](crate::train::seed_of_step), or they drop the same elements.
    pub fn training(
        manager: &'a Rc<PartitionDataManager>,
        parameters: &'a Rc<ParameterSet>,
        policy: Policy,
        seed: u64,
        epoch: u32,
    ) -> Self {
        let key = DropoutKey { seed, epoch, layer: 0 };
        Tape { training: Some(key), policy, ..Tape::evaluation(manager, parameters) }
    }

    /// A tape for a forward pass only: it records nothing and applies no dropout.
    pub fn evaluation(
        manager: &'a Rc<PartitionDataManager>,
        parameters: &'a Rc<ParameterSet>,
    ) -> Self {
        Tape {
            manager,
            parameters,
            policy: Policy::Rematerialise,
            training: None,
            entries: Vec::new(),
            values: 0,
            layer: 0,
            relation: 0,
            round: 0,
            rounds: 0,
            result: None,
            grads: HashMap::new(),
            parameter_grads: HashMap::new(),
            constants: None,
            letting_go: LettingGo::default(),
        }
    }

    /// The same tape for a forward pass that ends after hidden layer `layer` (from 1), whose output the model returns.
    #[must_use]
    pub fn ending_after(self, layer: Option<usize>) -> Self {
        Tape { result: layer, ..self }
    }

    /// Whether the pass ends after this hidden layer (from 1).
    pub fn ends_after(&self, layer: usize) -> bool {
        self.result == Some(layer)
    }

    /// Adds a value that is equal in all passes, such as the features of a graph that is trained as a whole. One row
    /// per node.
    pub fn constant(&mut self, value: &PointerTensor) -> Var {
        self.values += 1;
        Var::constant(self.values, value.clone(), self.hold(value))
    }

    /// Adds a value that needs no gradient, such as features of a batch. One row per node. Operations on the graph take
    /// matrices; [segments](Tape::segment) also take vectors, such as degrees.
    pub fn input(&mut self, value: &PointerTensor) -> Var {
        self.var(value.clone(), false)
    }

    /// Adds a learned input that is not a parameter of the model, such as rows of an embedding; [`Gradients::input`]
    /// returns its gradient.
    pub fn trainable_input(&mut self, value: &PointerTensor) -> Var {
        self.var(value.clone(), true)
    }

    /// Adds a parameter of a separate set as an input with one row per node; [`Gradients::input`] returns its gradient.
    pub fn learned_input(&mut self, set: &Rc<ParameterSet>, parameter: Parameter) -> Var {
        let (shape, kind) = (set.shape(parameter).to_vec(), set.kind());
        let recipe = {
            let set = set.clone();
            Rc::new(move || tensor::copy(&set.value(parameter)?))
        };
        let value = self.manager.track_recipe("learned-input", &shape, kind, None, recipe);
        self.trainable_input(&value)
    }

    /// Sets the layer (from 0) of the following operations. Messages name it, and dropout depends on it.
    pub fn enter_layer(&mut self, layer: usize) {
        self.layer = layer as u32;
        self.relation = 0;
        self.manager.set_phase(Phase::Forward(self.layer));
    }

    /// Sets the relation (from 0) of the following operations, or `None` if they belong to no single one; dropout
    /// depends on it.
    pub fn enter_relation(&mut self, relation: Option<usize>) {
        self.relation = relation.map_or(0, |relation| relation as u32 + 1);
    }

    /// Plays the tape backwards from `gradient`, the derivative of the loss with respect to `output`.
    ///
    /// # Errors
    /// If libtorch refuses an operation (`Tensor`), a value cannot be read back (`Io`, `Corrupt`), or the run is being
    /// stopped (`Aborted`, `Interrupted`).
    pub fn backward(mut self, output: Var, gradient: Tensor) -> Result<Gradients> {
        let last_pause = self.letting_go.end(self.entries.len(), self.manager.lock().turns());
        if let Some((constants, _)) = self.constants {
            constants.last_pause.set(Some(last_pause));
        }
        self.add_new_grad(output.target().as_ref(), gradient)?;
        drop(output);
        let mut waiting = Vec::new();
        while let Some(Entry { output, name, layer, round, operation }) = self.entries.pop() {
            if let Some(gy) = self.grads.remove(&output) {
                self.manager.set_phase(Phase::Backward(layer));
                let spans = move || {
                    let mut adjoint = span_of(SpanKind::Operation, || format!("{name}, backward"));
                    adjoint.set("layer", layer);
                    adjoint
                };
                let _span = spans();
                let adjoint = operation.begin(&mut self, gy)?;
                if matches!(adjoint, Computation::Waiting(_)) {
                    waiting.push(adjoint.within(spans));
                }
            }
            // Within a round, operations do not depend on one another's adjoints.
            if round == 0 || self.entries.last().is_none_or(|next| next.round != round) {
                self.join(std::mem::take(&mut waiting))?;
            }
        }
        Ok(Gradients { by_parameter: self.parameter_grads, by_input: self.grads })
    }

    pub(super) fn manager(&self) -> &'a Rc<PartitionDataManager> {
        self.manager
    }

    pub(super) fn parameters(&self) -> &'a Rc<ParameterSet> {
        self.parameters
    }

    pub(super) fn dropout_key(&self) -> Option<DropoutKey> {
        self.training.map(|key| DropoutKey { layer: self.layer | self.relation << 16, ..key })
    }

    /// Whether a backward pass will follow.
    pub(super) fn records(&self) -> bool {
        self.training.is_some()
    }

    pub(super) fn retains(&self) -> bool {
        self.training.is_some() && self.policy == Policy::Retain
    }

    /// Creates a value of this tape.
    pub(super) fn var(&mut self, value: PointerTensor, needs_grad: bool) -> Var {
        self.values += 1;
        let hold = self.hold(&value);
        Var::new(self.values, needs_grad && self.training.is_some(), value, hold)
    }

    fn hold(&self, value: &PointerTensor) -> Hold {
        Hold::new(self.manager, value, self.letting_go.now())
    }

    /// Records the adjoint of the operation that computed `output`, unless the value needs no gradient.
    pub(super) fn record(&mut self, output: &Var, operation: impl PausingAdjoint<'a> + 'a) {
        if let Some(target) = output.target() {
            let operation = Box::new(operation);
            let name = output.value().label().to_owned();
            self.letting_go.record(self.entries.len(), self.manager.lock().turns());
            let (output, layer, round) = (target.id, self.layer, self.round);
            self.entries.push(Entry { output, name, layer, round, operation });
        }
    }

    /// Begins a span for an operation's forward pass.
    pub(super) fn span(&self, name: &'static str) -> Span {
        self.spans(name)()
    }

    /// Begins spans for an operation's forward pass, one per part between pauses.
    pub(super) fn spans(&self, name: &'static str) -> impl Fn() -> Span + use<> {
        let layer = self.layer;
        move || {
            let mut forward = span(SpanKind::Operation, name);
            forward.set("layer", layer);
            forward
        }
    }

    /// Adds a new tensor to the gradient of a value, if it needs one.
    pub(super) fn add_new_grad(&mut self, to: Option<&Target>, gradient: Tensor) -> Result<()> {
        let gradient = self.manager.track_rows("gradient", gradient)?;
        self.add_grad(to, gradient)
    }

    /// Adds to the gradient of a value, if it needs one.
    pub(super) fn add_grad(&mut self, to: Option<&Target>, gradient: PointerTensor) -> Result<()> {
        let Some(Target { id, size }) = to else { return Ok(()) };
        if gradient.size() != size {
            let got = gradient.size();
            let problem = format!("has the shape {got:?}, its value {size:?}");
            return Err(Error::config("gradient", problem));
        }
        let old = self.grads.remove(id);
        let sum = self.sum(old, gradient)?;
        self.grads.insert(*id, sum);
        Ok(())
    }

    /// Takes a value's gradient so far, for an operation that adds to it in place.
    pub(super) fn take_grad(&mut self, of: &Target) -> Option<PointerTensor> {
        self.grads.remove(&of.id)
    }

    /// Adds to the gradient of a parameter.
    pub(super) fn add_parameter_grad(
        &mut self,
        parameter: Parameter,
        gradient: Tensor,
    ) -> Result<()> {
        let gradient = self.manager.track("parameter-gradient", gradient);
        let old = self.parameter_grads.remove(&parameter);
        let sum = self.sum(old, gradient)?;
        self.parameter_grads.insert(parameter, sum);
        Ok(())
    }

    fn sum(&self, old: Option<PointerTensor>, new: PointerTensor) -> Result<PointerTensor> {
        match old {
            None => Ok(new),
            Some(old) => {
                let mut sum = old.into_tensor(false)?;
                tensor::add(&mut sum, &*new.pin()?)?;
                self.manager.track_rows("gradient", sum)
            }
        }
    }
}
