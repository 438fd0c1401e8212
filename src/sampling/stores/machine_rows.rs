//! Transfer of rows of tensors on disk to the other machines' copies of the tensor.

use super::dist_tensor::{DistElement, DistTensor};
use crate::engine::comm::{Inbox, Outbox, Ranks, Recipient, spans_machines, tell_machines};
use crate::words::error::Result;

impl<T: DistElement> DistTensor<T> {
    /// Sends the current values of rows (type-wise ids; each rank names its own rows) to the other machines. One
    /// collective on several machines, none on one; another collective must follow before the rows are read.
    ///
    /// # Errors
    /// If rows cannot be read or written (`Io`, `OutOfDisk`), or the collective fails.
    pub fn send_rows(&self, ids: &[u64], ranks: Ranks<'_>) -> Result<()> {
        if !spans_machines(ranks.group) {
            return Ok(());
        }
        let send = |outbox: &mut dyn Outbox| {
            outbox.write(&(ids.len() as u64).to_le_bytes())?;
            outbox.write(bytemuck::cast_slice(ids))?;
            outbox.write(bytemuck::cast_slice(&self.read(ids)?))
        };
        tell_machines(ranks, Recipient::Everyone, send, |_, inbox| {
            let ids: Vec<u64> = numbers(inbox, 1)?;
            let ids: Vec<u64> = numbers(inbox, ids[0] as usize)?;
            let values: Vec<T> = numbers(inbox, ids.len() * self.width())?;
            self.write(&ids, &values)
        })
    }

    /// [`send_rows`](Self::send_rows) for all rows of this rank's partition.
    ///
    /// # Errors
    /// As for [`send_rows`](Self::send_rows).
    pub fn send_own_rows(&self, ranks: Ranks<'_>) -> Result<()> {
        if !spans_machines(ranks.group) {
            return Ok(());
        }
        let own = self.rows_of(ranks.group.rank());
        let send = |outbox: &mut dyn Outbox| {
            outbox.write(bytemuck::cast_slice(&[own.start, own.end]))?;
            for rows in self.chunks(own.clone()) {
                let mut values =
                    vec![T::default(); (rows.end - rows.start) as usize * self.width()];
                self.read_from(rows.start, &mut values)?;
                outbox.write(bytemuck::cast_slice(&values))?;
            }
            Ok(())
        };
        tell_machines(ranks, Recipient::Everyone, send, |_, inbox| {
            let ends: Vec<u64> = numbers(inbox, 2)?;
            for rows in self.chunks(ends[0]..ends[1]) {
                let count = (rows.end - rows.start) as usize * self.width();
                self.write_from(rows.start, &numbers::<T>(inbox, count)?)?;
            }
            Ok(())
        })
    }
}

fn numbers<T: DistElement>(inbox: &mut dyn Inbox, count: usize) -> Result<Vec<T>> {
    let mut numbers = vec![T::default(); count];
    inbox.read(bytemuck::cast_slice_mut(&mut numbers))?;
    Ok(numbers)
}
