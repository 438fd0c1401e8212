//! Values of a JSON file with their location, which errors name.

use crate::words::error::{Error, Result};
use serde_json::{Map, Value};
use std::path::Path;

pub(super) struct Field<'a> {
    path: &'a Path,
    name: String,
    value: &'a Value,
}

impl<'a> Field<'a> {
    /// The whole file.
    pub(super) fn root(path: &'a Path, value: &'a Value) -> Self {
        Field { path, name: String::new(), value }
    }

    /// A member that may be missing or null.
    pub(super) fn get(&self, key: &str) -> Option<Field<'a>> {
        let value = self.value.get(key).filter(|value| !value.is_null())?;
        Some(self.child(key, value))
    }

    /// A member that must exist.
    pub(super) fn require(&self, key: &str) -> Result<Field<'a>> {
        self.get(key).ok_or_else(|| self.fail(format!("{key:?} is missing")))
    }

    pub(super) fn value(&self) -> &'a Value {
        self.value
    }

    pub(super) fn number(&self) -> Result<u64> {
        self.value.as_u64().ok_or_else(|| self.fail("must be a whole number of at least 0"))
    }

    pub(super) fn text(&self) -> Result<&'a str> {
        self.value.as_str().ok_or_else(|| self.fail("must be a string"))
    }

    pub(super) fn object(&self) -> Result<&'a Map<String, Value>> {
        self.value.as_object().ok_or_else(|| self.fail("must be an object"))
    }

    /// The elements of a list.
    pub(super) fn list(&self) -> Result<Vec<Field<'a>>> {
        let list = self.value.as_array().ok_or_else(|| self.fail("must be a list"))?;
        let items = list.iter().enumerate();
        Ok(items
            .map(|(i, value)| Field { path: self.path, name: format!("{}[{i}]", self.name), value })
            .collect())
    }

    pub(super) fn fail(&self, problem: impl Into<String>) -> Error {
        Error::input(self.path, &self.name, problem)
    }

    fn child(&self, key: &str, value: &'a Value) -> Field<'a> {
        let dot = if self.name.is_empty() { "" } else { "." };
        Field { path: self.path, name: format!("{}{dot}{key}", self.name), value }
    }
}
