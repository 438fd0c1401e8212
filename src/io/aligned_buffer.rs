//! Memory for direct I/O.

/// Alignment of addresses, offsets and lengths in direct I/O, in bytes; a multiple of every block size in use.
pub(super) const PAGE: u64 = 4096;

/// A buffer of bytes that begins at a multiple of [`PAGE`] in memory. Unfilled memory is not touched.
pub(super) struct AlignedBuffer {
    memory: Vec<u8>,
    /// Number of unused bytes in front, for alignment.
    start: usize,
}

impl AlignedBuffer {
    /// An empty buffer with room for `capacity` bytes.
    pub(super) fn new(capacity: usize) -> Self {
        let mut memory: Vec<u8> = Vec::with_capacity(capacity + PAGE as usize);
        let start = memory.as_ptr().align_offset(PAGE as usize);
        memory.resize(start, 0);
        AlignedBuffer { memory, start }
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.memory[self.start..]
    }

    /// Appends bytes, which must fit.
    pub(super) fn append(&mut self, bytes: &[u8]) {
        assert!(bytes.len() <= self.memory.capacity() - self.memory.len(), "the buffer would move");
        self.memory.extend_from_slice(bytes);
    }

    pub(super) fn clear(&mut self) {
        self.memory.truncate(self.start);
    }

    /// The first `len` bytes, which must fit, to be overwritten.
    pub(super) fn first_mut(&mut self, len: usize) -> &mut [u8] {
        assert!(len <= self.memory.capacity() - self.start, "the buffer would move");
        self.memory.resize(self.start + len, 0);
        &mut self.memory[self.start..]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_begin_at_pages_and_stay_there() {
        for len in [4096, 8192, 1 << 20] {
            let mut buffer = AlignedBuffer::new(len);
            assert!(buffer.bytes().is_empty());
            buffer.append(&[1, 2]);
            buffer.append(&vec![3; len - 2]);
            assert!((buffer.bytes().as_ptr() as usize).is_multiple_of(PAGE as usize));
            assert_eq!((buffer.bytes().len(), &buffer.bytes()[..3]), (len, &[1, 2, 3][..]));
            buffer.clear();
            assert!(buffer.bytes().is_empty());
            assert_eq!(buffer.first_mut(len).len(), len);
            assert!((buffer.bytes().as_ptr() as usize).is_multiple_of(PAGE as usize));
        }
    }
}
