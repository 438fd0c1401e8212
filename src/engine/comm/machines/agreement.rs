//! Check at the start of a run that the files and settings of all machines agree.

use serde::{Deserialize, Serialize};

use super::ending::error_on;
use super::pace::Pace;
use super::transport::{Piece, PieceKind, Transport};
use crate::io;
use crate::words::error::{Error, ErrorRecord, Result};

/// Facts about a machine that are compared.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MachineFacts {
    /// Version of the program.
    pub version: String,
    /// Checksum of the partition directory's JSON file.
    pub graph: u32,
    /// Checksum of everything that the run depends on.
    pub configuration: u32,
    /// Checksum of the initial checkpoint or weights; empty without one.
    pub start: String,
    /// Number of partitions of the graph.
    pub partitions: usize,
    /// Partitions of the machine, ascending.
    pub own: Vec<usize>,
}

/// Exchanges the facts, and returns the partitions of each machine. A machine that cannot take part sends its error,
/// with which all machines fail.
///
/// # Errors
/// If a machine has failed, machines differ in a common setting, or a partition is not on exactly one machine; the
/// error is the same on every machine.
pub fn agree(
    transport: &mut dyn Transport,
    mine: Result<MachineFacts, ErrorRecord>,
) -> Result<Vec<Vec<usize>>> {
    let own = transport.machine();
    let trouble = mine.as_ref().err().cloned();
    // A machine's own error takes precedence over a failure to send it.
    let all = exchange(transport, mine)
        .map_err(|lost| trouble.map_or(lost, |error| error_on(own, error)))?;
    let mut machines = Vec::new();
    for (machine, facts) in all.into_iter().enumerate() {
        machines.push(facts.map_err(|error| error_on(machine, error))?);
    }
    check(&machines)?;
    Ok(machines.into_iter().map(|facts| facts.own).collect())
}

type Brought = Result<MachineFacts, ErrorRecord>;

/// The facts of every machine, by machine.
fn exchange(transport: &mut dyn Transport, mine: Brought) -> Result<Vec<Brought>> {
    let (machine, machines) = (transport.machine(), transport.num_machines());
    let bytes = io::encode(&mine)?;
    let mut unsent: Vec<usize> = (0..machines).filter(|other| *other != machine).collect();
    let mut all: Vec<Option<Brought>> = vec![None; machines];
    all[machine] = Some(mine);
    let mut pace = Pace::new();
    loop {
        let before = unsent.len();
        let mut left = Vec::new();
        for to in unsent {
            let piece = Piece { kind: PieceKind::Facts, bytes: bytes.clone() };
            if transport.try_send(to, piece)?.is_some() {
                left.push(to);
            }
        }
        unsent = left;
        let mut some = unsent.len() < before;
        for (from, brought) in all.iter_mut().enumerate() {
            // A machine that has received everything may already send other pieces.
            if brought.is_some() {
                continue;
            }
            let Some(piece) = transport.try_receive(from)? else { continue };
            if piece.kind != PieceKind::Facts {
                return Err(Error::internal(format!("machine {from} did not report its files")));
            }
            *brought = Some(io::decode(&piece.bytes)?);
            some = true;
        }
        if unsent.is_empty() && all.iter().all(Option::is_some) && transport.has_sent_all()? {
            return Ok(all.into_iter().flatten().collect());
        }
        pace.rest(some);
    }
}

fn check(machines: &[MachineFacts]) -> Result<()> {
    let first = &machines[0];
    for (machine, facts) in machines.iter().enumerate().skip(1) {
        let differs = |what: &str, hint: &str| {
            let problem = format!("differ in {what}");
            let field = format!("machines 0 and {machine}");
            Err(Error::config(&field, problem).with_hint(hint))
        };
        if facts.version != first.version {
            let what = format!("version: {} and {}", first.version, facts.version);
            return differs(&what, "install one version everywhere");
        }
        if facts.graph != first.graph || facts.partitions != first.partitions {
            let hint = "copy the JSON file of one partitioning to every machine";
            return differs("the partition directory's JSON file", hint);
        }
        if facts.configuration != first.configuration {
            return differs("configuration", "start all machines with the same flags");
        }
        if facts.start != first.start {
            let hint = "copy the file of the first machine to all others";
            return differs("the checkpoint, or the weights, that they begin with", hint);
        }
    }
    let mut owners: Vec<Vec<usize>> = vec![Vec::new(); first.partitions];
    for (machine, facts) in machines.iter().enumerate() {
        if facts.own.is_empty() {
            let problem = "has no partition to work on";
            return Err(Error::config(&format!("machine {machine}"), problem)
                .with_hint("start fewer processes, or copy partitions there"));
        }
        for part in &facts.own {
            if let Some(owners) = owners.get_mut(*part) {
                owners.push(machine);
            }
        }
    }
    for (part, owners) in owners.iter().enumerate() {
        let problem = match owners[..] {
            [_] => continue,
            [] => "is on none of the machines".to_owned(),
            [one, other, ..] => format!("is on machine {one} and on machine {other}"),
        };
        return Err(Error::config(&format!("partition {part}"), problem)
            .with_hint("give each partition to one machine, or all partitions to every machine"));
    }
    // Rank 0 reports what the first machine writes.
    match owners.first().and_then(|owners| owners.first()) {
        None | Some(0) => Ok(()),
        Some(machine) => {
            let problem = format!("is on machine {machine}, but the first machine must have it");
            Err(Error::config("partition 0", problem)
                .with_hint("start the process of the machine that has it before the others"))
        }
    }
}
