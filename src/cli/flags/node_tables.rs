//! The flags of tables of nodes with a column of ids.

use clap::Args;

use super::choice::choice;
use crate::prepare::import::{
    ColumnOf, DrawnSplit, FillMissing, GraphFiles, NodeTableFile, NodeTables, Scale,
};
use crate::words::choice::Choice;

/// Flags of graphs that have edges of their own, which no files of edges and no tables of nodes complete.
pub(in crate::cli) const OTHER_SOURCES: [&str; 3] = ["part_json", "ogb", "chunked"];

#[derive(Debug, Args)]
#[command(next_help_heading = "Node tables")]
pub(in crate::cli) struct NodeTableArgs {
    /// Table of nodes with a column of ids: text with a header, Parquet, JSON or another format with names of columns. Numbers
    /// become features; columns of at most 32 different strings become one-hot features. Columns train_mask, val_mask and
    /// test_mask are masks
    #[arg(long, value_name = "[TYPE=]FILE", conflicts_with_all = OTHER_SOURCES)]
    node_table: Vec<String>,
    /// Column with the ids of nodes in files of edges, numbers or strings [default: id; or another usual name, such as node]
    #[arg(long, value_name = "[TYPE=]COLUMN")]
    id: Vec<String>,
    /// Column of the labels: numbers, or names of classes, which are saved in class_names.txt. Nodes without a label stay
    /// unlabelled
    #[arg(long, value_name = "[TYPE=]COLUMN")]
    label: Vec<String>,
    /// Column to leave out
    #[arg(long, value_name = "[TYPE=]COLUMN")]
    drop: Vec<String>,
    /// Column whose values get learned rows: each value becomes a node of a type of this name, with edges to the nodes that have it
    #[arg(long, value_name = "[TYPE=]COLUMN")]
    embed: Vec<String>,
    /// Replacement for missing values of features and masks [default: an error]
    #[arg(long, value_parser = choice::<FillMissing>())]
    fill_missing: Option<FillMissing>,
    /// How numbers of tables become features
    #[arg(long, value_parser = choice::<Scale>(), default_value = Scale::default().name())]
    scale: Scale,
}

impl NodeTableArgs {
    fn files(&self) -> Vec<NodeTableFile> {
        let files = self.node_table.iter().map(|text| {
            let (ty, path) = GraphFiles::parse_of_type(text);
            NodeTableFile { ty, path: path.into() }
        });
        files.collect()
    }

    /// Splits the values of `--split` into columns of tables and files.
    pub(in crate::cli) fn splits(&self, values: &[String]) -> (Vec<ColumnOf<String>>, Vec<String>) {
        let files = self.files();
        let typed = |ty: &str| files.iter().any(|file| file.ty == ty).then(|| ty.to_owned());
        let parsed = values.iter().map(|text| (ColumnOf::parse(text, typed), text));
        let (columns, others): (Vec<_>, Vec<_>) = parsed.partition(|(column, text)| {
            !files.is_empty() && (column.ty.is_some() || !text.contains('='))
        });
        let columns = columns.into_iter().map(|(column, _)| column);
        (columns.collect(), others.into_iter().map(|(_, text)| text.clone()).collect())
    }

    /// The tables, with the columns whose values are masks, and those that order nodes.
    pub(in crate::cli) fn node_tables(
        &self,
        splits: Vec<ColumnOf<String>>,
        drawn: &[DrawnSplit],
    ) -> NodeTables {
        let orders = drawn.iter().filter_map(DrawnSplit::column_of_nodes).collect();
        let files = self.files();
        let columns = |list: &[String]| {
            let is_type = |ty: &str| files.iter().any(|file| file.ty == ty);
            let parse = |ty: &str| is_type(ty).then(|| ty.to_owned());
            list.iter().map(|text| ColumnOf::parse(text, parse)).collect()
        };
        NodeTables {
            ids: columns(&self.id),
            labels: columns(&self.label),
            drops: columns(&self.drop),
            embeds: columns(&self.embed),
            fill_missing: self.fill_missing,
            scale: self.scale,
            splits,
            orders,
            files,
        }
    }
}
