//! Events between processes: frames on one pipe that all workers write to.
//!
//! A frame is a header (the sender's process id u32, the length of its part u16, what follows it u16; little endian)
//! and part of a bincode record. A frame has at most `PIPE_BUF` bytes, which the kernel writes as a whole: frames of
//! different workers never mix, and an event of a killed worker arrives whole or not at all.

use std::collections::HashMap;
use std::fs::File;
use std::io::{Read, Write};
use std::path::Path;

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::kinds::Event;
use crate::io;
use crate::words::error::{Error, Result};

/// Bytes that Linux writes to a pipe as a whole, by POSIX's guarantee.
const FRAME: usize = 4096;
const HEADER: usize = 8;
/// In a header: another part of the event follows.
const PART: u16 = 0;
/// In a header: the event ends here.
const LAST_PART: u16 = 1;
/// In a header: no event follows at all.
const CLOSED: u16 = 2;
/// Maximum length of a text in bytes.
const TEXT: usize = 3500;

/// Creates the pipe of a run.
///
/// # Errors
/// If the system opens no more files (`Io`).
pub fn event_pipe() -> Result<(EventSender, EventReceiver)> {
    let (reader, writer) = std::io::pipe().map_err(|e| Error::io("open", Path::new("pipe"), e))?;
    let file = |fd: std::os::fd::OwnedFd| File::from(fd);
    let receiver = EventReceiver { pipe: file(reader.into()), parts: HashMap::new() };
    Ok((EventSender(file(writer.into())), receiver))
}

/// A worker's end of the pipe.
#[derive(Debug)]
pub struct EventSender(File);

/// The launcher's end of the pipe.
#[derive(Debug)]
pub struct EventReceiver {
    pipe: File,
    /// Parts of incomplete events, by sender.
    parts: HashMap<u32, Vec<u8>>,
}

impl EventSender {
    /// A second handle on the pipe.
    ///
    /// # Errors
    /// If the system opens no more files.
    pub fn another(&self) -> Result<Self> {
        let file = self.0.try_clone();
        file.map(EventSender).map_err(|e| Error::io("open", Path::new("event pipe"), e))
    }

    /// Sends an event. Long texts are cut.
    ///
    /// # Errors
    /// If the launcher is gone (`Io`).
    pub fn send(&self, event: Event) -> Result<()> {
        let event = match event {
            Event::Note(text) => Event::Note(cut(text)),
            Event::Failed(mut failure) => {
                failure.error.problem = cut(failure.error.problem);
                Event::Failed(failure)
            }
            other => other,
        };
        let record = io::encode(&event)?;
        let parts = record.chunks(FRAME - HEADER);
        let last = parts.len() - 1;
        for (i, part) in parts.enumerate() {
            self.write(if i == last { LAST_PART } else { PART }, part)?;
        }
        Ok(())
    }

    /// Ends the receiver's events after those already sent, even while other processes have the pipe open: those that
    /// workers started inherit it. Returns `false`, without an effect, while the pipe is full. Call it when all senders
    /// have stopped.
    ///
    /// # Errors
    /// If the receiver has been dropped (`Io`).
    pub fn close(&self) -> Result<bool> {
        let mut pipe = [PollFd::new(&self.0, PollFlags::OUT)];
        let ready = poll(&mut pipe, Some(&Timespec { tv_sec: 0, tv_nsec: 0 }));
        ready.map_err(|e| Error::io("look at", Path::new("event pipe"), e.into()))?;
        if pipe[0].revents().is_empty() {
            return Ok(false);
        }
        self.write(CLOSED, &[]).map(|()| true)
    }

    fn write(&self, follows: u16, part: &[u8]) -> Result<()> {
        let mut frame = std::process::id().to_le_bytes().to_vec();
        frame.extend((part.len() as u16).to_le_bytes());
        frame.extend(follows.to_le_bytes());
        frame.extend(part);
        let written = (&self.0).write_all(&frame);
        written.map_err(|e| Error::io("write", Path::new("event pipe"), e))
    }
}

