//! Values of flags with lists of settings: `NAME=VALUE,NAME=VALUE,...`.

use std::str::FromStr;

/// Settings in a flag's value, each at most once.
pub(in crate::cli) struct Settings<'a>(Vec<(&'static str, &'a str)>);

impl<'a> Settings<'a> {
    /// Parses settings with `known` names, which may be spelled as in Python, such as `T_max`.
    pub(in crate::cli) fn parse(text: &'a str, known: &[&'static str]) -> Result<Self, String> {
        let mut settings: Vec<(&'static str, &str)> = Vec::new();
        for setting in text.split(',').filter(|setting| !setting.trim().is_empty()) {
            let example = known.first().map(|name| format!(", such as {name}=..."));
            let example = example.unwrap_or_default();
            let (name, value) = setting.split_once('=').ok_or_else(|| {
                format!("{:?} is not a setting with its value{example}", setting.trim())
            })?;
            let spelled = name.trim().to_lowercase().replace('-', "_");
            let name = known.iter().find(|name| **name == spelled).ok_or_else(|| {
                format!("{:?} is not a setting: choose from {}", name.trim(), known.join(", "))
            })?;
            if settings.iter().any(|(other, _)| other == name) {
                return Err(format!("{name} is given twice"));
            }
            settings.push((*name, value.trim()));
        }
        Ok(Settings(settings))
    }

    /// The value of a setting.
    pub(in crate::cli) fn get<T: FromStr>(&self, name: &str) -> Result<Option<T>, String> {
        let Some((_, value)) = self.0.iter().find(|(other, _)| *other == name) else {
            return Ok(None);
        };
        let parsed = value.parse().map_err(|_| format!("{name} cannot be {value:?}"))?;
        Ok(Some(parsed))
    }
}
