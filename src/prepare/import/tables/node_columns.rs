//! Roles of node tables' columns.

use super::encoding::split_of;
use crate::graph::CanonicalEtype;
use crate::load::MASKS;
use crate::prepare::import::files::{ColumnOf, NodeTableFile, NodeTables};
use crate::prepare::import::readers::{FileRows, is_index, is_usual_id, nearest};
use crate::words::error::{Error, Result};

/// Column names that rarely mean features, and the flag for their role.
const NO_FEATURES: [(&str, &str); 5] = [
    ("label", "label"),
    ("labels", "label"),
    ("class", "label"),
    ("target", "label"),
    ("split", "split"),
];

/// Hint for lists of labels other than classes, in the column `name`.
pub(super) fn label_rows(name: &str) -> String {
    format!(
        "save them as an array with a row per node, ‹node_data=label=FILE.npy›, and leave the column out: ‹drop={name}›"
    )
}

/// Hint for masks of several splits.
const SEVERAL_SPLITS: &str = "save all splits as an array with a row per node, ‹node_data=NAME=FILE.npy›, and choose one with \
     ‹split_index=K›";

/// Use of a column.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum ColumnRole {
    /// One or more columns of `feat`.
    #[default]
    Feature,
    /// The array `label`.
    Label,
    /// A mask of the same name.
    Mask,
    /// The mask with this number among training, validation and test, where values name it.
    Split(usize),
    /// Numbers by which nodes are split, stored under the column's name.
    Order,
}

/// Columns of a table, by use.
pub(super) struct ChosenColumns {
    pub(super) id: usize,
    /// All other stored columns.
    pub(super) used: Vec<UsedColumn>,
    /// Columns whose values become nodes.
    pub(super) embedded: Vec<EmbeddedColumn>,
    /// Names of columns that are left out.
    pub(super) left_out: Vec<String>,
}

/// A column whose values become nodes.
#[derive(Clone, Debug)]
pub(crate) struct EmbeddedColumn {
    pub(crate) at: usize,
    pub(crate) name: String,
}

impl EmbeddedColumn {
    /// The relation from a value to the nodes of a type that have it.
    pub(crate) fn etype(&self, ntype: &str) -> CanonicalEtype {
        CanonicalEtype::of_column(&self.name, ntype)
    }
}

/// A stored column other than the ids.
pub(super) struct UsedColumn {
    pub(super) at: usize,
    /// Place in the column's lists; 0 without lists.
    pub(super) element: usize,
    /// Name of the column in the file.
    pub(super) column: String,
    /// Name of the column, with the place in its lists.
    pub(super) name: String,
    pub(super) role: ColumnRole,
}

impl NodeTables {
    /// Names of the columns that the user has chosen.
    pub(super) fn names(&self) -> Vec<&str> {
        let all = [&self.ids, &self.labels, &self.drops, &self.embeds, &self.splits, &self.orders];
        all.into_iter().flatten().map(|choice| choice.column.as_str()).collect()
    }

    /// Names of the columns that may be labels.
    pub(super) fn label_names(&self) -> Vec<&str> {
        self.labels.iter().map(|choice| choice.column.as_str()).collect()
    }

    /// Refuses choices that match no table. `tables` holds the rows of all files.
    pub(super) fn check(&self, tables: &[FileRows]) -> Result<()> {
        for (at, file) in self.files.iter().enumerate() {
            if self.files[..at].iter().any(|other| other.ty == file.ty) {
                let problem = format!("nodes of type {} have two tables", file.ty);
                return Err(Error::config("node_table", problem).with_hint("join them into one"));
            }
        }
        // Without a type, the column may belong to edges.
        let orders: Vec<ColumnOf<String>> =
            self.orders.iter().filter(|order| order.ty.is_some()).cloned().collect();
        let choices = [
            ("split_by", &orders),
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
            let has = |rows: &FileRows| rows.columns().iter().any(|c| c.name == choice.column);
            if of_type().any(|(_, rows)| has(rows)) {
                continue;
            }
            return Err(match (of_type().next(), &choice.ty) {
                (Some((_, rows)), _) => rows
                    .column(&choice.column)
                    .err()
                    .unwrap_or_else(|| Error::internal("a column is both present and absent")),
                (None, ty) => {
                    let ty = ty.as_deref().unwrap_or_default();
                    let types = self.files.iter().map(|file| file.ty.as_str());
                    let error = Error::config(field, format!("nodes of type {ty} have no table"));
                    error.with_hint(match nearest(ty, types) {
                        Some(near) => format!("did you mean {near}?"),
                        None => format!("pass it as ‹node_table={ty}=FILE›"),
                    })
                }
            });
        }
        Ok(())
    }

