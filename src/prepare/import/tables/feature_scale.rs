//! Means and deviations used to standardise tables' numbers, in a file next to a partition directory's JSON file.

use super::scanned_table::ScannedTable;

/// Name of the file, which has a line for each column of `feat`.
pub(crate) const FEATURE_SCALE: &str = "feature_scale.csv";

/// The first line of the file.
const HEADER: &str = "type,column,mean,deviation\n";

impl ScannedTable<'_> {
    /// Means and deviations of all standardised columns, as a CSV table.
    pub(crate) fn feature_scale(tables: &[Self]) -> String {
        let mut lines = Vec::new();
        for table in tables {
            for column in &table.columns {
                let quoted = |text: &str| format!("\"{}\"", text.replace('"', "\"\""));
                for (name, [shift, unit]) in column.scales() {
                    if (shift, unit) != (0.0, 1.0) {
                        let (ty, name) = (quoted(&table.file.ty), quoted(&name));
                        lines.push(format!("{ty},{name},{shift:?},{unit:?}\n"));
                    }
                }
            }
        }
        if lines.is_empty() { String::new() } else { HEADER.to_owned() + &lines.concat() }
    }
}
