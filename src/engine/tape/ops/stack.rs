//! Stacking of values in separate rows, and perhaps in separate columns.

use std::rc::Rc;

use tch::Tensor;

use crate::engine::spill::PointerTensor;
use crate::engine::tape::record::{Adjoint, Tape};
use crate::engine::tape::var::{Target, Var};
use crate::engine::tensor;
use crate::words::error::{Error, Result};

impl Tape<'_> {
    /// Stacks the rows of all `parts`, which must have the same width.
    ///
    /// # Errors
    /// If `parts` is empty, the widths differ, memory runs out (`Tensor`), or a value cannot be read back (`Io`, `Corrupt`).
    pub fn stack_rows(&mut self, parts: &[Var]) -> Result<Var> {
        if parts.iter().any(|part| part.width() != parts[0].width()) {
            return Err(Error::internal("stacked rows have several widths"));
        }
        self.stack(parts, false)
    }

    /// Stacks the rows of all `parts`; each part's columns follow the columns of the part before it. All other elements
    /// are -∞, so that in a softmax, a row contributes nothing to other parts' columns.
    ///
    /// # Errors
    /// If `parts` is empty, memory runs out (`Tensor`), or a value cannot be read back (`Io`, `Corrupt`).
    pub fn stack_diagonal(&mut self, parts: &[Var]) -> Result<Var> {
        self.stack(parts, true)
    }

    fn stack(&mut self, parts: &[Var], diagonal: bool) -> Result<Var> {
        let _span = self.span("rows");
        let values: Vec<PointerTensor> = parts.iter().map(Var::value).collect();
        let places = places(&values, diagonal);
        let (Some(kind), Some(last)) = (parts.first().map(Var::kind), places.last()) else {
            return Err(Error::internal("rows are stacked from an empty list of parts"));
        };
        let size = [last.rows, last.columns].map(|[first, count]| first + count);
        let of_values = places.clone();
        let recipe = Rc::new(move || {
            let mut all = tensor::empty(&size, kind)?;
            if diagonal {
                let _filled = all.f_fill_(f64::NEG_INFINITY)?;
            }
            for (value, place) in values.iter().zip(&of_values) {
                place.of(&all)?.f_copy_(&*value.pin()?)?;
            }
            Ok(all)
        });
        let value = self.manager().track_recipe("stacked", &size, kind, None, recipe);
        let y = self.var(value, parts.iter().any(Var::needs_grad));
        if y.needs_grad() {
            let parts = parts.iter().map(Var::target).zip(places);
            let parts = parts.map(|(x, place)| Part { place, x });
            self.record(&y, StackAdjoint { parts: parts.collect() });
        }
        Ok(y)
    }
}

struct StackAdjoint {
    parts: Vec<Part>,
}

struct Part {
    place: Place,
    /// `None` if the part needs no gradient.
    x: Option<Target>,
}

/// Each part gets the gradients of its own rows and columns.
impl Adjoint for StackAdjoint {
    fn adjoint(self: Box<Self>, tape: &mut Tape<'_>, gradient: PointerTensor) -> Result<()> {
        for Part { place, x } in self.parts {
            if x.is_some() {
                let gx = tensor::copy(&place.of(&*gradient.pin()?)?)?;
                tape.add_new_grad(x.as_ref(), gx)?;
            }
        }
        Ok(())
    }
}

/// Location of a part: first row and column, numbers of rows and columns.
#[derive(Clone, Copy)]
struct Place {
    rows: [i64; 2],
    columns: [i64; 2],
}

impl Place {
    /// The part of `all` at this location.
    fn of(self, all: &Tensor) -> Result<Tensor> {
        let rows = all.f_narrow(0, self.rows[0], self.rows[1])?;
        Ok(rows.f_narrow(1, self.columns[0], self.columns[1])?)
    }
}

/// Locations of values, one below the other, and if `diagonal`, each to the right of the one before it.
fn places(values: &[PointerTensor], diagonal: bool) -> Vec<Place> {
    let (mut row, mut column) = (0, 0);
    let places = values.iter().map(|value| {
        let [rows, columns] = [0, 1].map(|side| value.size()[side]);
        let place = Place { rows: [row, rows], columns: [column, columns] };
        row += rows;
        if diagonal {
            column += columns;
        }
        place
    });
    places.collect()
}
