//! Assignment of partitions to a machine.

use std::fmt;
use std::str::FromStr;

/// Numbers of partitions, ascending, without duplicates: `0-7,9`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnPartitions(Vec<usize>);

/// Largest length of a list; a longer one is a mistake.
const MOST: usize = 1 << 16;

impl OwnPartitions {
    /// Creates the list from numbers in any order.
    pub fn new(partitions: impl IntoIterator<Item = usize>) -> Self {
        let mut partitions: Vec<usize> = partitions.into_iter().collect();
        partitions.sort_unstable();
        partitions.dedup();
        OwnPartitions(partitions)
    }

    /// Numbers of the partitions, ascending.
    pub fn numbers(&self) -> &[usize] {
        &self.0
    }
}

impl FromStr for OwnPartitions {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("{text:?} is not a list of partitions, such as 0-7 or 0-2,5");
        let number = |text: &str| text.trim().parse::<usize>().map_err(|_| wrong());
        let mut partitions = Vec::new();
        for item in text.split(',') {
            let (first, last) = item.split_once('-').unwrap_or((item, item));
            let (first, last) = (number(first)?, number(last)?);
            if first > last || last >= MOST {
                return Err(wrong());
            }
            partitions.extend(first..=last);
        }
        Ok(OwnPartitions::new(partitions))
    }
}

/// The list as it is read.
impl fmt::Display for OwnPartitions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, run) in self.0.chunk_by(|a, b| a + 1 == *b).enumerate() {
            let comma = if i == 0 { "" } else { "," };
            match run {
                [first, .., last] => write!(f, "{comma}{first}-{last}")?,
                one => write!(f, "{comma}{}", one[0])?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_read_as_they_are_written() {
        for (text, numbers, written) in [
            ("0-2", &[0, 1, 2][..], "0-2"),
            ("7", &[7], "7"),
            ("5, 0-1,1-3", &[0, 1, 2, 3, 5], "0-3,5"),
        ] {
            let list: OwnPartitions = text.parse().unwrap();
            assert_eq!((list.numbers(), list.to_string().as_str()), (numbers, written));
        }
        for text in ["", "a", "3-1", "-1", "1-", "0-99999999999", "1;2"] {
            assert!(text.parse::<OwnPartitions>().is_err(), "{text}");
        }
    }
}