    /// Assigns the columns of a type's table their uses.
    pub(super) fn columns(&self, file: &NodeTableFile, rows: &FileRows) -> Result<ChosenColumns> {
        let ty = &file.ty;
        let id = self.id_column(ty, rows)?;
        let label = self.label_column(ty, rows)?;
        if label == Some(id) {
            return Err(Error::config("label", "names the column of ids"));
        }
        let split = ColumnOf::one("split", &self.splits, ty)?;
        let mut chosen =
            ChosenColumns { id, used: Vec::new(), embedded: Vec::new(), left_out: Vec::new() };
        let is_in = |list: &[ColumnOf<String>], name: &str| {
            list.iter().any(|choice| choice.is_for(ty) && choice.column == name)
        };
        let named = rows.columns().iter().map(|column| column.name.as_str()).enumerate();
        let kept = named.filter(|(at, name)| label != Some(*at) && !is_in(&self.drops, name));
        let kept: Vec<&str> = kept.map(|(_, name)| name).collect();
        for (at, column) in rows.columns().iter().enumerate() {
            let name = &column.name;
            let is_dropped = is_in(&self.drops, name);
            let is_embedded = is_in(&self.embeds, name);
            let is_label = label == Some(at);
            let is_order = is_in(&self.orders, name);
            let has_use = at == id || is_label || is_dropped || is_embedded;
            if is_order && (has_use || column.width.is_some()) {
                let problem = format!("names {name}, which has another use or holds lists");
                return Err(Error::config("split_by", problem)
                    .with_hint("name a column of numbers or dates, one for each node"));
            }
            check_choices(name, at == id, is_label, is_dropped, is_embedded)?;
            let single = |hint: &str| rows.single(at, hint);
            if at == id {
            } else if is_embedded {
                let at = single("write a column for each place of the lists")?;
                chosen.embedded.push(EmbeddedColumn { at, name: name.clone() });
            } else if is_dropped || is_index(name) {
                chosen.left_out.push(rows.name(at));
            } else if split == Some(name.as_str()) {
                let at = single("a node has one split")?;
                let masks = (0..MASKS.len()).map(ColumnRole::Split);
                chosen.used.extend(masks.map(|role| UsedColumn::new(at, name, role)));
            } else if is_label {
                chosen.used.push(UsedColumn::new(at, name, ColumnRole::Label));
            } else if is_order {
                chosen.used.push(UsedColumn::new(at, name, ColumnRole::Order));
            } else if MASKS.contains(&name.as_str()) {
                let at = single(SEVERAL_SPLITS)?;
                chosen.used.push(UsedColumn::new(at, name, ColumnRole::Mask));
            } else {
                check_name(rows, name, label.is_some(), &kept)?;
                let feature = UsedColumn::new(at, name, ColumnRole::Feature);
                chosen.used.extend(feature.elements(column.width));
            }
        }
        if let Some(width) = label.and_then(|at| rows.columns()[at].width) {
            let name = rows.name(label.unwrap_or(0));
            let problem = format!("column {name} holds {width} labels");
            return Err(Error::input(rows.path(), "", problem).with_hint(label_rows(&name)));
        }
        let is_split = |column: &UsedColumn| matches!(column.role, ColumnRole::Split(_));
        let mask = chosen.used.iter().find(|column| column.role == ColumnRole::Mask);
        if let Some(mask) = mask.filter(|_| chosen.used.iter().any(is_split)) {
            let problem = format!("the table also has a column {}", mask.name);
            return Err(Error::config("split", problem)
                .with_hint(format!("leave one of them out: ‹drop={}›", mask.name)));
        }
        Ok(chosen)
    }

    fn id_column(&self, ty: &String, rows: &FileRows) -> Result<usize> {
        if let Some(id) = ColumnOf::one("id", &self.ids, ty)? {
            return rows.plain(rows.column(id)?);
        }
        let columns = rows.columns();
        let mut usual = (0..columns.len()).filter(|at| is_usual_id(&columns[*at].name));
        if let (Some(at), None) = (usual.next(), usual.next()) {
            return rows.plain(at);
        }
        let problem = format!("does not show which column holds the ids of type {ty}");
        let hint = format!("name it: ‹id={ty}=COLUMN›; {}", rows.named_columns());
        Err(Error::input(rows.path(), "", problem).with_hint(hint))
    }

