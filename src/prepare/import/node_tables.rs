//! Which columns of node tables become what.

use std::path::PathBuf;

use super::column_of::ColumnOf;
use super::named_rows::NamedRows;
use crate::choice::{Choice, Named};
use crate::error::{Error, Result};
use crate::graph::CanonicalEtype;

/// Names of columns that are masks.
pub(super) const MASKS: [&str; 3] = ["train_mask", "val_mask", "test_mask"];

/// Names of columns that are labels more likely than features.
const LABELS: [&str; 2] = ["label", "labels"];

/// What stands for a missing value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FillMissing {
    /// The mean of the column; for strings the share of each
    Mean,
    /// 0; for strings none of them
    Zero,
}

impl Choice for FillMissing {
    const VALUES: &'static [Named<Self>] = &[
        Named::new(
            FillMissing::Mean,
            "mean",
            "The mean of the column; for strings the share of each",
        ),
        Named::new(FillMissing::Zero, "0", "0; for strings none of them"),
    ];
}

/// A table of nodes with a column of ids.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeTableFile {
    /// Type of the nodes.
    pub ty: String,
    /// Path of the file.
    pub path: PathBuf,
}

/// Tables of nodes with columns of ids, labels and features.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NodeTables {
    /// The tables, one for each node type that has one.
    pub files: Vec<NodeTableFile>,
    /// The columns with the ids of nodes.
    pub ids: Vec<ColumnOf<String>>,
    /// The columns with labels.
    pub labels: Vec<ColumnOf<String>>,
    /// Columns that are left out.
    pub drops: Vec<ColumnOf<String>>,
    /// Columns whose values become nodes of a type of their own, without features, so that their rows are learned.
    pub embeds: Vec<ColumnOf<String>>,
    /// Columns whose values name the mask that a node is in: train, val or test.
    pub splits: Vec<ColumnOf<String>>,
    /// What stands for a missing value; without it, one is an error.
    pub fill_missing: Option<FillMissing>,
}

/// What a column becomes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ColumnRole {
    /// One or more columns of `feat`.
    Feature,
    /// The array `label`.
    Label,
    /// A mask of the same name.
    Mask,
    /// The mask with this number among those of training, validation and test; the values name them.
    Split(usize),
}

/// The columns of a table.
pub(super) struct ChosenColumns {
    pub(super) id: usize,
    /// All other columns that are stored.
    pub(super) used: Vec<UsedColumn>,
    /// Columns whose values become nodes.
    pub(super) embedded: Vec<EmbeddedColumn>,
    /// Names of those that are not.
    pub(super) left_out: Vec<String>,
}

/// A column other than that of ids.
pub(super) struct UsedColumn {
    pub(super) at: usize,
    pub(super) name: String,
    pub(super) role: ColumnRole,
    /// Whether it holds values of lists, which are numbers.
    pub(super) is_of_list: bool,
}

/// A column whose values become nodes.
#[derive(Clone, Debug)]
pub(super) struct EmbeddedColumn {
    pub(super) at: usize,
    pub(super) name: String,
}

impl EmbeddedColumn {
    /// The relation from the values to the nodes of a type that have them.
    pub(super) fn etype(&self, ntype: &str) -> CanonicalEtype {
        CanonicalEtype::new(&self.name, &format!("{}_of", self.name), ntype)
    }
}

impl NodeTables {
    /// Refuses choices that no table heeds. `tables` holds the rows of all files.
    pub(super) fn check(&self, tables: &[NamedRows]) -> Result<()> {
        for (at, file) in self.files.iter().enumerate() {
            if self.files[..at].iter().any(|other| other.ty == file.ty) {
                let problem = format!("nodes of type {} have two tables", file.ty);
                return Err(Error::config("node_table", problem).with_hint("join them into one"));
            }
        }
        let choices = [
            ("id", &self.ids),
            ("label", &self.labels),
            ("drop", &self.drops),
            ("embed", &self.embeds),
            ("split", &self.splits),
        ];
        for (field, choice) in
            choices.iter().flat_map(|(field, all)| all.iter().map(move |c| (field, c)))
        {
            let of_type =
                || self.files.iter().zip(tables).filter(|(file, _)| choice.is_for(&file.ty));
            let has = |rows: &NamedRows| {
                let is_named = |at| match *field {
                    "drop" => rows.belongs_to(at, &choice.column),
                    _ => rows.names()[at] == choice.column,
                };
                (0..rows.names().len()).any(is_named)
            };
            if of_type().any(|(_, rows)| has(rows)) {
                continue;
            }
            return Err(match (of_type().next(), &choice.ty) {
                (Some((_, rows)), _) => rows
                    .column(&choice.column)
                    .err()
                    .unwrap_or_else(|| Error::internal("a column is there and is not".to_owned())),
                (None, ty) => {
                    let ty = ty.as_deref().unwrap_or_default();
                    Error::config(field, format!("nodes of type {ty} have no table"))
                        .with_hint(format!("pass it as ‹node_table={ty}=FILE›"))
                }
            });
        }
        Ok(())
    }

