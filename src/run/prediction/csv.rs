//! Tables as text.

use std::io::Write;

use super::columns::{TableColumns, TableFile, TableRows};
use crate::error::{Error, Result};
use crate::io::{Dtype, ResultFile};

/// A table of comma-separated values with a line of headings, as RFC 4180 describes them.
pub(super) struct CsvTable(ResultFile);

impl CsvTable {
    /// Starts the table.
    pub(super) fn new(file: ResultFile, columns: &TableColumns) -> Result<Self> {
        let mut line = columns.node.as_bytes().to_vec();
        if !columns.types.is_empty() {
            line.extend(b",type");
        }
        for heading in &columns.headings {
            line.push(b',');
            field(&mut line, heading.as_bytes());
        }
        line.push(b'\n');
        let mut table = CsvTable(file);
        table.write(&line)?;
        Ok(table)
    }

    fn write(&mut self, text: &[u8]) -> Result<()> {
        self.0.write_all(text).map_err(|e| self.0.failed(e))
    }
}

impl TableFile for CsvTable {
    fn rows(&mut self, columns: &TableColumns, rows: &TableRows) -> Result<()> {
        let mut line = Vec::new();
        for (row, values) in rows.values.chunks(columns.form.row_bytes().max(1)).enumerate() {
            line.clear();
            match rows.names.get(row) {
                Some(name) => field(&mut line, name),
                None => line.extend(rows.ids[row].to_string().into_bytes()),
            }
            if let Some(ntype) = rows.types.get(row) {
                line.push(b',');
                field(&mut line, columns.types[*ntype].as_bytes());
            }
            for value in values.chunks(columns.form.dtype.size()) {
                line.push(b',');
                let number = shown(columns.form.dtype, value)?;
                let class = number.parse().ok().and_then(|number| columns.class(number));
                field(&mut line, class.unwrap_or(&number).as_bytes());
            }
            line.push(b'\n');
            self.write(&line)?;
        }
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<()> {
        self.0.commit()
    }
}

/// A number; a floating-point number with as many digits as it takes to read the same one back.
fn shown(dtype: Dtype, bytes: &[u8]) -> Result<String> {
    if dtype == Dtype::F32 {
        let mut value = [0.0];
        dtype.to_f32(bytes, &mut value);
        return Ok(format!("{}", value[0]));
    }
    let mut value = [0];
    let converted = dtype.to_i64(bytes, &mut value);
    converted.map_err(|_| Error::internal("a prediction is not a number".to_owned()))?;
    Ok(value[0].to_string())
}

/// Adds a field, in quotes if it needs them.
pub(super) fn field(line: &mut Vec<u8>, text: &[u8]) {
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
            let text = shown(Dtype::F32, &value.to_le_bytes()).unwrap();
            assert!(text.parse::<f32>().unwrap().to_bits() == value.to_bits(), "{text}");
        }
    }
}
