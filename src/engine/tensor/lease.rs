//! Leased slices of tensors' memory: a slice is written only while no other slice overlaps it.
//!
//! libtorch's handles share memory, so an exclusive borrow of a handle does not exclude other users of the memory.
//! Every slice therefore holds a lease of its range, which is checked on creation: if one of two slices is mutable,
//! they do not overlap, whatever handles they come from. libtorch's own accesses are not checked.

use std::ops::{Deref, DerefMut, Range};

use parking_lot::Mutex;

/// Ranges of the existing slices. There are few: several per thread.
static LEASED: Mutex<Vec<Lent>> = Mutex::new(Vec::new());

#[derive(PartialEq, Eq)]
struct Lent {
    memory: Range<usize>,
    /// Whether the memory may be written.
    exclusive: bool,
}

/// The lease of a range of memory while this exists.
struct Lease(Range<usize>, bool);

impl Lease {
    /// # Panics
    /// If another slice overlaps, and one of the two is mutable.
    fn take(memory: Range<usize>, exclusive: bool) -> Self {
        let mut leased = LEASED.lock();
        let clashes = |other: &Lent| {
            let overlap = other.memory.start < memory.end && memory.start < other.memory.end;
            overlap && (exclusive || other.exclusive)
        };
        assert!(!leased.iter().any(clashes), "a tensor's memory is written while it is in use");
        leased.push(Lent { memory: memory.clone(), exclusive });
        Lease(memory, exclusive)
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        let mut leased = LEASED.lock();
        let own = |lent: &Lent| lent.memory == self.0 && lent.exclusive == self.1;
        // Equal entries are interchangeable.
        if let Some(place) = leased.iter().position(own) {
            leased.swap_remove(place);
        }
    }
}

/// Elements for reading.
pub(crate) struct Slice<'a, T> {
    elements: &'a [T],
    _lease: Option<Lease>,
}

impl<'a, T> Slice<'a, T> {
    /// A slice of elements; checks that no mutable slice overlaps.
    pub(super) fn new(memory: Range<usize>, elements: impl FnOnce() -> &'a [T]) -> Self {
        let lease = (!memory.is_empty()).then(|| Lease::take(memory, false));
        Slice { elements: elements(), _lease: lease }
    }
}

impl<T> Deref for Slice<'_, T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        self.elements
    }
}

/// Elements for writing.
pub(crate) struct SliceMut<'a, T> {
    elements: &'a mut [T],
    _lease: Option<Lease>,
}

impl<'a, T> SliceMut<'a, T> {
    /// A mutable slice of elements; checks that no other slice overlaps.
    pub(super) fn new(memory: Range<usize>, elements: impl FnOnce() -> &'a mut [T]) -> Self {
        let lease = (!memory.is_empty()).then(|| Lease::take(memory, true));
        SliceMut { elements: elements(), _lease: lease }
    }
}

impl<T> Deref for SliceMut<'_, T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        self.elements
    }
}

impl<T> DerefMut for SliceMut<'_, T> {
    fn deref_mut(&mut self) -> &mut [T] {
        self.elements
    }
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use tch::{Kind, Tensor};

    use crate::engine::tensor::{slice, slice_mut, zeros};

    /// Whether creating a slice panics.
    fn refused<R>(take: impl FnOnce() -> R) -> bool {
        catch_unwind(AssertUnwindSafe(|| drop(take()))).is_err()
    }

    #[test]
    fn no_memory_is_written_through_one_handle_while_another_slice_has_it() {
        let mut tensor: Tensor = zeros(&[4, 2], Kind::Float).unwrap();
        let mut alias = tensor.shallow_clone();
        let mut tail = tensor.narrow(0, 2, 2);
        let mut head = tensor.narrow(0, 0, 2);
        {
            let (read, again) = (slice::<f32>(&tensor), slice::<f32>(&alias));
            assert_eq!(read[..], again[..]);
            assert!(refused(|| slice_mut::<f32>(&mut tail)[0] = 1.0));
        }
        {
            let mut written = slice_mut::<f32>(&mut tensor);
            written[7] = 3.0;
            assert!(refused(|| slice::<f32>(&alias).len()));
            assert!(refused(|| slice_mut::<f32>(&mut alias).len()));
        }
        let (mut head, tail) = (slice_mut::<f32>(&mut head), slice::<f32>(&tail));
        head[0] = tail[3];
        drop((head, tail));
        assert_eq!(slice::<f32>(&alias)[..], [3.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 3.0]);
    }
}
