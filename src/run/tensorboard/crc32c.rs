//! Checksum of TensorFlow's records: CRC-32C, rotated and shifted.

/// CRC-32C (Castagnoli), bits reversed.
const POLYNOMIAL: u32 = 0x82f6_3b78;

fn crc32c(bytes: &[u8]) -> u32 {
    let shifted = |crc: u32| if crc & 1 == 1 { crc >> 1 ^ POLYNOMIAL } else { crc >> 1 };
    let update = |crc: u32, byte: &u8| (0..8).fold(crc ^ u32::from(*byte), |crc, _| shifted(crc));
    !bytes.iter().fold(!0, update)
}

/// Masked checksum as stored in records; masking avoids problems with checksums of data that contain checksums.
pub(super) fn masked(bytes: &[u8]) -> u32 {
    crc32c(bytes).rotate_right(15).wrapping_add(0xa282_ead8)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checksum_is_that_of_rfc_3720() {
        assert_eq!(crc32c(b"123456789"), 0xe306_9283);
        assert_eq!(crc32c(&[0; 32]), 0x8a91_36aa);
    }
}
