//! Direct I/O around the page cache: requests at page boundaries, several in flight.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::thread;

use parking_lot::Mutex;
use rustix::io::{pread, retry_on_intr};

use super::aligned_buffer::{AlignedBuffer, PAGE};
use super::request_queue::{DEPTH, InFlight, RequestQueue};
use crate::platform::blocks::{HUGE, LARGE};

/// Size in bytes of a request that goes through a buffer.
const REQUEST: u64 = 1 << 20;
/// Size in bytes below which data are not worth a request, and stay in the page cache.
pub(super) const SMALL: u64 = 64 << 10;

/// A writer that appends to a file around the page cache.
pub(super) struct DirectWriter {
    file: Arc<File>,
    /// Bytes collected for the next request, which begins with a page; the first one may be the rest of a page.
    buffer: AlignedBuffer,
    start: u64,
    /// Offset of the first request.
    first: Option<u64>,
    requests: InFlight<AlignedBuffer>,
}

impl DirectWriter {
    /// A writer that continues at `start`.
    pub(super) fn new(file: Arc<File>, queue: &Arc<RequestQueue>, start: u64) -> Self {
        let buffer = AlignedBuffer::new(REQUEST as usize);
        let requests = InFlight::new(queue);
        DirectWriter { file, buffer, start, first: None, requests }
    }

    /// Offset from which the file is written around the page cache, if it is.
    pub(super) fn first(&self) -> Option<u64> {
        let is_worth_it =
            self.start.is_multiple_of(PAGE) && self.buffer.bytes().len() as u64 >= SMALL;
        self.first.or(is_worth_it.then_some(self.start))
    }

    /// Appends bytes. `cached` is the same file opened through the page cache, for a remainder that does not fill a
    /// page.
    pub(super) fn write(&mut self, mut bytes: &[u8], cached: &File) -> io::Result<()> {
        while !bytes.is_empty() {
            // Where the file left the page cache inside a page, only the rest of that page goes through it.
            let past = self.start % PAGE;
            let end = if past == 0 { REQUEST } else { PAGE - past };
            let room = end as usize - self.buffer.bytes().len();
            let (now, later) = bytes.split_at(room.min(bytes.len()));
            self.buffer.append(now);
            bytes = later;
            if now.len() == room {
                self.flush(cached)?;
            }
        }
        Ok(())
    }

    /// Sends a full buffer.
    fn flush(&mut self, cached: &File) -> io::Result<()> {
        let start = self.start;
        self.start += self.buffer.bytes().len() as u64;
        if !start.is_multiple_of(PAGE) {
            // Happens once per file, where it left the page cache in the middle of a page.
            let written = cached.write_all_at(self.buffer.bytes(), start);
            self.buffer.clear();
            return written;
        }
        self.first.get_or_insert(start);
        let next = if self.requests.is_full() { self.requests.next()? } else { None };
        let mut next = next.unwrap_or_else(|| AlignedBuffer::new(REQUEST as usize));
        next.clear();
        let buffer = std::mem::replace(&mut self.buffer, next);
        let file = self.file.clone();
        self.requests.submit(move || {
            file.write_all_at(buffer.bytes(), start)?;
            Ok(buffer)
        })
    }

    /// Writes the remaining bytes and waits for all requests.
    pub(super) fn finish(mut self, cached: &File) -> io::Result<()> {
        // Less than a page goes through the cache, and so does a file that is not worth a request.
        let left = self.buffer.bytes();
        let pages =
            if self.first().is_some() { left.len() - left.len() % PAGE as usize } else { 0 };
        let (whole, rest) = left.split_at(pages);
        self.file.write_all_at(whole, self.start)?;
        cached.write_all_at(rest, self.start + pages as u64)?;
        while self.requests.next()?.is_some() {}
        Ok(())
    }
}

