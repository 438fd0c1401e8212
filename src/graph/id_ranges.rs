//! Division of an id space, of nodes or edges, into consecutive ranges.
//!
//! DGL assigns ids partition by partition, and within a partition type by type:
//!
//! ```text
//! partition 0              partition 1
//! [type 0][type 1]...      [type 0][type 1]...
//! ```
//!
//! An id in this layout is a *homogeneous* id. The index of a node (or edge) among all of its type, in the same order,
//! is its *type-wise* id. Ranges may be empty.

use std::ops::Range;

/// The ranges of one id space. Out-of-range arguments return `None` or an empty range, never a panic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IdRanges {
    parts: usize,
    types: usize,
    /// First id of (part, type), at `part * types + type`; the number of ids at the end.
    starts: Vec<u64>,
    /// Number of ids of a type in earlier partitions, at `type * (parts + 1) + part`.
    before: Vec<u64>,
}

impl IdRanges {
    /// Lays out `counts[part][type]` ids. `None` if the rows differ in length or the sum overflows.
    pub fn from_counts(counts: &[Vec<u64>]) -> Option<Self> {
        let (parts, types) = (counts.len(), counts.first().map_or(0, Vec::len));
        let mut starts = Vec::with_capacity(parts.checked_mul(types)?.checked_add(1)?);
        let mut before = vec![0u64; types.checked_mul(parts + 1)?];
        let mut next = 0u64;
        for (part, row) in counts.iter().enumerate() {
            if row.len() != types {
                return None;
            }
            for (ty, &count) in row.iter().enumerate() {
                starts.push(next);
                next = next.checked_add(count)?;
                let cell = ty * (parts + 1) + part;
                before[cell + 1] = before[cell] + count;
            }
        }
        starts.push(next);
        Some(IdRanges { parts, types, starts, before })
    }

    /// Number of partitions.
    pub fn num_parts(&self) -> usize {
        self.parts
    }

    /// Number of types.
    pub fn num_types(&self) -> usize {
        self.types
    }

    /// Number of ids.
    pub fn total(&self) -> u64 {
        self.starts.last().copied().unwrap_or(0)
    }

    /// Number of ids of a type; 0 for an unknown type.
    pub fn type_total(&self, ty: usize) -> u64 {
        self.ends_of_type(ty).last().copied().unwrap_or(0)
    }

    /// Homogeneous ids of a partition; empty for an unknown partition.
    pub fn part_range(&self, part: usize) -> Range<u64> {
        if part >= self.parts {
            return self.total()..self.total();
        }
        self.starts[part * self.types]..self.starts[(part + 1) * self.types]
    }

    /// Homogeneous ids of a type in a partition; empty for an unknown partition or type.
    pub fn type_range(&self, part: usize, ty: usize) -> Range<u64> {
        if part >= self.parts || ty >= self.types {
            return self.total()..self.total();
        }
        let cell = part * self.types + ty;
        self.starts[cell]..self.starts[cell + 1]
    }

    /// Type-wise ids of a type in a partition; empty for an unknown partition or type.
    pub fn typewise_range(&self, part: usize, ty: usize) -> Range<u64> {
        if part >= self.parts || ty >= self.types {
            return self.type_total(ty)..self.type_total(ty);
        }
        let cell = ty * (self.parts + 1) + part;
        self.before[cell]..self.before[cell + 1]
    }

    /// The partition that owns a homogeneous id.
    pub fn part_of(&self, id: u64) -> Option<usize> {
        Some(self.cell_of(id)? / self.types)
    }

    /// The type of a homogeneous id.
    pub fn type_of(&self, id: u64) -> Option<usize> {
        Some(self.cell_of(id)? % self.types)
    }

    /// The type and the type-wise id of a homogeneous id.
    pub fn to_per_type(&self, id: u64) -> Option<(usize, u64)> {
        let cell = self.cell_of(id)?;
        let (part, ty) = (cell / self.types, cell % self.types);
        Some((ty, id - self.starts[cell] + self.before[ty * (self.parts + 1) + part]))
    }

