//! Aligned columns of text.

use std::fmt;

use crate::event::printable;

/// Rows of cells, under a line of headings if any column has one. Columns are two spaces apart.
#[derive(Debug)]
pub(in crate::cli) struct TextTable {
    right: Vec<bool>,
    rows: Vec<Vec<String>>,
}

impl TextTable {
    /// An empty table. A heading that begins with `>` marks a column of numbers, aligned to the right.
    pub(in crate::cli) fn new(headings: &[&str]) -> Self {
        let right = headings.iter().map(|heading| heading.starts_with('>')).collect();
        let mut table = TextTable { right, rows: Vec::new() };
        let names = headings.iter().map(|heading| heading.trim_start_matches('>'));
        if names.clone().any(|name| !name.is_empty()) {
            table.row(names);
        }
        table
    }

    /// Adds a row with a cell per column. Control characters are escaped, because cells may hold names from files.
    pub(in crate::cli) fn row<T: AsRef<str>>(&mut self, cells: impl IntoIterator<Item = T>) {
        self.rows.push(cells.into_iter().map(|cell| printable(cell.as_ref())).collect());
    }
}

impl fmt::Display for TextTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut widths = vec![0; self.right.len()];
        for row in &self.rows {
            for (width, cell) in widths.iter_mut().zip(row) {
                *width = cell.chars().count().max(*width);
            }
        }
        for row in &self.rows {
            let cells = row.iter().zip(&widths).zip(&self.right).map(|((cell, &width), &right)| {
                let gap = " ".repeat(width - cell.chars().count());
                if right { gap + cell } else { cell.clone() + &gap }
            });
            writeln!(f, "{}", cells.collect::<Vec<_>>().join("  ").trim_end())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_stand_to_the_right_and_names_to_the_left() {
        let mut table = TextTable::new(&["name", ">count"]);
        table.row(["a\u{1b}[1m", "1"]);
        table.row(["é", "1,000,000"]);
        let lines =
            ["name            count", "a\\u{1b}[1m          1", "é           1,000,000", ""];
        assert_eq!(table.to_string(), lines.join("\n"));
    }
}
