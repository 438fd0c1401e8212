//! Numbers of bytes for people.

/// Three digits and a unit of 1024.
pub fn size(bytes: u64) -> String {
    let units = ["B", "KiB", "MiB", "GiB", "TiB"];
    let mut value = bytes as f64;
    let mut unit = 0;
    while value >= 1000.0 && unit + 1 < units.len() {
        value /= 1024.0;
        unit += 1;
    }
    let digits = if unit == 0 || value >= 100.0 {
        0
    } else if value >= 10.0 {
        1
    } else {
        2
    };
    format!("{value:.digits$} {}", units[unit])
}

#[cfg(test)]
mod tests {
    use super::size;

    #[test]
    fn sizes_have_three_digits() {
        let shown = [0, 999, 1024, 1 << 20, 123_456_789, 5 << 40].map(size);
        assert_eq!(shown, ["0 B", "999 B", "1.00 KiB", "1.00 MiB", "118 MiB", "5.00 TiB"]);
    }
}
