//! Edge data values as bytes.

use crate::prepare::import::readers::CellValue;

/// Size of a value in bytes: its kind and its bits.
pub(super) const VALUE: usize = 9;

/// Encodes a number.
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

/// Decodes a number.
pub(super) fn value_of([kind, bits @ ..]: [u8; VALUE]) -> CellValue<'static> {
    let bits = u64::from_le_bytes(bits);
    match kind {
        0 => CellValue::Whole(bits.cast_signed()),
        2 => CellValue::Date(f64::from_bits(bits)),
        _ => CellValue::Real(f64::from_bits(bits)),
    }
}
