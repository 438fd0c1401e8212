//! The memory budget of a run.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::platform::free_memory;
use crate::words::error::{Error, Result};
use crate::words::size::parse_size;

/// Limit for the memory of all processes of a run together.
///
/// Written as `min`, or as a number of bytes with or without a unit (`3GiB`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum MemoryBudget {
    /// As little memory as possible: waiting workers keep nothing.
    Min,
    /// A number of bytes. Waiting workers keep what fits.
    Bytes(u64),
}

impl MemoryBudget {
    /// The budget in bytes; 0 for [`MemoryBudget::Min`].
    pub fn bytes(self) -> u64 {
        match self {
            MemoryBudget::Min => 0,
            MemoryBudget::Bytes(bytes) => bytes,
        }
    }
}

/// The default: half of the memory that is free now.
impl Default for MemoryBudget {
    fn default() -> Self {
        free_memory().map_or(MemoryBudget::Min, |free| MemoryBudget::Bytes(free / 2))
    }
}

impl FromStr for MemoryBudget {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        if text == "min" {
            return Ok(MemoryBudget::Min);
        }
        match parse_size(text) {
            Ok(bytes) if bytes > 0 => Ok(MemoryBudget::Bytes(bytes)),
            Ok(_) => Err(Error::config(
                "memory_budget",
                "0 bytes is not a budget; write min for as little as possible",
            )),
            Err(problem) => Err(Error::config("memory_budget", problem)),
        }
    }
}

impl fmt::Display for MemoryBudget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            MemoryBudget::Min => write!(f, "min"),
            MemoryBudget::Bytes(bytes) => write!(f, "{bytes}"),
        }
    }
}

impl From<MemoryBudget> for String {
    fn from(budget: MemoryBudget) -> String {
        budget.to_string()
    }
}

impl TryFrom<String> for MemoryBudget {
    type Error = Error;

    fn try_from(text: String) -> Result<Self> {
        text.parse()
    }
}

#[cfg(test)]
mod tests {
    use super::MemoryBudget;

    #[test]
    fn budgets_are_read_as_they_are_written() {
        for (text, budget) in [("min", MemoryBudget::Min), ("2GiB", MemoryBudget::Bytes(2 << 30))] {
            let read: MemoryBudget = text.parse().unwrap();
            assert_eq!(read, budget);
            assert_eq!(read.to_string().parse::<MemoryBudget>().unwrap(), budget);
        }
        for wrong in ["0", "", "much", "3XB"] {
            assert!(wrong.parse::<MemoryBudget>().is_err(), "{wrong}");
        }
    }
}
