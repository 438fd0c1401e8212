//! No two types of one name, so that a name in a signature says which type it is.

use std::collections::BTreeMap;

use super::source::{files, program};

/// The types that a program declares with some visibility outside of their file.
fn types(program: &str) -> Vec<String> {
    let declared = program.lines().filter_map(|line| {
        let rest = line.strip_prefix("pub")?;
        let rest = match rest.strip_prefix('(') {
            Some(inside) => inside.split_once(')')?.1,
            None => rest,
        };
        let kinds = [" struct ", " enum ", " trait ", " type ", " unsafe trait "];
        let name = kinds.iter().find_map(|kind| rest.strip_prefix(kind))?;
        let name: String = name.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
        Some(name)
    });
    declared.collect()
}

#[test]
fn no_two_types_have_one_name() {
    let mut places: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (path, content) in files("src") {
        for name in types(&program(&content)) {
            places.entry(name).or_default().push(path.clone());
        }
    }
    places.retain(|_, places| places.len() > 1);
    assert!(places.is_empty(), "{places:#?}");
}

#[test]
fn declared_types_are_found() {
    let program =
        "pub struct A<T>;\npub(in crate::x) enum B {\nstruct C;\n    pub struct D;\npub fn e()";
    assert_eq!(types(program), ["A", "B"]);
}
