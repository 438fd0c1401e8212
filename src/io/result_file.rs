//! Files of results during writing.

use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::atomic::AtomicFile;
use super::page_cache::ChangedPages;
use crate::platform::signals;
use crate::words::error::{Error, Result};

/// Number of bytes written at a time to a regular file.
const BUFFER: usize = 1 << 20;
/// Number of bytes that a pipe with room takes without blocking the writer (`PIPE_BUF`).
const AT_ONCE: usize = 4096;
/// Interval of looking for signals while nothing can be written.
const TICK: Duration = Duration::from_millis(50);

/// A file of results at a [`Destination`](super::Destination).
#[derive(Debug)]
pub struct ResultFile {
    name: PathBuf,
    out: BufWriter<Sink>,
}

#[derive(Debug)]
enum Sink {
    /// A file that appears when it is complete.
    Regular {
        file: AtomicFile,
        len: u64,
        changed: ChangedPages,
    },
    Stream(Stream),
}

/// A sequential destination of bytes: a pipe, a device, or an open file.
#[derive(Debug)]
struct Stream {
    file: File,
    /// Whether bytes can be written without waiting for a reader.
    never_waits: bool,
    /// Whether the reader has left.
    abandoned: bool,
}

impl ResultFile {
    pub(super) fn regular(path: &Path) -> Result<Self> {
        let (file, changed) = (AtomicFile::create(path)?, ChangedPages::default());
        Ok(Self::new(path, Sink::Regular { file, len: 0, changed }))
    }

    pub(super) fn standard_output() -> Result<Self> {
        let name = Path::new("standard output");
        let failed = |e| Error::io("write", name, e);
        let mut output = io::stdout().lock();
        output.flush().map_err(failed)?;
        let file = output.as_fd().try_clone_to_owned().map_err(failed)?;
        let stream = Stream::new(file.into()).map_err(failed)?;
        Ok(Self::new(name, Sink::Stream(stream)))
    }

    pub(super) fn stream(name: &Path) -> Result<Self> {
        let mut options = OpenOptions::new();
        // A log that others append to keeps its content. A FIFO without a reader refuses, and is tried again.
        options.append(true).custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY);
        let file = loop {
            match options.open(name) {
                Err(e) if e.raw_os_error() == Some(libc::ENXIO) => {
                    signals::check()?;
                    std::thread::sleep(TICK);
                }
                opened => break opened,
            }
        };
        let stream = file.and_then(Stream::new).map_err(|e| Error::io("write", name, e))?;
        Ok(Self::new(name, Sink::Stream(stream)))
    }

    fn new(name: &Path, sink: Sink) -> Self {
        ResultFile { name: name.to_owned(), out: BufWriter::with_capacity(BUFFER, sink) }
    }

    /// The user's name for the file.
    pub fn name(&self) -> &Path {
        &self.name
    }

    /// The error of a write that has failed.
    pub fn failed(&self, error: io::Error) -> Error {
        failed(&self.name, error)
    }

    /// Writes the remaining bytes; makes a regular file durable and gives it its name.
    ///
    /// # Errors
    /// If the file cannot be written or renamed (`Io`, `OutOfDisk`), or the command is interrupted.
    pub fn commit(self) -> Result<()> {
        let ResultFile { name, out } = self;
        match out.into_inner().map_err(|e| failed(&name, e.into_error()))? {
            Sink::Regular { file, .. } => file.commit(),
            Sink::Stream(_) => Ok(()),
        }
    }
}

fn failed(name: &Path, error: io::Error) -> Error {
    if signals::received() { Error::interrupted() } else { Error::io("write", name, error) }
}

impl Write for ResultFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.out.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Sink::Regular { file, len, changed } => {
                changed.write_all_at(file.file(), bytes, *len)?;
                *len += bytes.len() as u64;
                Ok(bytes.len())
            }
            Sink::Stream(stream) => stream.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Stream {
    fn new(file: File) -> io::Result<Self> {
        let never_waits = file.metadata()?.file_type().is_file();
        Ok(Stream { file, never_waits, abandoned: false })
    }

    /// Writes bytes. A reader that has stopped reading is not an error: later bytes are dropped.
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.abandoned {
            return Ok(bytes.len());
        }
        if self.never_waits {
            return self.file.write(bytes);
        }
        loop {
            self.await_room()?;
            match self.file.write(&bytes[..bytes.len().min(AT_ONCE)]) {
                Err(e) if e.kind() == io::ErrorKind::BrokenPipe => {
                    self.abandoned = true;
                    return Ok(bytes.len());
                }
                // Another writer has filled the pipe.
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => {}
                written => return written,
            }
        }
    }

    /// Waits until the reader makes room. A signal ends the wait, whatever the reader does.
    fn await_room(&self) -> io::Result<()> {
        let tick = Timespec { tv_sec: 0, tv_nsec: TICK.as_nanos() as _ };
        loop {
            if signals::received() {
                return Err(io::Error::other("interrupted"));
            }
            let mut polled = [PollFd::new(&self.file, PollFlags::OUT)];
            match poll(&mut polled, Some(&tick)) {
                Ok(0) | Err(rustix::io::Errno::INTR) => {}
                Ok(_) => return Ok(()),
                Err(e) => return Err(e.into()),
            }
        }
    }
}
