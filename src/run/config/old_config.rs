//! Configurations that earlier versions wrote.

use std::borrow::Cow;

/// Text of a configuration with the duplicate key `norm` renamed.
///
/// For `--model gcn`, the first version wrote two lines `norm` into its table `[model]`: first the layer's norm, now
/// `gcn_norm`, then the norm between layers. TOML forbids duplicate keys, so no other text has them.
pub(crate) fn with_gcn_norm(text: &str) -> Cow<'_, str> {
    let mut table = "";
    let norms = text.lines().enumerate().filter(|(_, line)| {
        let line = line.trim();
        if line.starts_with('[') {
            table = line;
        }
        table == "[model]" && line.split('=').next().is_some_and(|key| key.trim() == "norm")
    });
    let norms: Vec<usize> = norms.map(|(number, _)| number).collect();
    let [first, _] = norms[..] else { return Cow::Borrowed(text) };
    let lines = text.split_inclusive('\n').enumerate();
    lines
        .map(
            |(number, line)| {
                if number == first { line.replacen("norm", "gcn_norm", 1) } else { line.to_owned() }
            },
        )
        .collect()
}
