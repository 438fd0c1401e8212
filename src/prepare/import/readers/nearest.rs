//! The name that a misspelt name was likely meant to be.

use strsim::osa_distance;

/// The name that differs least from `name`, if the difference is small: at most one letter in three, where two letters in
/// the wrong order count as one.
pub(crate) fn nearest<'n>(name: &str, names: impl Iterator<Item = &'n str>) -> Option<&'n str> {
    let most = name.chars().count().div_ceil(3).min(3);
    let near =
        names.map(|other| (osa_distance(&name.to_lowercase(), &other.to_lowercase()), other));
    near.filter(|(distance, _)| *distance <= most).min().map(|(_, other)| other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_letter_in_three_may_differ() {
        let near = |name| nearest(name, ["author", "paper"].into_iter());
        assert_eq!(
            (near("autor"), near("Papers"), near("venue")),
            (Some("author"), Some("paper"), None)
        );
        assert_eq!(nearest("yaer", ["paper", "year"].into_iter()), Some("year"));
    }
}
