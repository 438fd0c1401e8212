//! Memory that direct I/O accepts.

/// Alignment of addresses, offsets and lengths in direct I/O, in bytes; it suits every block size in use.
pub(super) const PAGE: u64 = 4096;

/// A buffer of bytes that begins at a multiple of [`PAGE`] in memory.
pub(super) struct AlignedBuffer {
    memory: Vec<u8>,
    start: usize,
    len: usize,
}

impl AlignedBuffer {
    /// Allocates a buffer of `len` bytes, a multiple of [`PAGE`].
    pub(super) fn new(len: usize) -> Self {
        let memory = vec![0; len + PAGE as usize];
        let start = memory.as_ptr().align_offset(PAGE as usize);
        AlignedBuffer { memory, start, len }
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.memory[self.start..][..self.len]
    }

    pub(super) fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.memory[self.start..][..self.len]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_begin_at_pages() {
        for len in [4096, 8192, 1 << 20] {
            let mut buffer = AlignedBuffer::new(len);
            assert!((buffer.bytes().as_ptr() as usize).is_multiple_of(PAGE as usize));
            assert_eq!(buffer.bytes_mut().len(), len);
        }
    }
}
