//! Events between processes: frames on one pipe that all workers write to.
//!
//! A frame is its length (u16, little endian) and a bincode record. Frames are at most `PIPE_BUF` bytes, which the kernel
//! writes as a whole: frames of different workers never mix, and one of a killed worker is whole or absent.

use std::fs::File;
use std::io::{Read, Write};
use std::path::Path;

use super::kinds::{Event, Failure};
use crate::error::{Error, Result};
use crate::io;

/// What POSIX guarantees to be written at once on Linux.
const FRAME: usize = 4096;
/// Room for text in a frame, beside everything else.
const TEXT: usize = 3500;

/// Makes the pipe of a run.
pub fn event_pipe() -> Result<(EventSender, EventReceiver)> {
    let (reader, writer) = std::io::pipe().map_err(|e| Error::io("open", Path::new("pipe"), e))?;
    let file = |fd: std::os::fd::OwnedFd| File::from(fd);
    Ok((EventSender(file(writer.into())), EventReceiver(file(reader.into()))))
}

/// A worker's end.
#[derive(Debug)]
pub struct EventSender(File);

/// The launcher's end.
#[derive(Debug)]
pub struct EventReceiver(File);

impl EventSender {
    /// Sends an event. Texts that do not fit a frame are cut.
    pub fn send(&self, event: Event) -> Result<()> {
        let event = match event {
            Event::Note(text) => Event::Note(cut(text)),
            Event::Failed(failure) => {
                Event::Failed(Failure { problem: cut(failure.problem), ..failure })
            }
            other => other,
        };
        let record = io::encode(&event)?;
        let mut frame = (record.len() as u16).to_le_bytes().to_vec();
        frame.extend(record);
        debug_assert!(frame.len() <= FRAME);
        (&self.0).write_all(&frame).map_err(|e| Error::io("write", Path::new("event pipe"), e))
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
    /// Waits for the next event; `None` when no worker is left to send any.
    pub fn receive(&mut self) -> Result<Option<Event>> {
        let mut len = [0; 2];
        match self.0.read_exact(&mut len) {
            Ok(()) => {}
            Err(e) if e.kind() == std::io::ErrorKind::UnexpectedEof => return Ok(None),
            Err(e) => return Err(Error::io("read", Path::new("event pipe"), e)),
        }
        let mut record = vec![0; usize::from(u16::from_le_bytes(len))];
        self.0
            .read_exact(&mut record)
            .map_err(|e| Error::io("read", Path::new("event pipe"), e))?;
        io::decode(&record).map(Some)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_arrive_whole_and_in_order_even_when_their_text_is_too_long() {
        let (sender, mut receiver) = event_pipe().unwrap();
        let failure = Failure { rank: 3, problem: "ä".repeat(9000), hint: None, exit: 4 };
        sender.send(Event::Note("first".into())).unwrap();
        sender.send(Event::Failed(failure)).unwrap();
        drop(sender);
        assert_eq!(receiver.receive().unwrap(), Some(Event::Note("first".into())));
        let Some(Event::Failed(failure)) = receiver.receive().unwrap() else { panic!() };
        assert!(failure.problem.len() < FRAME && failure.problem.ends_with(" ..."));
        assert_eq!(receiver.receive().unwrap(), None);
    }
}
