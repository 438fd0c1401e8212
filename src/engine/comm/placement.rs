//! The machine of each rank.

use crate::words::error::{Error, Result};

/// The machine of each rank, from one machine's view.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Placement {
    world_size: usize,
    local: Vec<usize>,
    machines: usize,
}

impl Placement {
    /// A placement with all ranks on this machine.
    pub fn one_machine(world_size: usize) -> Self {
        Placement { world_size, local: (0..world_size).collect(), machines: 1 }
    }

    /// A placement with these of `world_size` ranks on this machine, one of `machines`.
    ///
    /// # Errors
    /// If the list is empty, not ascending, or contains a rank that does not exist (`Internal`).
    pub fn new(world_size: usize, local: Vec<usize>, machines: usize) -> Result<Self> {
        let ascends = local.windows(2).all(|pair| pair[0] < pair[1]);
        if !ascends || local.last().is_none_or(|last| *last >= world_size) {
            let problem = format!("ranks {local:?} of {world_size} on a machine");
            return Err(Error::internal(problem));
        }
        Ok(Placement { world_size, local, machines })
    }

    /// Number of ranks on all machines.
    pub fn world_size(&self) -> usize {
        self.world_size
    }

    /// Number of machines.
    pub fn machines(&self) -> usize {
        self.machines
    }

    /// Ranks of this machine, ascending; a rank's index is its slot in the control block.
    pub fn local(&self) -> &[usize] {
        &self.local
    }

    /// The slot of a rank of this machine; `None` for a rank of another machine.
    pub fn slot(&self, rank: usize) -> Option<usize> {
        self.local.binary_search(&rank).ok()
    }

    /// Ranks of other machines, ascending.
    pub fn remote(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.world_size).filter(|rank| self.slot(*rank).is_none())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_count_the_ranks_of_this_machine_only() {
        let placement = Placement::new(5, vec![1, 4], 2).unwrap();
        assert_eq!([0, 1, 4].map(|rank| placement.slot(rank)), [None, Some(0), Some(1)]);
        assert_eq!(placement.remote().collect::<Vec<_>>(), [0, 2, 3]);
        assert_eq!(Placement::one_machine(3).remote().count(), 0);
    }

    #[test]
    fn lists_that_name_no_place_for_a_rank_are_refused() {
        for local in [vec![], vec![1, 1], vec![2, 0], vec![3]] {
            assert!(Placement::new(3, local.clone(), 2).is_err(), "{local:?}");
        }
    }
}
