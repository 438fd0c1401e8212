//! Names of configuration fields in messages.
//!
//! A message marks the fields that it names: `lower ‹model.hidden›`, `add ‹model.norm=layer›`. A user of the library reads the
//! field, and the command line puts the flag in its place.

const OPEN: char = '‹';
const CLOSE: char = '›';

/// A field, marked for a message.
pub fn mark(field: &str) -> String {
    format!("{OPEN}{field}{CLOSE}")
}

/// The message with each marked field, and the value after it, replaced by `show`.
pub fn render(message: &str, mut show: impl FnMut(&str, Option<&str>) -> String) -> String {
    let mut text = String::new();
    let mut rest = message;
    while let Some((before, marked)) = rest.split_once(OPEN) {
        let Some((field, after)) = marked.split_once(CLOSE) else { break };
        text.push_str(before);
        text.push_str(&match field.split_once('=') {
            Some((field, value)) => show(field, Some(value)),
            None => show(field, None),
        });
        rest = after;
    }
    text + rest
}

/// A message for users of the library: the field at its beginning by its name, others in backticks.
pub fn plain(message: &str) -> String {
    let begins = message.starts_with(OPEN);
    let mut first = true;
    render(message, |field, value| {
        let is_subject = std::mem::take(&mut first) && begins;
        match value {
            Some(value) => format!("`{field} = {value}`"),
            None if is_subject => field.to_owned(),
            None => format!("`{field}`"),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marked_fields_are_replaced_and_all_else_stays() {
        let shown = |field: &str, value: Option<&str>| format!("[{field}|{}]", value.unwrap_or(""));
        assert_eq!(render("use ‹norm=layer›, not ‹mfg›", shown), "use [norm|layer], not [mfg|]");
        assert_eq!(render("an open ‹ stays", shown), "an open ‹ stays");
        assert_eq!(plain("‹seed›: not ‹seed›"), "seed: not `seed`");
    }
}
