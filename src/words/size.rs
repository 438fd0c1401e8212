//! Numbers for people.

/// Formats a number of bytes with three digits and a unit of 1024.
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

/// A number with commas between thousands.
pub fn number(value: u64) -> String {
    let digits = value.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Parses a number of bytes, such as `2GiB`, `1.5 GB`, `500M` or `1048576`. Units with an `i`, and single letters, count in
/// 1024, the others in 1000.
///
/// # Errors
/// A description of the mistake in the text.
pub fn parse_size(text: &str) -> Result<u64, String> {
    let text = text.trim();
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = (&text[..end], text[end..].trim().to_ascii_lowercase());
    let number: f64 = number.parse().map_err(|_| "does not begin with a number".to_owned())?;
    let unknown = "has an unknown unit: write KiB, MB, GiB, ..., such as 3GiB";
    let letter = unit.chars().next().unwrap_or('b');
    let power = "bkmgt".find(letter).ok_or(unknown)? as i32;
    let base: f64 = match unit.get(1..).unwrap_or("") {
        "" | "ib" => 1024.0,
        "b" => 1000.0,
        _ => return Err(unknown.to_owned()),
    };
    Ok((number * base.powi(power)) as u64)
}

#[cfg(test)]
mod tests {
    use super::{number, parse_size, size};

    #[test]
    fn sizes_are_read_in_any_usual_form() {
        let read = ["5", "2GiB", "1.5 gb", "3M", "1KiB"].map(|text| parse_size(text).unwrap());
        assert_eq!(read, [5, 2 << 30, 1_500_000_000, 3 << 20, 1024]);
        for wrong in ["", "GiB", "1 XB", "1Gi", "-1"] {
            assert!(parse_size(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn sizes_have_three_digits() {
        let shown = [0, 999, 1024, 1 << 20, 123_456_789, 5 << 40].map(size);
        assert_eq!(shown, ["0 B", "999 B", "1.00 KiB", "1.00 MiB", "118 MiB", "5.00 TiB"]);
    }

    #[test]
    fn thousands_are_set_apart() {
        let shown = [0, 999, 1000, 12_345_678].map(number);
        assert_eq!(shown, ["0", "999", "1,000", "12,345,678"]);
    }
}
