//! The types that flags without a type refer to.

use std::collections::BTreeSet;

use super::graph_files::{GraphFiles, NODE, edge};
use crate::graph::CanonicalEtype;
use crate::prepare::import::readers::nearest;
use crate::words::error::{Error, Result};

/// The error of a flag that names a type of edges that the graph does not have.
pub(crate) fn unknown_etype<'t>(
    field: &str,
    etype: &CanonicalEtype,
    known: impl Iterator<Item = &'t CanonicalEtype>,
) -> Error {
    let error = Error::config(field, format!("the graph has no edges of type {etype}"));
    let known: Vec<String> = known.map(ToString::to_string).collect();
    error.with_hint(match nearest(&etype.to_string(), known.iter().map(String::as_str)) {
        Some(near) => format!("did you mean {near}?"),
        None => "pass them as ‹edges=SRC:REL:DST=FILE›".to_owned(),
    })
}

impl GraphFiles {
    /// These files with the graph's only type where the user passed none; and notes on types without edges.
    pub(crate) fn with_types(&self) -> Result<(Self, Vec<String>)> {
        let mut files = self.clone();
        let etypes: BTreeSet<&CanonicalEtype> = self.edges.iter().map(|file| &file.etype).collect();
        if etypes.contains(&edge()) && etypes.len() > 1 {
            return Err(Error::config("edges", "some files have a type, and others have none")
                .with_hint("pass every file as ‹edges=SRC:REL:DST=FILE›"));
        }
        let ntypes: BTreeSet<String> =
            etypes.iter().flat_map(|etype| [etype.src.clone(), etype.dst.clone()]).collect();
        let GraphFiles {
            node_data, splits, num_nodes, layout_nodes, node_names, node_tables, ..
        } = &mut files;
        let node_data = node_data.iter_mut().map(|file| (&mut file.ty, "node_data=TYPE/NAME=FILE"));
        let splits = splits.iter_mut().map(|file| (&mut file.ty, "split=TYPE/NAME=FILE"));
        let num_nodes =
            num_nodes.iter_mut().chain(layout_nodes).map(|(ty, _)| (ty, "num_nodes=TYPE=N"));
        let names = node_names.iter_mut().map(|(ty, _)| (ty, "node_names=TYPE=FILE"));
        let tables = &mut node_tables.files;
        let tables = tables.iter_mut().map(|file| (&mut file.ty, "node_table=TYPE=FILE"));
        let flags = node_data.chain(splits).chain(num_nodes).chain(names).chain(tables);
        let is_known = ntypes.contains(NODE) || ntypes.is_empty();
        for (ty, flag) in flags.filter(|(ty, _)| *ty == NODE && !is_known) {
            if let (Some(only), 1) = (ntypes.first(), ntypes.len()) {
                ty.clone_from(only);
                continue;
            }
            let list: Vec<&str> = ntypes.iter().map(String::as_str).collect();
            let problem = format!("the graph has the node types {}", list.join(", "));
            let field = flag.split('=').next().unwrap_or_default();
            return Err(Error::config(field, problem).with_hint(format!("name one: ‹{flag}›")));
        }
        for file in files.edge_data.iter_mut().filter(|file| file.ty == edge()) {
            match (etypes.first(), etypes.len()) {
                (Some(only), 1) => file.ty = (*only).clone(),
                (Some(_), _) => {
                    let list: Vec<String> = etypes.iter().map(ToString::to_string).collect();
                    let problem = format!("the graph has the edge types {}", list.join(", "));
                    return Err(Error::config("edge_data", problem)
                        .with_hint("name one: ‹edge_data=SRC:REL:DST/NAME=FILE›"));
                }
                (None, _) => {}
            }
        }
        let mut notes = self.notes.clone();
        let is_new = |ty: &String| !ntypes.is_empty() && !ntypes.contains(ty);
        for (ty, count) in files.num_nodes.iter().filter(|(ty, _)| is_new(ty)) {
            if let Some(near) = nearest(ty, ntypes.iter().map(String::as_str)) {
                return Err(Error::config(
                    "num_nodes",
                    format!("no edge joins nodes of type {ty:?}"),
                )
                .with_hint(format!("did you mean {near}?")));
            }
            notes.push(format!("no edge joins the {count} nodes of type {ty}"));
        }
        Ok((files, notes))
    }
}
