//! The end of a run on a machine.

use serde::{Deserialize, Serialize};

use crate::words::error::{Error, ErrorKind, ErrorRecord, Result};

/// How a machine's ranks have ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum MachineEnd {
    /// All work was completed.
    Done,
    /// Another machine made the ranks stop.
    Stopped,
    /// A rank failed, or the user asked to stop.
    Failed(ErrorRecord),
    /// The machine did not report its end.
    Lost,
}

impl MachineEnd {
    /// The result of a run: the failure of the machine with the lowest number, if any has failed. If machines have only been
    /// stopped, the user has interrupted one whose work was complete.
    pub(super) fn result(ends: &[MachineEnd]) -> Result<()> {
        let failed = ends.iter().enumerate().find_map(|(machine, end)| match end {
            MachineEnd::Failed(error) => Some(error_on(machine, error.clone())),
            _ => None,
        });
        let lost = || {
            let machine = ends.iter().position(|end| *end == MachineEnd::Lost)?;
            let problem = format!("machine {machine} no longer answers");
            Some(Error::new(ErrorKind::Worker, problem))
        };
        let stopped = || ends.contains(&MachineEnd::Stopped).then(Error::interrupted);
        failed.or_else(lost).or_else(stopped).map_or(Ok(()), Err)
    }
}

/// The error of a machine, with the machine's name in it.
pub(super) fn error_on(machine: usize, mut error: ErrorRecord) -> Error {
    if error.kind == ErrorKind::Interrupted {
        return Error::interrupted();
    }
    error.problem = format!("machine {machine}: {}", error.problem);
    error.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cause_of_the_end_is_reported_wherever_it_was() {
        let failed = |text: &str| MachineEnd::Failed((&Error::internal(text)).into());
        let text = |ends: &[MachineEnd]| MachineEnd::result(ends).unwrap_err().to_string();
        assert!(MachineEnd::result(&[MachineEnd::Done, MachineEnd::Done]).is_ok());
        let ends = [MachineEnd::Stopped, MachineEnd::Lost, failed("x"), failed("y")];
        assert_eq!(text(&ends), "internal error: machine 2: internal error: x");
        assert_eq!(text(&ends[..2]), "machine 1 no longer answers");
        // An interrupt after the work of its own machine was complete.
        assert_eq!(text(&[MachineEnd::Done, MachineEnd::Stopped]), "interrupted");
        let interrupted = MachineEnd::Failed((&Error::interrupted()).into());
        assert_eq!(text(&[MachineEnd::Stopped, interrupted]), "interrupted");
    }
}
