//! A small set of nodes that covers every edge between two partitions.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::csr::Csr;

/// A vertex cover of a bipartite graph: every entry of a matrix has its column in `columns` or its row in `rows`.
///
/// Found greedily: if a vertex has one uncovered edge, its neighbour is taken, which is always optimal; if there is
/// none, the vertex with the most uncovered edges is taken. Superfluous vertices are removed at the end. Time is O(E +
/// V log V), memory 18 bytes per vertex.
#[derive(Debug, PartialEq, Eq)]
pub struct VertexCover {
    /// Covered columns, ascending.
    pub columns: Vec<u32>,
    /// Covered rows, ascending.
    pub rows: Vec<u32>,
}

impl VertexCover {
    /// The cover of the entries of `by_row`, whose transpose is `by_column`; it is a function of the matrix.
    pub fn of(by_row: &Csr, by_column: &Csr) -> Self {
        let search = Search::new(by_row, by_column);
        let covered = search.run();
        let (columns, rows) = covered.split_at(by_column.rows().len());
        let ids = |covered: &[bool], ids: &[u32]| {
            ids.iter().zip(covered).filter(|(_, covered)| **covered).map(|(id, _)| *id).collect()
        };
        VertexCover { columns: ids(columns, by_column.rows()), rows: ids(rows, by_row.rows()) }
    }
}

/// The graph with numbered vertices: first columns with entries, then rows with entries.
struct Search<'a> {
    by_row: &'a Csr,
    by_column: &'a Csr,
    /// Vertex of each column and each row.
    of_column: Vec<u32>,
    of_row: Vec<u32>,
    /// Number of uncovered edges of each vertex.
    left: Vec<u32>,
    covered: Vec<bool>,
    /// Vertices that had one uncovered edge when they were added.
    leaves: Vec<u32>,
}

impl<'a> Search<'a> {
    fn new(by_row: &'a Csr, by_column: &'a Csr) -> Self {
        let degrees = |csr: &Csr| csr.indptr().windows(2).map(|w| w[1] - w[0]).collect::<Vec<_>>();
        let left = [degrees(by_column), degrees(by_row)].concat();
        let leaves = (0..left.len() as u32).filter(|v| left[*v as usize] == 1).rev().collect();
        Search {
            of_column: numbers(by_column, 0),
            of_row: numbers(by_row, by_column.rows().len() as u32),
            covered: vec![false; left.len()],
            by_row,
            by_column,
            left,
            leaves,
        }
    }

    fn run(mut self) -> Vec<bool> {
        let vertices = self.left.iter().enumerate().map(|(v, left)| (*left, Reverse(v as u32)));
        let mut largest: BinaryHeap<_> = vertices.collect::<Vec<_>>().into();
        loop {
            while let Some(leaf) = self.leaves.pop() {
                if self.left[leaf as usize] == 1 {
                    let uncovered = |v: &u32| !self.covered[*v as usize];
                    let neighbour = self.neighbours(leaf).find(uncovered);
                    if let Some(neighbour) = neighbour {
                        self.cover(neighbour);
                    }
                }
            }
            let Some((left, Reverse(vertex))) = largest.pop() else { break };
            match self.left[vertex as usize] {
                0 => {}
                now if now == left => self.cover(vertex),
                now => largest.push((now, Reverse(vertex))),
            }
        }
        for vertex in 0..self.covered.len() {
            let covered = |v: u32| self.covered[v as usize];
            if self.covered[vertex] && self.neighbours(vertex as u32).all(covered) {
                self.covered[vertex] = false;
            }
        }
        self.covered
    }

    /// Adds an uncovered vertex to the cover.
    fn cover(&mut self, vertex: u32) {
        self.covered[vertex as usize] = true;
        self.left[vertex as usize] = 0;
        let (mut left, mut leaves) =
            (std::mem::take(&mut self.left), std::mem::take(&mut self.leaves));
        for neighbour in self.neighbours(vertex) {
            let edges = &mut left[neighbour as usize];
            // A covered neighbour has no uncovered edges.
            *edges = edges.saturating_sub(1);
            if *edges == 1 {
                leaves.push(neighbour);
            }
        }
        (self.left, self.leaves) = (left, leaves);
    }

    fn neighbours(&self, vertex: u32) -> impl Iterator<Item = u32> {
        let columns = self.by_column.rows().len();
        let vertex = vertex as usize;
        let (ends, numbers) = match vertex.checked_sub(columns) {
            None => (self.by_column.columns(vertex), &self.of_row),
            Some(row) => (self.by_row.columns(row), &self.of_column),
        };
        ends.iter().map(|end| numbers[*end as usize])
    }
}

/// Number of each row with entries, counted from `first`; arbitrary for other rows.
fn numbers(csr: &Csr, first: u32) -> Vec<u32> {
    let mut numbers = vec![0; csr.num_rows()];
    for (number, row) in (first..).zip(csr.rows()) {
        numbers[*row as usize] = number;
    }
    numbers
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn cover(edges: &[(u32, u32)]) -> VertexCover {
        let (rows, columns): (Vec<_>, Vec<_>) = edges.iter().copied().unzip();
        let (by_row, _) = Csr::from_entries(20, 20, &rows, &columns);
        VertexCover::of(&by_row, &by_row.transpose().0)
    }

    fn size(cover: &VertexCover) -> usize {
        cover.columns.len() + cover.rows.len()
    }

    /// Size of a maximum matching, which equals that of the minimum cover (König), by augmenting paths.
    fn matching(edges: &[(u32, u32)]) -> usize {
        fn augment(
            row: u32,
            edges: &[(u32, u32)],
            seen: &mut [bool],
            of: &mut [Option<u32>],
        ) -> bool {
            edges.iter().filter(|(r, _)| *r == row).any(|(_, column)| {
                let column = *column as usize;
                if std::mem::replace(&mut seen[column], true) {
                    return false;
                }
                let free = of[column].is_none_or(|row| augment(row, edges, seen, of));
                if free {
                    of[column] = Some(row);
                }
                free
            })
        }
        let mut of = [None; 20];
        (0..20).filter(|row| augment(*row, edges, &mut [false; 20], &mut of)).count()
    }

    #[test]
    fn a_star_is_covered_by_its_centre() {
        let into_one: Vec<_> = (0..20).map(|column| (3, column)).collect();
        assert_eq!(cover(&into_one), VertexCover { columns: vec![], rows: vec![3] });
        let from_one: Vec<_> = (0..20).map(|row| (row, 5)).collect();
        assert_eq!(cover(&from_one), VertexCover { columns: vec![5], rows: vec![] });
        assert_eq!(size(&cover(&[])), 0);
        assert_eq!(size(&cover(&[(1, 2), (1, 2)])), 1);
    }

    #[test]
    fn forests_have_the_smallest_covers() {
        // Two paths of five edges.
        let path = |n: u32| [(n, n), (n, n + 1), (n + 1, n + 1), (n + 1, n + 2), (n + 2, n + 2)];
        let edges = [path(0), path(10)].concat();
        assert_eq!((size(&cover(&edges)), matching(&edges)), (6, 6));
    }

    proptest! {
        #[test]
        fn every_edge_is_covered_by_few_vertices(
            edges in prop::collection::vec((0_u32..20, 0_u32..20), 0..120)
        ) {
            let cover = cover(&edges);
            for (row, column) in &edges {
                prop_assert!(cover.rows.contains(row) || cover.columns.contains(column));
            }
            let smallest = matching(&edges);
            prop_assert!(size(&cover) <= smallest + smallest / 2, "{} of {smallest}", size(&cover));
        }
    }
}
