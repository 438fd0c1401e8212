//! Tables as text.

use std::io::Write;

use super::cells::{OutputCells, OutputColumn};
use crate::io::ResultFile;
use crate::words::error::Result;

/// A table of comma-separated values with a line of headings, as RFC 4180 describes them.
pub(super) struct CsvTable(ResultFile);

impl CsvTable {
    /// Starts the table.
    pub(super) fn new(file: ResultFile, columns: &[OutputColumn]) -> Result<Self> {
        let mut table = CsvTable(file);
        table.line(columns, |line, column| field(line, column.name.as_bytes()))?;
        Ok(table)
    }

    pub(super) fn rows(&mut self, columns: &[OutputCells]) -> Result<()> {
        for row in 0..columns.first().map_or(0, OutputCells::len) {
            self.line(columns, |line, cells| cell(line, cells, row))?;
        }
        Ok(())
    }

    /// Writes a line with what `add` adds to it for each column.
    fn line<C>(&mut self, columns: &[C], add: impl Fn(&mut Vec<u8>, &C)) -> Result<()> {
        let mut line = Vec::new();
        for (index, column) in columns.iter().enumerate() {
            if index > 0 {
                line.push(b',');
            }
            add(&mut line, column);
        }
        line.push(b'\n');
        self.0.write_all(&line).map_err(|e| self.0.failed(e))
    }

    /// Ends the table and gives the file its name.
    pub(super) fn finish(self) -> Result<()> {
        self.0.commit()
    }
}

/// Adds a cell; a floating-point number has as many digits as it takes to read the same one back.
fn cell(line: &mut Vec<u8>, cells: &OutputCells, row: usize) {
    match cells {
        OutputCells::Text(texts) | OutputCells::Digits(texts) => field(line, &texts[row]),
        OutputCells::Int32(numbers) => line.extend(numbers[row].to_string().into_bytes()),
        OutputCells::Int64(numbers) => line.extend(numbers[row].to_string().into_bytes()),
        OutputCells::Float32(numbers) => line.extend(numbers[row].to_string().into_bytes()),
    }
}

/// Adds a field, in quotes if it needs them.
fn field(line: &mut Vec<u8>, text: &[u8]) {
    if !text.iter().any(|byte| matches!(byte, b',' | b'"' | b'\n' | b'\r')) {
        line.extend(text);
        return;
    }
    line.push(b'"');
    for byte in text {
        line.extend(std::iter::repeat_n(*byte, if *byte == b'"' { 2 } else { 1 }));
    }
    line.push(b'"');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_with_commas_and_quotes_are_quoted_and_numbers_come_back() {
        let mut line = Vec::new();
        for text in ["plain", "a,b", "say \"x\""] {
            field(&mut line, text.as_bytes());
            line.push(b' ');
        }
        assert_eq!(String::from_utf8(line).unwrap(), "plain \"a,b\" \"say \"\"x\"\"\" ");
        for value in [0.1_f32, f32::MIN_POSITIVE, -3.0e38, f32::NAN, f32::INFINITY] {
            let mut line = Vec::new();
            cell(&mut line, &OutputCells::Float32(vec![value]), 0);
            let text = String::from_utf8(line).unwrap();
            assert!(text.parse::<f32>().unwrap().to_bits() == value.to_bits(), "{text}");
        }
    }
}
