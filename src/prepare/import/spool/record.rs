//! An edge as bytes.

use crate::prepare::import::readers::CellValue;

/// Size of an id in bytes.
const ID: usize = 5;

/// Size of the ends of an edge and of the number of its mask, which stands after them.
pub(super) const EDGE: usize = 2 * ID + 1;

/// Size of a value of edge data: its kind and its bits.
pub(super) const VALUE: usize = 9;

/// The bytes of two ends and a mask.
pub(super) fn edge(ends: [u64; 2], mask: u8) -> [u8; EDGE] {
    let mut bytes = [mask; EDGE];
    for (end, place) in ends.iter().zip(bytes.chunks_exact_mut(ID)) {
        place.copy_from_slice(&end.to_le_bytes()[..ID]);
    }
    bytes
}

/// The ends at the start of a record.
pub(super) fn ends_of(record: &[u8]) -> [u64; 2] {
    [0, 1].map(|end| {
        let mut bytes = [0; 8];
        bytes[..ID].copy_from_slice(&record[end * ID..(end + 1) * ID]);
        u64::from_le_bytes(bytes)
    })
}

/// The number of the mask of a record.
pub(super) fn mask_of(record: &mut [u8]) -> &mut u8 {
    &mut record[EDGE - 1]
}

/// A number as it is stored.
pub(super) fn bytes_of(value: CellValue<'_>) -> [u8; VALUE] {
    let (kind, bits) = match value {
        CellValue::Whole(number) => (0, number.cast_unsigned()),
        CellValue::Date(days) => (2, days.to_bits()),
        other => (1, other.number().unwrap_or(f64::NAN).to_bits()),
    };
    let mut bytes = [kind; VALUE];
    bytes[1..].copy_from_slice(&bits.to_le_bytes());
    bytes
}

/// The number that is stored.
pub(super) fn value_of([kind, bits @ ..]: [u8; VALUE]) -> CellValue<'static> {
    let bits = u64::from_le_bytes(bits);
    match kind {
        0 => CellValue::Whole(bits.cast_signed()),
        2 => CellValue::Date(f64::from_bits(bits)),
        _ => CellValue::Real(f64::from_bits(bits)),
    }
}