/// Fills `bytes` from `offset`, around the page cache.
pub(super) fn read_direct(
    file: &Arc<File>,
    queue: &Arc<RequestQueue>,
    bytes: &mut [u8],
    offset: u64,
) -> io::Result<()> {
    let is_page = |place: u64| place.is_multiple_of(PAGE);
    if bytes.len() < LARGE || !is_page(offset) || !is_page(bytes.as_ptr() as u64) {
        return read_buffered(file, queue, bytes, offset);
    }
    let whole = bytes.len() - bytes.len() % PAGE as usize;
    let (pages, rest) = bytes.split_at_mut(whole);
    read_pages(file, pages, offset)?;
    read_buffered(file, queue, rest, offset + whole as u64)
}

/// Fills whole pages of memory from whole pages of the file, with separate threads, because the queue's threads cannot
/// borrow memory. A request is a huge page, so that two threads never clear the same one.
fn read_pages(file: &File, pages: &mut [u8], offset: u64) -> io::Result<()> {
    let places = (offset..).step_by(HUGE);
    let requests = Mutex::new(pages.chunks_mut(HUGE).zip(places));
    let next = || requests.lock().next();
    let read = || {
        while let Some((bytes, place)) = next() {
            file.read_exact_at(bytes, place)?;
        }
        Ok(())
    };
    thread::scope(|scope| {
        // A thread that fails to start does no harm, because this thread reads as well.
        let start = |i| thread::Builder::new().name(format!("disk-{i}")).spawn_scoped(scope, read);
        let others: Vec<_> = (1..DEPTH).filter_map(|i| start(i).ok()).collect();
        let own = read();
        let died = |_| Err(io::Error::other("a thread for disk requests has died"));
        others.into_iter().fold(own, |read, other| read.and(other.join().unwrap_or_else(died)))
    })
}

/// Fills `bytes` through page-aligned buffers.
fn read_buffered(
    file: &Arc<File>,
    queue: &Arc<RequestQueue>,
    bytes: &mut [u8],
    offset: u64,
) -> io::Result<()> {
    let end = offset + bytes.len() as u64;
    let mut requests = InFlight::new(queue);
    let mut next = offset - offset % PAGE;
    let mut buffers = Vec::new();
    loop {
        while next < end && !requests.is_full() {
            let (start, len) = (next, (end - next).min(REQUEST).next_multiple_of(PAGE));
            next += len;
            // Only the last request is shorter than the requests whose buffers are reused.
            let buffer = buffers.pop().unwrap_or_else(|| AlignedBuffer::new(len as usize));
            let file = file.clone();
            requests.submit(move || Pages::read(&file, buffer, start, len))?;
        }
        let Some(Pages { start, read, buffer }) = requests.next()? else { return Ok(()) };
        let from = start.max(offset);
        let to = (start + REQUEST).min(end);
        if start + read < to {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let part = &buffer.bytes()[(from - start) as usize..(to - start) as usize];
        bytes[(from - offset) as usize..(to - offset) as usize].copy_from_slice(part);
        buffers.push(buffer);
    }
}

/// Bytes of a request.
struct Pages {
    /// Offset of the first byte in the file.
    start: u64,
    /// Number of bytes; less than requested if the file ends before.
    read: u64,
    buffer: AlignedBuffer,
}

impl Pages {
    /// Fills the first `len` bytes of the buffer, or as far as the file reaches.
    fn read(file: &File, mut buffer: AlignedBuffer, start: u64, len: u64) -> io::Result<Self> {
        let mut read = 0;
        let bytes = buffer.first_mut(len as usize);
        while read < len {
            let missing = &mut bytes[read as usize..];
            let got = retry_on_intr(|| pread(file, &mut *missing, start + read))?;
            read += got as u64;
            // The file may end in the middle of a page; bytes after it cannot be requested.
            if got == 0 || !(got as u64).is_multiple_of(PAGE) {
                break;
            }
        }
        Ok(Pages { start, read, buffer })
    }
}
