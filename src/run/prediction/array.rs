//! A prediction as an array, for outputs that ranks cannot write to themselves.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

use crate::io::Destination;
use crate::words::error::{Error, Result};

/// Writes a header and the rows that the ranks have written.
pub(super) fn write_array(header: &[u8], rows: &Path, place: &Destination) -> Result<()> {
    let mut file = File::open(rows).map_err(|e| Error::io("read", rows, e))?;
    let mut out = place.open()?;
    let written = out.write_all(header).and_then(|()| io::copy(&mut file, &mut out));
    written.map_err(|e| out.failed(e))?;
    out.commit()
}