    fn label_column(&self, ty: &String, rows: &FileRows) -> Result<Option<usize>> {
        let label = ColumnOf::one("label", &self.labels, ty)?;
        // A choice for all types applies to the tables that have the column.
        let label = label.filter(|name| {
            rows.columns().iter().any(|other| other.name == *name)
                || self.labels.iter().any(|own| own.ty.as_ref() == Some(ty))
        });
        label.map(|name| rows.column(name)).transpose()
    }
}

impl UsedColumn {
    fn new(at: usize, name: &str, role: ColumnRole) -> Self {
        let (column, name) = (name.to_owned(), name.to_owned());
        UsedColumn { at, element: 0, column, name, role }
    }

    /// The column once for each place of its lists.
    fn elements(self, width: Option<usize>) -> Vec<Self> {
        let Some(width) = width else { return vec![self] };
        let of = |element| UsedColumn {
            element,
            name: format!("{}[{element}]", self.name),
            ..UsedColumn::new(self.at, &self.column, self.role)
        };
        (0..width).map(of).collect()
    }
}

/// Refuses two choices for one column.
#[allow(clippy::fn_params_excessive_bools)] // Each is a flag that names the column.
fn check_choices(
    name: &str,
    is_id: bool,
    is_label: bool,
    is_dropped: bool,
    is_embedded: bool,
) -> Result<()> {
    if is_id && (is_dropped || is_embedded) {
        let (flag, verb) = if is_dropped { ("drop", "leaves out") } else { ("embed", "names") };
        return Err(Error::config(flag, format!("{verb} {name}, the column of ids")));
    }
    if is_label && is_dropped && !is_embedded {
        return Err(Error::config("drop", format!("leaves out {name}, the label")));
    }
    if is_embedded && (is_dropped || is_label) {
        let other = if is_dropped { "drop" } else { "label" };
        let problem = format!("names {name}, which ‹{other}› names, too");
        return Err(Error::config("embed", problem).with_hint("leave out one of them"));
    }
    Ok(())
}

/// Refuses a feature whose name says something else. `has_label` tells whether another column is the label; `kept` has
/// the names of the columns that are neither the label nor left out.
fn check_name(rows: &FileRows, name: &str, has_label: bool, kept: &[&str]) -> Result<()> {
    let lower = name.to_lowercase();
    let known = NO_FEATURES.iter().find(|(other, _)| *other == lower);
    let flag = known.filter(|_| !(has_label && matches!(&*lower, "class" | "target")));
    let flag = flag.map(|(_, flag)| *flag).or(is_usual_id(name).then_some("id"));
    let hint = match flag {
        Some(flag) => {
            format!("say what it is with ‹{flag}={name}›, or leave it out: ‹drop={name}›")
        }
        None if is_like_mask(kept, name) => mask_hint(name),
        None => return Ok(()),
    };
    let problem = format!("column {name} would become a feature");
    Err(Error::input(rows.path(), "", problem).with_hint(hint))
}

/// Hint for a feature that may be a mask.
pub(super) fn mask_hint(name: &str) -> String {
    let masks = MASKS.join(", ");
    format!("masks are called {masks}: rename it, or leave it out: ‹drop={name}›")
}

/// Whether a name is close to a mask's: `Train_Mask`, `valid_mask`, `is_train`, `train`; `test` is, if the table also has `val`
/// and has no `test_mask`.
fn is_like_mask(kept: &[&str], name: &str) -> bool {
    let mut others = kept.iter().filter_map(|other| mask_of(other));
    mask_of(name).is_some_and(|(mask, is_bare)| {
        let has_other = mask == 0 || others.any(|(other, _)| other != mask);
        !is_bare || has_other && !kept.contains(&MASKS[mask])
    })
}

/// The mask to which a name is close, and whether the name is just that of the split.
fn mask_of(name: &str) -> Option<(usize, bool)> {
    let lower = name.to_lowercase();
    let plain: String = lower.chars().filter(|c| c.is_alphanumeric()).collect();
    let bare = plain.strip_prefix("is").or(plain.strip_suffix("mask")).unwrap_or(&plain);
    split_of(bare.as_bytes()).map(|mask| (mask, bare == plain))
}
