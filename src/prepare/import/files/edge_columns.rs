//! The roles of the columns of a file of edges.

use super::graph_files::GraphFiles;
use crate::graph::CanonicalEtype;
use crate::prepare::import::readers::{FileRows, Form, ends_of, is_index, listed};
use crate::words::error::{Error, Result};

const CHOOSE: &str = "choose two of them: ‹source_column=NAME›, ‹target_column=NAME›; others become edge data with \
     ‹edge_columns=NAME›";

/// The columns of a file of edges.
pub(in crate::prepare::import) struct EdgeFileColumns {
    /// Sources and destinations.
    pub(in crate::prepare::import) ends: [usize; 2],
    /// Edge data, in the order of their names.
    pub(in crate::prepare::import) data: Vec<usize>,
    /// Column that says whether an edge is directed, as Gephi writes it.
    pub(in crate::prepare::import) kind: Option<usize>,
    /// The column that names the type of each edge.
    pub(in crate::prepare::import) relation: Option<usize>,
    /// Part of the note about the columns.
    pub(in crate::prepare::import) note: String,
}

impl EdgeFileColumns {
    /// Determines the columns of a file: by names that the user passes, by usual names, or by order.
    pub(in crate::prepare::import) fn of(
        files: &GraphFiles,
        etype: &CanonicalEtype,
        edge_columns: &[String],
        rows: &FileRows,
    ) -> Result<Self> {
        let columns = rows.columns();
        let is_array = columns.len() == 2 && rows.file.unit == "edge";
        if let [name, ..] = edge_columns
            && is_array
        {
            let problem = format!("has no further columns, such as {name}");
            return Err(Error::input(rows.path(), "", problem)
                .with_hint("leave ‹edge_columns› out, or give the data as ‹edge_data=NAME=FILE›"));
        }
        if !rows.file.named && !is_array {
            return Self::in_order(files, etype, edge_columns, rows);
        }
        let data = edge_columns.iter().map(|name| data_column(name, rows));
        let data: Vec<usize> = data.collect::<Result<_>>()?;
        let relation = files.relation_column.as_ref();
        let relation = relation
            .map(|name| rows.single(rows.column(name)?, "write a row for each relation"))
            .transpose()?;
        let left = |at: &usize| {
            !data.contains(at) && relation != Some(*at) && !is_index(&columns[*at].name)
        };
        let others: Vec<usize> = (0..columns.len()).filter(left).collect();
        let names: Vec<&str> = columns.iter().map(|column| column.name.as_str()).collect();
        let usual = ends_of(&names, &others, Some([etype.src.as_str(), etype.dst.as_str()]));
        let ends = match (files.end_columns(etype)?, usual) {
            (Some(chosen), _) => [rows.column(chosen.source)?, rows.column(chosen.target)?],
            (None, Some(ends)) => ends,
            (None, None) => {
                let problem = format!("has the columns {}", listed(&names));
                return Err(Error::input(rows.path(), "", problem).with_hint(CHOOSE));
            }
        };
        let ends = [rows.plain(ends[0])?, rows.plain(ends[1])?];
        check_kinds(rows, ends, etype)?;
        let kind = others.iter().copied().find(|at| {
            columns[*at].name.eq_ignore_ascii_case("type") && columns[*at].form == Form::Text
        });
        let mut note =
            format!("; source is {}, target is {}", rows.name(ends[0]), rows.name(ends[1]));
        if let Some(relation) = relation {
            note.extend([", relation is ", &rows.name(relation)]);
        }
        let used = |at: &usize| ends.contains(at) || data.contains(at) || relation == Some(*at);
        let left_out: Vec<String> = (0..columns.len())
            .filter(|at| !used(at))
            .map(|at| {
                if columns[at].name.is_empty() {
                    "a column without a name".to_owned()
                } else {
                    rows.name(at)
                }
            })
            .collect();
        if !left_out.is_empty() {
            note.extend(["; left out: ", &listed(&left_out)]);
        }
        Ok(EdgeFileColumns { ends, data, kind, relation, note })
    }