    /// What the columns of the table of a type become.
    pub(super) fn columns(&self, file: &NodeTableFile, rows: &NamedRows) -> Result<ChosenColumns> {
        let ty = &file.ty;
        let id = ColumnOf::one("id", &self.ids, ty)?.ok_or_else(|| {
            Error::config("id", format!("does not name the column of ids of type {ty}"))
                .with_hint(format!("add ‹id={ty}=COLUMN›"))
        })?;
        let id = rows.column(id)?;
        let label = ColumnOf::one("label", &self.labels, ty)?;
        // A choice for all types is one for the tables that have the column.
        let label = label.filter(|name| {
            rows.names().iter().any(|other| other == name)
                || self.labels.iter().any(|own| own.ty.as_ref() == Some(ty))
        });
        let label = label.map(|name| rows.column(name)).transpose()?;
        if label == Some(id) {
            return Err(Error::config("label", "names the column of ids"));
        }
        let split = ColumnOf::one("split", &self.splits, ty)?;
        let (mut used, mut left_out, mut embedded) = (Vec::new(), Vec::new(), Vec::new());
        for (at, name) in rows.names().iter().enumerate().filter(|(at, _)| *at != id) {
            let drops =
                |drop: &ColumnOf<String>| drop.is_for(ty) && rows.belongs_to(at, &drop.column);
            let is_dropped = self.drops.iter().any(drops);
            if is_dropped && label == Some(at) {
                return Err(Error::config("drop", format!("leaves out {name}, the label")));
            }
            if self.embeds.iter().any(|embed| embed.is_for(ty) && embed.column == *name) {
                if is_dropped || label == Some(at) {
                    let other = if is_dropped { "drop" } else { "label" };
                    let problem = format!("names {name}, which ‹{other}› names, too");
                    return Err(Error::config("embed", problem).with_hint("leave out one of them"));
                }
                embedded.push(EmbeddedColumn { at, name: name.clone() });
                continue;
            }
            if is_dropped || is_index(name) {
                let name = rows.list_of(at).unwrap_or_else(|| name.clone());
                if left_out.last() != Some(&name) {
                    left_out.push(name);
                }
                continue;
            }
            if split == Some(name.as_str()) {
                let masks = (0..MASKS.len()).map(|mask| {
                    let (name, role) = (name.clone(), ColumnRole::Split(mask));
                    UsedColumn { at, name, role, is_of_list: false }
                });
                used.extend(masks);
                continue;
            }
            let role = if label == Some(at) {
                ColumnRole::Label
            } else if MASKS.contains(&name.as_str()) {
                ColumnRole::Mask
            } else if LABELS.contains(&name.to_lowercase().as_str()) {
                let problem = format!("column {name} would become a feature");
                return Err(Error::input(&file.path, "", problem).with_hint(format!(
                    "name the labels with ‹label={name}›, or leave them out: ‹drop={name}›"
                )));
            } else {
                ColumnRole::Feature
            };
            let is_of_list = rows.list_of(at).is_some();
            used.push(UsedColumn { at, name: name.clone(), role, is_of_list });
        }
        let is_split = |column: &UsedColumn| matches!(column.role, ColumnRole::Split(_));
        let mask = used.iter().find(|column| column.role == ColumnRole::Mask);
        if let Some(mask) = mask.filter(|_| used.iter().any(is_split)) {
            let problem = format!("the table also has a column {}", mask.name);
            return Err(Error::config("split", problem)
                .with_hint(format!("leave one of them out: ‹drop={}›", mask.name)));
        }
        if self.embeds.iter().any(|embed| embed.is_for(ty) && embed.column == rows.names()[id]) {
            let problem = format!("names {}, the column of ids", rows.names()[id]);
            return Err(Error::config("embed", problem));
        }
        if self.drops.iter().any(|drop| drop.is_for(ty) && drop.column == rows.names()[id]) {
            let problem = format!("leaves out {}, the column of ids", rows.names()[id]);
            return Err(Error::config("drop", problem));
        }
        Ok(ChosenColumns { id, used, embedded, left_out })
    }
}

/// Whether a column has the name that pandas gives to the numbers of rows: none in text, or one of its own in Parquet.
fn is_index(name: &str) -> bool {
    name.is_empty() || name.starts_with("__index_level_")
}