fn cut(mut text: String) -> String {
    if text.len() > TEXT {
        let end = (0..=TEXT).rev().find(|i| text.is_char_boundary(*i)).unwrap_or(0);
        text.truncate(end);
        text.push_str(" ...");
    }
    text
}

impl EventReceiver {
    /// Waits for the next event; `None` when no sender is left or one has [closed](EventSender::close) the pipe.
    ///
    /// # Errors
    /// If the pipe cannot be read (`Io`), or a record is not an event (`Internal`).
    pub fn receive(&mut self) -> Result<Option<Event>> {
        loop {
            let mut header = [0; HEADER];
            match self.pipe.read_exact(&mut header) {
                Ok(()) => {}
                Err(e) if e.kind() == std::io::ErrorKind::UnexpectedEof => return Ok(None),
                Err(e) => return Err(Error::io("read", Path::new("event pipe"), e)),
            }
            let [a, b, c, d, e, f, g, h] = header;
            let (len, follows) = (u16::from_le_bytes([e, f]), u16::from_le_bytes([g, h]));
            if follows == CLOSED {
                return Ok(None);
            }
            let mut part = vec![0; usize::from(len)];
            let read = self.pipe.read_exact(&mut part);
            read.map_err(|e| Error::io("read", Path::new("event pipe"), e))?;
            let sender = u32::from_le_bytes([a, b, c, d]);
            self.parts.entry(sender).or_default().extend(part);
            if follows == LAST_PART {
                let record = self.parts.remove(&sender).unwrap_or_default();
                return io::decode(&record).map(Some);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Confusion, Evaluation, Failure};
    use super::*;
    use crate::words::error::{ErrorKind, ErrorRecord};

    #[test]
    fn events_arrive_whole_and_in_order_even_when_their_text_is_too_long() {
        let (sender, mut receiver) = event_pipe().unwrap();
        let (kind, problem) = (ErrorKind::OutOfDisk, "ä".repeat(9000));
        let failure = Failure { rank: 3, error: ErrorRecord { kind, problem, hint: None } };
        let confusion = Confusion { train: vec![vec![7; 90]; 90], val: vec![], test: vec![] };
        let confusion = Some(confusion);
        let evaluation =
            Evaluation { epoch: 1, loss: 0.5, scores: vec![], confusion, seconds: 0.5 };
        sender.send(Event::Note("first".into())).unwrap();
        sender.send(Event::Failed(failure)).unwrap();
        sender.send(Event::Evaluation(evaluation.clone())).unwrap();
        let inherited = sender.another().unwrap();
        assert!(sender.close().unwrap());
        assert_eq!(receiver.receive().unwrap(), Some(Event::Note("first".into())));
        let Some(Event::Failed(failure)) = receiver.receive().unwrap() else { panic!() };
        let problem = failure.error.problem;
        assert!(problem.len() < FRAME && problem.ends_with(" ..."));
        assert_eq!(receiver.receive().unwrap(), Some(Event::Evaluation(evaluation)));
        assert_eq!(receiver.receive().unwrap(), None);
        drop(inherited);
    }

    /// The launcher closes the pipe, and must not wait for its own reading thread.
    #[test]
    fn a_full_pipe_is_closed_later() {
        let (sender, mut receiver) = event_pipe().unwrap();
        let mut sent = 0;
        let mut room = [PollFd::new(&sender.0, PollFlags::OUT)];
        while poll(&mut room, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })).unwrap() > 0 {
            sender.send(Event::Note("x".repeat(3000))).unwrap();
            sent += 1;
        }
        assert!(!sender.close().unwrap());
        assert!(receiver.receive().unwrap().is_some());
        while !sender.close().unwrap() {
            assert!(receiver.receive().unwrap().is_some());
            sent -= 1;
        }
        (1..sent).for_each(|_| assert!(receiver.receive().unwrap().is_some()));
        assert_eq!(receiver.receive().unwrap(), None);
    }
}
