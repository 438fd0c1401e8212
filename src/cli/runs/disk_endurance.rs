//! The rated endurance of a drive, in written bytes.

use clap::Args;

use crate::words::size::parse_size;

/// The rated endurance of the drive, if it was given.
#[derive(Debug, Clone, Copy, Args)]
pub(in crate::cli) struct DiskEndurance {
    /// Show written bytes as a share of the drive's rated endurance, such as 300TB (TBW in its data sheet)
    #[arg(long = "disk-endurance", value_name = "SIZE", value_parser = endurance)]
    bytes: Option<u64>,
}

impl DiskEndurance {
    /// Share of the endurance that `written` bytes use up, in words.
    pub(in crate::cli) fn share_of(self, written: u64) -> Option<String> {
        let percent = 100.0 * written as f64 / self.bytes? as f64;
        // Two nonzero digits.
        let digits = (1.0 - percent.max(1e-9).log10().floor()).clamp(0.0, 9.0) as usize;
        Some(format!("{percent:.digits$} % of the drive's endurance"))
    }
}

fn endurance(text: &str) -> Result<u64, String> {
    if !text.ends_with(char::is_alphabetic) {
        return Err("needs a unit, such as 300TB".to_owned());
    }
    match parse_size(text)? {
        0 => Err("must be more than 0".to_owned()),
        bytes => Ok(bytes),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_have_two_digits() {
        let of = DiskEndurance { bytes: Some(300 * 10_u64.pow(12)) };
        let shown = [45 << 30, 3 << 40, 600 << 40].map(|bytes| of.share_of(bytes).unwrap());
        let percent = shown.map(|text| text.split(' ').next().unwrap().to_owned());
        assert_eq!(percent, ["0.016", "1.1", "220"]);
        assert_eq!(DiskEndurance { bytes: None }.share_of(1), None);
    }
}
