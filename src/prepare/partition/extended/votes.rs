//! The partitions of new nodes.

use crate::graph::PartitionBook;

/// For each new node of a type, the partition that more than half of its neighbours are in, if there is one (Boyer and Moore 1981), in
/// a few bytes per node.
pub(super) struct Votes {
    /// Leading partition, and its lead, by node type and new node.
    leads: Vec<Vec<(u16, u32)>>,
}

impl Votes {
    /// No votes for this many new nodes of each type.
    pub(super) fn new(counts: impl Iterator<Item = u64>) -> Self {
        Votes { leads: counts.map(|count| vec![(0, 0); count as usize]).collect() }
    }

    /// A neighbour of a new node is in a partition.
    pub(super) fn add(&mut self, ntype: usize, node: u64, part: usize) {
        let (leader, lead) = &mut self.leads[ntype][node as usize];
        if *lead == 0 {
            (*leader, *lead) = (part as u16, 1);
        } else if usize::from(*leader) == part {
            *lead += 1;
        } else {
            *lead -= 1;
        }
    }

    /// The partition of each node by type, known nodes before new ones. Nodes without a partition fill the smallest ones.
    pub(super) fn into_parts(self, book: &PartitionBook) -> Vec<u16> {
        let len = |part| book.node_range(part).end - book.node_range(part).start;
        let mut sizes: Vec<u64> = (0..book.num_parts()).map(len).collect();
        for (part, _) in self.leads.iter().flatten().filter(|(_, lead)| *lead > 0) {
            sizes[usize::from(*part)] += 1;
        }
        let mut parts = Vec::new();
        for (ntype, leads) in self.leads.into_iter().enumerate() {
            for part in 0..book.num_parts() {
                let own = book.node_type_range(part, ntype);
                parts.extend(own.map(|_| part as u16));
            }
            for (leader, lead) in leads {
                let smallest = || (0..sizes.len()).min_by_key(|part| sizes[*part]).unwrap_or(0);
                let part = if lead > 0 { usize::from(leader) } else { smallest() };
                sizes[part] += u64::from(lead == 0);
                parts.push(part as u16);
            }
        }
        parts
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::CanonicalEtype;

    #[test]
    fn new_nodes_are_where_their_neighbours_are_and_else_where_there_is_room() {
        let etypes = vec![CanonicalEtype::new("a", "r", "a")];
        let counts = [vec![3], vec![1], vec![3]];
        let book = PartitionBook::new(vec!["a".to_owned()], etypes, &counts, &vec![vec![0]; 3]);
        let mut votes = Votes::new([3].into_iter());
        for part in [2, 0, 2] {
            votes.add(0, 1, part);
        }
        assert_eq!(votes.into_parts(&book.unwrap()), [0, 0, 0, 1, 2, 2, 2, 1, 2, 1]);
    }
}
