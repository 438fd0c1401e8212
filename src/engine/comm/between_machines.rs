//! Messages between ranks of different machines, which do not share files.

use std::fs::File;
use std::io::{Read, Write};
use std::path::PathBuf;

use super::collectives::barrier;
use super::group::{Inbox, Outbox, ProcessGroup, Recipient, complete};
use super::ranks::Ranks;
use super::tag::Operation;
use crate::io::{RowFile, new_private_file};
use crate::words::error::{Error, Result};

/// Number of bytes that are read and sent at a time.
const CHUNK: usize = 1 << 20;

/// Whether some ranks do not see this rank's files; the answer is the same on all ranks.
pub fn spans_machines(group: &dyn ProcessGroup) -> bool {
    !(0..group.world_size()).all(|rank| group.shares_files(rank))
}

/// Whether this is the first rank of its machine.
pub fn is_first_here(group: &dyn ProcessGroup) -> bool {
    !(0..group.rank()).any(|rank| group.shares_files(rank))
}

/// Runs a collective in which every rank sends a message to other machines. `write` writes it. On the recipient, or on
/// the first rank of every machine, `read` receives the messages of ranks on other machines, in rank order.
///
/// # Errors
/// If `write` or `read` fails, or the collective does.
pub fn tell_machines(
    Ranks { group, hooks }: Ranks<'_>,
    to: Recipient,
    write: impl FnOnce(&mut dyn Outbox) -> Result<()>,
    mut read: impl FnMut(usize, &mut dyn Inbox) -> Result<()>,
) -> Result<()> {
    let (reads, is_told) = match to {
        Recipient::Everyone => (is_first_here(group), spans_machines(group)),
        Recipient::Rank(rank) => (group.rank() == rank, !group.shares_files(rank)),
    };
    let mut outbox = group.outbox(Operation::TellMachines)?;
    if is_told {
        outbox.begin(to)?;
        write(&mut *outbox)?;
    }
    let collective = complete(group, outbox.post()?, hooks)?;
    for from in 0..group.world_size() {
        let mut inbox = group.inbox(&collective, from)?;
        if reads && !group.shares_files(from) {
            read(from, &mut *inbox)?;
        }
    }
    Ok(())
}

/// Completes the machines' copies of a file in which every rank has written rows: all copies, or the one on the
/// recipient's machine. One collective, after which other ranks on the recipient's machine may not yet see the rows.
///
/// # Errors
/// If a copy cannot be read or written, or the collective fails.
pub fn bring_together(file: &RowFile, to: Recipient, ranks: Ranks<'_>) -> Result<()> {
    let write = |outbox: &mut dyn Outbox| {
        let runs = file.written();
        let mut buffer = vec![0; CHUNK];
        outbox.write(&(runs.len() as u64).to_le_bytes())?;
        for run in runs {
            outbox.write(&run.start.to_le_bytes())?;
            outbox.write(&(run.end - run.start).to_le_bytes())?;
            for begin in run.clone().step_by(CHUNK) {
                let bytes = &mut buffer[..(run.end - begin).min(CHUNK as u64) as usize];
                file.read_back(begin, bytes)?;
                outbox.write(bytes)?;
            }
        }
        Ok(())
    };
    let mut buffer = vec![0; CHUNK];
    tell_machines(ranks, to, write, |_, inbox| {
        for _ in 0..read_number(inbox)? {
            let (begin, mut left) = (read_number(inbox)?, read_number(inbox)?);
            let mut at = begin;
            while left > 0 {
                let bytes = &mut buffer[..left.min(CHUNK as u64) as usize];
                inbox.read(bytes)?;
                file.write_bytes(at, bytes)?;
                at += bytes.len() as u64;
                left -= bytes.len() as u64;
            }
        }
        match inbox.remaining() {
            0 => Ok(()),
            left => Err(Error::internal(format!("{left} bytes of a file too many"))),
        }
    })
}

/// Waits until each rank has written its own file, `path_of(rank)`, and copies all of them to every machine. One
/// collective, and one more on several machines.
///
/// # Errors
/// If a file cannot be read or written (`Io`, `OutOfDisk`), or the collective fails.
pub fn share_files(path_of: &dyn Fn(usize) -> PathBuf, ranks: Ranks<'_>) -> Result<()> {
    if !spans_machines(ranks.group) {
        return barrier(ranks.group, ranks.hooks);
    }
    let mut buffer = vec![0; CHUNK];
    let write = |outbox: &mut dyn Outbox| {
        let path = path_of(ranks.group.rank());
        let mut file = File::open(&path).map_err(|e| Error::io("open", &path, e))?;
        loop {
            match file.read(&mut buffer).map_err(|e| Error::io("read", &path, e))? {
                0 => return Ok(()),
                len => outbox.write(&buffer[..len])?,
            }
        }
    };
    tell_machines(ranks, Recipient::Everyone, write, |from, inbox| {
        let path = path_of(from);
        let mut file = new_private_file().open(&path).map_err(|e| Error::io("create", &path, e))?;
        let mut bytes = vec![0; CHUNK];
        while inbox.remaining() > 0 {
            let bytes = &mut bytes[..inbox.remaining().min(CHUNK as u64) as usize];
            inbox.read(bytes)?;
            file.write_all(bytes).map_err(|e| Error::io("write", &path, e))?;
        }
        Ok(())
    })?;
    barrier(ranks.group, ranks.hooks)
}

fn read_number(inbox: &mut dyn Inbox) -> Result<u64> {
    let mut bytes = [0; size_of::<u64>()];
    inbox.read(&mut bytes)?;
    Ok(u64::from_le_bytes(bytes))
}
