//! Computations with pauses for other ranks' rows, and the sharing of pauses.

use super::graphs::graph::Graph;
use super::record::{Begun, Computation, Tape, Waiting};
use crate::engine::comm::{Collective, Posted};
use crate::event::Span;
use crate::words::error::{Error, Result};

impl<'a, T: 'a> Computation<'a, T> {
    /// A computation that has posted messages and continues with `resume`, which reads the other ranks' messages. If
    /// nothing is posted, it completes at once.
    pub(super) fn after(
        tape: &mut Tape<'a>,
        graph: &'a dyn Graph,
        posted: Option<Posted>,
        resume: impl FnOnce(&mut Tape<'a>, Option<Collective>) -> Result<T> + 'a,
    ) -> Result<Self> {
        if posted.is_none() {
            return resume(tape, None).map(Computation::Complete);
        }
        let resume = Box::new(move |tape: &mut Tape<'a>, collective| {
            resume(tape, collective).map(Computation::Complete)
        });
        Ok(Computation::Waiting(Waiting { graph, posted, relation: tape.relation, resume }))
    }

    /// Continues with `next` when this computation is complete.
    ///
    /// # Errors
    /// If the computation is complete, and `next` fails.
    pub fn then<U: 'a>(
        self,
        tape: &mut Tape<'a>,
        next: impl FnOnce(&mut Tape<'a>, T) -> Result<U> + 'a,
    ) -> Begun<'a, U> {
        self.and_then(tape, |tape, value| next(tape, value).map(Computation::Complete))
    }

    /// Continues with `next`, which may pause itself, when this computation is complete.
    ///
    /// # Errors
    /// If the computation is complete and `next` fails.
    pub fn and_then<U: 'a>(
        self,
        tape: &mut Tape<'a>,
        next: impl FnOnce(&mut Tape<'a>, T) -> Begun<'a, U> + 'a,
    ) -> Begun<'a, U> {
        match self {
            Computation::Complete(value) => next(tape, value),
            Computation::Waiting(Waiting { graph, posted, relation, resume }) => {
                let resume = Box::new(move |tape: &mut Tape<'a>, collective| {
                    resume(tape, collective)?.and_then(tape, next)
                });
                Ok(Computation::Waiting(Waiting { graph, posted, relation, resume }))
            }
        }
    }

    /// The same computation, with a span around each remaining part.
    pub(super) fn within(self, begin: impl Fn() -> Span + 'a) -> Self {
        match self {
            Computation::Complete(value) => Computation::Complete(value),
            Computation::Waiting(Waiting { graph, posted, relation, resume }) => {
                let resume = Box::new(move |tape: &mut Tape<'a>, collective| {
                    let _span = begin();
                    Ok(resume(tape, collective)?.within(begin))
                });
                Computation::Waiting(Waiting { graph, posted, relation, resume })
            }
        }
    }

    /// Pauses as often as this computation needs, and returns its result.
    ///
    /// # Errors
    /// If the computation fails, or the run is being stopped (`Aborted`, `Interrupted`).
    pub fn finish(self, tape: &mut Tape<'a>) -> Result<T> {
        let missing = || Error::internal("a computation without a result");
        tape.join(vec![self])?.pop().ok_or_else(missing)
    }

    /// Takes what a waiting computation has posted, with its graph.
    fn take_posted(&mut self) -> Option<(&'a dyn Graph, Posted)> {
        match self {
            Computation::Complete(_) => None,
            Computation::Waiting(Waiting { graph, posted, .. }) => Some((*graph, posted.take()?)),
        }
    }
}

impl<'a> Tape<'a> {
    /// Completes several independent computations. In each round, all that still wait share one pause and then continue
    /// one by one. Their backward passes share pauses in the same way.
    ///
    /// # Errors
    /// If a computation fails, or the run is being stopped (`Aborted`, `Interrupted`).
    pub fn join<T: 'a>(&mut self, mut computations: Vec<Computation<'a, T>>) -> Result<Vec<T>> {
        let (relation, round) = (self.relation, self.round);
        loop {
            let posted = computations.iter_mut().filter_map(Computation::take_posted);
            let (graphs, posted): (Vec<_>, Vec<_>) = posted.unzip();
            let Some(graph) = graphs.first() else { break };
            let mut collectives = graph.complete_all(posted)?.into_iter();
            self.rounds += 1;
            self.round = self.rounds;
            let resumed = computations.into_iter().map(|computation| match computation {
                Computation::Complete(value) => Ok(Computation::Complete(value)),
                Computation::Waiting(Waiting { relation, resume, .. }) => {
                    self.relation = relation;
                    resume(self, collectives.next())
                }
            });
            computations = resumed.collect::<Result<_>>()?;
        }
        (self.relation, self.round) = (relation, round);
        let results = computations.into_iter().map(|computation| match computation {
            Computation::Complete(value) => Ok(value),
            Computation::Waiting(_) => Err(Error::internal("a computation still waits")),
        });
        results.collect()
    }
}
