//! Gradients of sources, to which several ranks contribute.

use tch::Tensor;

use super::aggregate::add_rows;
use crate::engine::comm::Posted;
use crate::engine::spill::PointerTensor;
use crate::engine::tape::graphs::graph::Graph;
use crate::engine::tape::graphs::row_layout::RowLayout;
use crate::engine::tape::record::{Begun, Computation, Tape};
use crate::engine::tape::var::Target;
use crate::words::error::Result;

/// Adds the parts that other ranks push for own sources to the own `parts` (`[num_sources, width]`), and each sum to the gradient of
/// its target, if there is one.
pub(super) fn add_pushed<'a, const N: usize>(
    tape: &mut Tape<'a>,
    graph: &'a dyn Graph,
    posted: Option<Posted>,
    parts: [Tensor; N],
    targets: [Option<Target>; N],
) -> Begun<'a> {
    let parts = parts.into_iter().map(|part| tape.manager().track_rows("partial-gradient", part));
    let parts = parts.collect::<Result<Vec<_>>>()?;
    Computation::after(tape, graph, posted, move |tape, collective| {
        let sums = parts.into_iter().map(PointerTensor::take);
        let mut sums = sums.collect::<Result<Vec<_>>>()?;
        let rows = |sum: &Tensor| RowLayout::new(sum.size()[1] as usize, sum.kind());
        let layout: Vec<_> = sums.iter().map(rows).collect();
        graph.pushed(collective.as_ref(), &layout, &mut |rows, parts| {
            sums.iter_mut().zip(parts).try_for_each(|(sum, part)| add_rows(part, rows, sum))
        })?;
        for (target, sum) in targets.iter().zip(sums).filter(|(target, _)| target.is_some()) {
            tape.add_new_grad(target.as_ref(), sum)?;
        }
        Ok(())
    })
}