    /// The columns of a file without names.
    fn in_order(
        files: &GraphFiles,
        etype: &CanonicalEtype,
        edge_columns: &[String],
        rows: &FileRows,
    ) -> Result<Self> {
        let (found, named) = (rows.columns().len(), edge_columns.len());
        if files.end_columns(etype)?.is_some() {
            let problem = "its columns have no names";
            return Err(Error::input(rows.path(), "", problem)
                .with_hint("if the first line holds them, pass ‹header›"));
        }
        if found < 2 {
            let problem = "holds one column; an edge has a source and a destination";
            return Err(rows.fail_first(problem).with_hint(
                "separate the two by white space, a comma, a semicolon, a tab or |, or by ‹separator=CHAR›; for separators of \
                 several characters: sed 's/::/\\t/g' FILE > NEW",
            ));
        }
        let relation = files.relation_column.as_ref().map(|name| place(name, rows)).transpose()?;
        let mut others = (0..found).filter(|at| relation != Some(*at));
        let (Some(source), Some(target)) = (others.next(), others.next()) else {
            return Err(rows
                .fail_first("holds two columns; a triple has three")
                .with_hint("leave ‹relation_column› out, or correct ‹separator=CHAR›"));
        };
        let data: Vec<usize> = others.collect();
        if let Some(name) = edge_columns.get(data.len()) {
            let error = rows.fail_first(format!("has no column {name}"));
            return Err(
                error.with_hint("every name in ‹edge_columns› must be the name of a column")
            );
        }
        if data.len() > named {
            let problem = format!(
                "holds {found} columns, but only {} have names",
                found - data.len() + named
            );
            let triples = "; of triples (head, relation, tail), name the column of relations: ‹relation_column=2›";
            return Err(rows.fail_first(problem).with_hint(format!(
                "name the columns after source and destination: ‹edge_columns=A,B›; if the first line holds names, pass \
                 ‹header›{}",
                if found == 3 && relation.is_none() { triples } else { "" }
            )));
        }
        let mut note =
            format!("; column {} is the source, column {} the target", source + 1, target + 1);
        if let Some(relation) = relation {
            note.extend([", column ", &(relation + 1).to_string(), " the relation"]);
        }
        Ok(EdgeFileColumns { ends: [source, target], data, kind: None, relation, note })
    }
}

/// The column with a value of edge data per row.
fn data_column(name: &str, rows: &FileRows) -> Result<usize> {
    let hint = format!(
        "edge data of several values are an array with a row for each edge: ‹edge_data={name}=FILE.npy›"
    );
    rows.single(rows.column(name)?, &hint)
}

/// The place of a column in a file without names, from its number.
fn place(number: &str, rows: &FileRows) -> Result<usize> {
    let found = rows.columns().len();
    let number: Option<usize> = number.parse().ok().filter(|number| (1..=found).contains(number));
    number.map(|number| number - 1).ok_or_else(|| {
        let problem = format!("its {found} columns have no names");
        Error::input(rows.path(), "", problem).with_hint(
            "give the number of the column of relations, such as ‹relation_column=2›; if the first line holds names, \
             pass ‹header›",
        )
    })
}

/// Returns an error if the ends number two kinds of nodes but the graph has one.
fn check_kinds(rows: &FileRows, ends: [usize; 2], etype: &CanonicalEtype) -> Result<()> {
    // neo4j writes `:START_ID(Person),:END_ID(Movie)`.
    let [source, target] = ends.map(|at| rows.columns()[at].name.as_str());
    let space = |name: &str| Some(name.split_once('(')?.1.trim_end_matches(')').to_owned());
    match (space(source), space(target)) {
        (Some(source), Some(target)) if source != target && etype.src == etype.dst => {
            let problem = format!("joins nodes of two types, {source} and {target}");
            Err(Error::input(rows.path(), "", problem)
                .with_hint(format!("pass ‹edges={source}:REL:{target}=FILE›")))
        }
        _ => Ok(()),
    }
}
