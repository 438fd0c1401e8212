//! Notations of numbers, times and dates that are not read.

/// Supported way to write a word in an unsupported notation of a number, time or date: `1,5`, `12%`, `$3`, `0x1F`,
/// `12:30`, `31.12.2024`.
pub(super) fn notation(word: &[u8]) -> Option<&'static str> {
    let text = std::str::from_utf8(word).ok()?.trim_ascii();
    let bare = text.strip_prefix(['-', '+', '−']).unwrap_or(text);
    let is_digits = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    let is_number = |text: &str| text.split(['.', ',']).all(is_digits);
    // The lengths of numbers between separators.
    let lengths = |separator: char| -> Vec<usize> {
        bare.split(separator).map(|part| if is_digits(part) { part.len() } else { 0 }).collect()
    };
    let is_date =
        |separator| matches!(lengths(separator)[..], [1 | 2, 1 | 2, 2 | 4] | [4, 1 | 2, 1 | 2]);
    if is_number(bare) && bare.contains(',') {
        Some("write numbers with a decimal point and no other separators")
    } else if is_number(bare) && text.starts_with('−') {
        Some("write - before negative numbers")
    } else if bare.strip_suffix('%').is_some_and(|bare| is_number(bare.trim_end())) {
        Some("write numbers without %")
    } else if bare.strip_prefix(['$', '€', '£']).is_some_and(|bare| is_number(bare.trim_start()))
    {
        Some("write numbers without a currency")
    } else if bare.strip_prefix("0x").is_some_and(|bare| u64::from_str_radix(bare, 16).is_ok()) {
        Some("write numbers with decimal digits")
    } else if matches!(lengths(':')[..], [1 | 2, 2] | [1 | 2, 2, 2]) {
        Some("write times as numbers, or with their date: 2024-05-01 12:30:00")
    } else if ['/', '.', '-'].into_iter().any(is_date) {
        Some("write dates as 2024-05-01")
    } else {
        None
    }
}
