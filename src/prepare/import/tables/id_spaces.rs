//! The nodes of all types before edges are read.

use std::collections::{BTreeMap, BTreeSet};

use super::scanned_table::ScannedTable;
use crate::prepare::import::files::{GraphFiles, NodeIds};
use crate::prepare::import::ids::{IdSpace, NamesMemory, NodeNames};
use crate::prepare::import::readers::{Ask, Wants, nearest};
use crate::words::error::{Error, Result};

/// Node types named by edges or counts. Takes node names out of the tables.
pub(in crate::prepare::import) fn id_spaces(
    files: &GraphFiles,
    tables: &mut [ScannedTable<'_>],
    ask: &Ask<'_>,
    memory: &NamesMemory,
    notes: &mut Vec<String>,
) -> Result<Vec<IdSpace>> {
    let ask = &Ask { wants: Wants::List, ..*ask };
    let ends = files.edges.iter().flat_map(|file| [&file.etype.src, &file.etype.dst]);
    let counted = files.num_nodes.iter().chain(&files.layout_nodes).map(|(ty, _)| ty);
    let mut values: BTreeMap<String, NodeNames> = BTreeMap::new();
    for table in &mut *tables {
        for (column, mut names) in table.embedded.iter().zip(std::mem::take(&mut table.values)) {
            names.close();
            values.insert(column.name.clone(), names);
        }
    }
    let names: BTreeSet<&String> = ends.chain(counted).collect();
    check_values(tables, &names)?;
    let names: BTreeSet<String> = names.into_iter().chain(values.keys()).cloned().collect();
    let mut spaces: Vec<IdSpace> = Vec::new();
    for name in &names {
        if let Some(names) = values.remove(name) {
            let count = names.len();
            let mut space = IdSpace::new(name, Some(names));
            space.tell(count, format!("embed={name}"))?;
            spaces.push(space);
            continue;
        }
        let listed = files.node_names.iter().find(|(ty, _)| ty == name);
        let table = tables.iter_mut().find(|table| table.file.ty == *name);
        if let (Some(table), Some(_)) = (&table, listed) {
            let problem = format!("{} has the ids of these nodes", table.file.path.display());
            return Err(Error::config("node_names", problem).with_hint("leave it out"));
        }
        if let Some(table) = table {
            let mut space = IdSpace::new(name, table.names.take());
            space.tell(table.rows, format!("node_table={}", table.file.path.display()))?;
            space.is_listed_in(&table.file.path);
            spaces.push(space);
            continue;
        }
        let names = match listed {
            Some((_, path)) => {
                let (names, note) = NodeNames::read(path, ask, memory)?;
                notes.push(note);
                Some(names)
            }
            None => (files.node_ids == NodeIds::String).then(|| NodeNames::new(memory)),
        };
        let listed = listed.and(names.as_ref()).map(NodeNames::len);
        let mut space = IdSpace::new(name, names);
        if let Some(count) = listed {
            space.tell(count, "node_names".to_owned())?;
        }
        spaces.push(space);
    }
    for (ty, path) in &files.node_names {
        space_of(&mut spaces, ty, "node_names")?.is_listed_in(path);
    }
    for table in tables {
        space_of(&mut spaces, &table.file.ty, "node_table")?;
    }
    let layout = files.layout.as_ref().map(|layout| layout.display().to_string());
    let of_layout = files.layout_nodes.iter().map(|stated| (stated, layout.as_deref()));
    let given = files.num_nodes.iter().map(|stated| (stated, None));
    for ((ty, count), layout) in of_layout.chain(given) {
        let space = space_of(&mut spaces, ty, "num_nodes")?;
        if space.is_named() && !space.is_known() {
            return Err(Error::config(
                "num_nodes",
                "nodes have names, so the number of isolated nodes cannot be stated",
            )
            .with_hint("list the names of all nodes: ‹node_names=FILE›"));
        }
        space.tell(*count, layout.unwrap_or("num_nodes").to_owned())?;
    }
    Ok(spaces)
}

/// Checks that names of embedded columns can be names of node types.
fn check_values(tables: &[ScannedTable<'_>], ntypes: &BTreeSet<&String>) -> Result<()> {
    let mut seen = BTreeSet::new();
    for column in tables.iter().flat_map(|table| &table.embedded) {
        let name = &column.name;
        let problem = if name.contains([':', '/']) {
            "cannot name a node type, as it holds : or /"
        } else if ntypes.contains(name) {
            "is also the name of a node type"
        } else if !seen.insert(name) {
            "is a column of two tables"
        } else {
            continue;
        };
        return Err(Error::config("embed", format!("{name} {problem}"))
            .with_hint("give the column another name"));
    }
    Ok(())
}

/// The nodes of a type, which `field` names.
pub(in crate::prepare::import) fn space_of<'a>(
    spaces: &'a mut [IdSpace],
    ty: &str,
    field: &str,
) -> Result<&'a mut IdSpace> {
    let known: Vec<String> = spaces.iter().map(|space| space.name.clone()).collect();
    spaces.iter_mut().find(|space| space.name == ty).ok_or_else(|| {
        let error = Error::config(field, format!("no edge joins nodes of type {ty:?}"));
        error.with_hint(match nearest(ty, known.iter().map(String::as_str)) {
            Some(near) => format!("did you mean {near}?"),
            None => format!("the types are {}; others need ‹num_nodes=TYPE=N›", known.join(", ")),
        })
    })
}