    /// The homogeneous id of a type-wise id.
    pub fn to_homogeneous(&self, ty: usize, id: u64) -> Option<u64> {
        // The id is in the first partition in which the type's running total exceeds it.
        let part = self.ends_of_type(ty).partition_point(|&end| end <= id);
        let start =
            *self.starts.get(part * self.types + ty).filter(|_| id < self.type_total(ty))?;
        Some(start + id - self.before[ty * (self.parts + 1) + part])
    }

    /// Running totals of a type, one after each partition; empty for an unknown type.
    fn ends_of_type(&self, ty: usize) -> &[u64] {
        if ty >= self.types {
            return &[];
        }
        let first = ty * (self.parts + 1) + 1;
        &self.before[first..first + self.parts]
    }

    fn cell_of(&self, id: u64) -> Option<usize> {
        // If several ranges have the same start, only the last one can hold ids.
        (id < self.total()).then(|| self.starts.partition_point(|&start| start <= id) - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_documented_example_maps_both_ways() {
        // author: [0,2) [5,7)   paper: [2,5) [7,11)
        let ranges = IdRanges::from_counts(&[vec![2, 3], vec![2, 4]]).unwrap();
        assert_eq!(ranges.type_range(1, 1), 7..11);
        assert_eq!(ranges.part_range(1), 5..11);
        assert_eq!(ranges.to_per_type(8), Some((1, 4)));
        assert_eq!(ranges.to_homogeneous(1, 4), Some(8));
        assert_eq!(
            (ranges.part_of(4), ranges.part_of(5), ranges.part_of(11)),
            (Some(0), Some(1), None)
        );
    }

    #[test]
    fn unknown_parts_types_and_ids_give_nothing() {
        let ranges = IdRanges::from_counts(&[vec![2]]).unwrap();
        assert!(ranges.part_range(7).is_empty() && ranges.type_range(0, 3).is_empty());
        assert_eq!((ranges.to_homogeneous(3, 0), ranges.to_homogeneous(0, 2)), (None, None));
        assert_eq!(ranges.to_homogeneous(usize::MAX / 4, 0), None);
        assert_eq!(IdRanges::from_counts(&[vec![], vec![]]).unwrap().part_of(0), None);
    }

    #[test]
    fn ragged_or_overflowing_counts_are_refused() {
        assert!(IdRanges::from_counts(&[vec![1, 2], vec![1]]).is_none());
        assert!(IdRanges::from_counts(&[vec![u64::MAX, 1]]).is_none());
    }

    proptest! {
        #[test]
        fn every_id_has_one_place_and_comes_back(
            (types, flat) in (1usize..4).prop_flat_map(|t| (Just(t), prop::collection::vec(0u64..4, t..5 * t)))
        ) {
            let counts: Vec<Vec<u64>> = flat.chunks_exact(types).map(<[u64]>::to_vec).collect();
            let ranges = IdRanges::from_counts(&counts).unwrap();
            let mut id = 0;
            let mut seen = vec![0u64; types];
            for (part, row) in counts.iter().enumerate() {
                for (ty, &count) in row.iter().enumerate() {
                    prop_assert_eq!(ranges.type_range(part, ty), id..id + count);
                    prop_assert_eq!(ranges.typewise_range(part, ty), seen[ty]..seen[ty] + count);
                    for _ in 0..count {
                        prop_assert_eq!(ranges.part_of(id), Some(part));
                        prop_assert_eq!(ranges.type_of(id), Some(ty));
                        prop_assert_eq!(ranges.to_per_type(id), Some((ty, seen[ty])));
                        prop_assert_eq!(ranges.to_homogeneous(ty, seen[ty]), Some(id));
                        seen[ty] += 1;
                        id += 1;
                    }
                }
            }
            prop_assert_eq!(ranges.total(), id);
            for (ty, &count) in seen.iter().enumerate() {
                prop_assert_eq!(ranges.type_total(ty), count);
                prop_assert_eq!(ranges.to_homogeneous(ty, count), None);
            }
        }
    }
}
