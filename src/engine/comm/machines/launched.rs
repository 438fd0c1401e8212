//! Facts that an MPI launcher passes to this process in its environment; they are needed before MPI starts, because
//! workers are forked first.

use std::sync::OnceLock;

/// This process's place among the machines, if the program has provided a connection.
pub(super) static PROVIDED: OnceLock<Launched> = OnceLock::new();

/// Environment variables with the number of this process and of all processes: Open MPI, MPICH and its relatives,
/// Slurm's steps.
const VARIABLES: [[&str; 2]; 3] = [
    ["OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"],
    ["PMI_RANK", "PMI_SIZE"],
    ["SLURM_PROCID", "SLURM_STEP_NUM_TASKS"],
];

/// This process's place among the launched processes, one per machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Launched {
    /// Number of this machine, from 0.
    pub machine: usize,
    /// Number of machines, at least 2.
    pub machines: usize,
}

impl Launched {
    /// This process's place; `None` if it was started alone, or if the program is built without MPI and has not
    /// [provided](super::bring) a connection.
    pub fn here() -> Option<Self> {
        let launched = || cfg!(feature = "mpi").then(Self::of_environment).flatten();
        PROVIDED.get().copied().or_else(launched)
    }

    /// The place of a process that an MPI launcher has started, but that works alone, because the program is built
    /// without MPI.
    pub fn unconnected() -> Option<Self> {
        Self::of_environment().filter(|_| Self::here().is_none())
    }

    fn of_environment() -> Option<Self> {
        Self::of(|name| std::env::var(name).ok())
    }

    fn of(variable: impl Fn(&str) -> Option<String>) -> Option<Self> {
        let number = |name| variable(name)?.parse().ok();
        VARIABLES.iter().find_map(|[rank, size]| {
            let place = Launched { machine: number(rank)?, machines: number(size)? };
            (place.machines > 1 && place.machine < place.machines).then_some(place)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_of_several_knows_its_number() {
        let of = |given: &[(&str, &str)]| {
            Launched::of(|name| {
                let found = given.iter().find(|(given, _)| *given == name);
                found.map(|(_, value)| (*value).to_owned())
            })
        };
        let second = Some(Launched { machine: 1, machines: 4 });
        assert_eq!(of(&[("PMI_RANK", "1"), ("PMI_SIZE", "4")]), second);
        let open = [("OMPI_COMM_WORLD_RANK", "1"), ("OMPI_COMM_WORLD_SIZE", "4")];
        assert_eq!(of(&open), second);
        assert_eq!(of(&[("SLURM_PROCID", "1"), ("SLURM_STEP_NUM_TASKS", "4")]), second);
        // A process that was started alone, and one in a batch script, which is not a step.
        assert_eq!(of(&[("PMI_RANK", "0"), ("PMI_SIZE", "1")]), None);
        assert_eq!(of(&[("SLURM_PROCID", "0"), ("SLURM_NTASKS", "4")]), None);
        assert_eq!(of(&[("PMI_RANK", "4"), ("PMI_SIZE", "4")]), None);
    }
}
