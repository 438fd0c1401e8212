//! The name that a misspelt one was likely meant to be.

/// The name that differs least from `name`, if that is little: at most a letter in three.
pub(crate) fn nearest<'n>(name: &str, names: impl Iterator<Item = &'n str>) -> Option<&'n str> {
    let most = name.chars().count().div_ceil(3).min(3);
    let near = names.map(|other| (distance(name, other), other));
    near.filter(|(distance, _)| *distance <= most).min().map(|(_, other)| other)
}

/// Number of letters to insert, remove or replace (Levenshtein), in any case.
fn distance(a: &str, b: &str) -> usize {
    let (a, b) = (a.to_lowercase(), b.to_lowercase());
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(x != *y);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
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
    }
}
