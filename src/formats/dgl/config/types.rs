//! Node and edge types, as the JSON file names them.

use super::field::Field;
use crate::graph::CanonicalEtype;
use crate::words::error::Result;

/// The types of a graph, by id.
pub(super) struct Types {
    pub(super) ntypes: Vec<String>,
    /// Edge types as the file names them: canonical since DGL 1.0, bare relations before.
    pub(super) etype_keys: Vec<String>,
}

impl Types {
    /// Reads `ntypes` and `etypes`; files of DGL 0.5 have neither and hold one type of each.
    pub(super) fn read(root: &Field<'_>) -> Result<Self> {
        let names = |key: &str, default: &str| match root.get(key) {
            Some(field) => by_id(&field),
            None => Ok(vec![default.to_owned()]),
        };
        Ok(Types { ntypes: names("ntypes", "_N")?, etype_keys: names("etypes", "_E")? })
    }

    /// Canonical name of each edge type; `None` if the file does not name the node types at its ends.
    pub(super) fn canonical(&self, root: &Field<'_>) -> Result<Vec<Option<CanonicalEtype>>> {
        let names = self.etype_keys.iter().map(|key| {
            if key.contains(':') {
                let etype = CanonicalEtype::parse(key);
                let known = |e: &CanonicalEtype| {
                    self.ntypes.contains(&e.src) && self.ntypes.contains(&e.dst)
                };
                return etype.filter(known).map(Some).ok_or_else(|| {
                    let problem = format!("{key:?} is not `src:rel:dst` of known node types");
                    root.fail(format!("etypes: {problem}"))
                });
            }
            Ok(match &self.ntypes[..] {
                [only] => Some(CanonicalEtype::new(only, key, only)),
                _ => None,
            })
        });
        names.collect()
    }
}

/// Names in `{name: id}`; ids must be 0, 1, ... without gaps or duplicates.
fn by_id(field: &Field<'_>) -> Result<Vec<String>> {
    let entries = field.object()?;
    let mut names = vec![None; entries.len()];
    for name in entries.keys() {
        let id = field.require(name)?.number()?;
        match usize::try_from(id).ok().and_then(|id| names.get_mut(id)) {
            Some(slot) if slot.is_none() => *slot = Some(name.clone()),
            _ => return Err(field.fail("ids must be 0, 1, 2, ... once each")),
        }
    }
    Ok(names.into_iter().flatten().collect())
}
