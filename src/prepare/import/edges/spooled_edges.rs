//! Reads edges whose types are in a column, and edges that splits list.

use std::path::Path;

use crate::graph::CanonicalEtype;
use crate::prepare::import::files::{DataFile, EdgeFile, GraphFiles, NodeIds, edge, unknown_etype};
use crate::prepare::import::import_graph::Import;
use crate::prepare::import::readers::{Ask, FileRows, UsualEnds, Wants, usual_ends};
use crate::prepare::import::spool::{
    DividedEdges, EdgeProgress, EdgeSpool, ListedEdges, SpooledRows,
};
use crate::prepare::import::tables::mask_name;
use crate::words::error::{Error, Result};

impl GraphFiles {
    /// Removes from `splits` those that list edges: splits of an edge type, all splits if a column has the types of
    /// edges, and files with columns of edges.
    pub(in crate::prepare::import) fn take_edge_splits(
        &mut self,
        ask: &Ask<'_>,
    ) -> Result<Vec<DataFile<CanonicalEtype>>> {
        let mut found = Vec::new();
        for file in std::mem::take(&mut self.splits) {
            let etype = match CanonicalEtype::parse(&file.ty) {
                Some(etype) => Some(etype),
                None if self.relation_column.is_some() || self.lists_edges(&file, ask)? => {
                    Some(self.only_etype(&file)?)
                }
                None => None,
            };
            match etype {
                Some(ty) if self.edges.iter().all(|edges| edges.etype != ty) => {
                    let known = self.edges.iter().map(|edges| &edges.etype);
                    return Err(unknown_etype("split", &ty, known));
                }
                // The mask of a data set's edges, which also tells parallel edges apart.
                Some(ty) if self.layout.is_some() && self.has_mask(&ty, &file.name) => {}
                Some(ty) => {
                    let DataFile { name, path, array, .. } = file;
                    found.push(DataFile { ty, name, path, array });
                }
                None => self.splits.push(file),
            }
        }
        Ok(found)
    }

    /// Whether the data of edges of a type are the mask of a split.
    fn has_mask(&self, ty: &CanonicalEtype, split: &str) -> bool {
        self.edge_data.iter().any(|data| data.ty == *ty && data.name == mask_name(split))
    }

    /// Whether the columns of a split's file are those of edges of the graph's only node type. A line of text without
    /// column names is a name, unless nodes are numbered.
    fn lists_edges(&self, file: &DataFile<String>, ask: &Ask<'_>) -> Result<bool> {
        let is_of_type = |edges: &EdgeFile| [&edges.etype.src, &edges.etype.dst] == [&file.ty; 2];
        if file.array.is_some() || !self.edges.iter().all(is_of_type) {
            return Ok(false);
        }
        // All other files are lists, whose reader reports errors.
        let ask = Ask { wants: Wants::Edges, edge_shape: self.split_shape, ..*ask };
        let Ok(rows) = FileRows::open(&file.path, &ask) else {
            return Ok(false);
        };
        let columns = rows.columns();
        let names = columns.iter().map(|column| column.name.as_str());
        let is_pair = matches!(usual_ends(names), UsualEnds::Pair(_));
        let is_array = rows.file.unit == "edge" && columns.len() == 2;
        let is_numbered = self.node_ids == NodeIds::Integer
            && self.node_names.is_empty()
            && self.node_tables.files.is_empty();
        if is_array
            && self.split_shape.is_none()
            && let Some(array) =
                rows.file.array.as_ref().filter(|array| array.flat().num_rows() == 2)
        {
            let problem =
                format!("has shape {:?}: it may list two nodes or an edge", array.shape());
            return Err(array.fail(problem).with_hint(
                "save nodes as array.ravel(); write an edge as text, a source and a target on a line",
            ));
        }
        Ok(is_pair || is_array || !rows.file.named && columns.len() > 1 && is_numbered)
    }

    /// The type of the edges of a split that does not name one.
    fn only_etype(&self, file: &DataFile<String>) -> Result<CanonicalEtype> {
        let mut all = self.edges.iter().map(|edges| &edges.etype);
        let first = all.next().filter(|first| all.all(|other| other == *first));
        first.cloned().ok_or_else(|| {
            let problem =
                format!("{} lists edges, but the graph has several types", file.path.display());
            Error::config("split", problem).with_hint("name one: ‹split=SRC:REL:DST/NAME=FILE›")
        })
    }
}

impl Import<'_> {
    /// Edges of all types, if a column has the types or splits list edges.
    pub(in crate::prepare::import) fn divided_edges(
        &mut self,
        progress: &mut EdgeProgress<'_>,
    ) -> Result<Option<DividedEdges>> {
        let has_relations = self.files.relation_column.is_some();
        if !has_relations && self.edge_splits.is_empty() {
            return Ok(None);
        }
        let listed = std::mem::take(&mut self.edge_splits);
        let files = self.files;
        let ty = files.edges.first().map_or_else(edge, |file| file.etype.clone());
        let columns = self.edge_columns(&ty);
        let mut spool =
            EdgeSpool::create(self.ask.folder, &columns, has_relations, self.memory / 4)?;
        for file in &files.edges {
            let etype = if has_relations { 0 } else { spool.type_of(&file.etype) };
            let out = &mut SpooledRows { spool: &mut spool, etype, listed: None };
            self.read_file(&file.path, files.edge_shape, &file.etype, &columns, out, progress)?;
        }
        let names = listed.iter().map(|file| file.name.as_str());
        let mut edges = ListedEdges::new(names, files.undirected, self.memory / 2);
        for file in &listed {
            let mask = edges.mask(&file.name);
            let etype = if has_relations { 0 } else { spool.type_of(&file.ty) };
            let of_split = Some((&mut edges, mask));
            let out = &mut SpooledRows { spool: &mut spool, etype, listed: of_split };
            let columns = self.columns_of_split(&columns, &file.path)?;
            self.read_file(&file.path, files.split_shape, &file.ty, &columns, out, progress)?;
        }
        spool.divide((!listed.is_empty()).then_some(edges)).map(Some)
    }

    /// The columns of edge data that the file of a split has: it need not have them.
    fn columns_of_split(&self, columns: &[String], path: &Path) -> Result<Vec<String>> {
        let edge_shape = self.files.split_shape;
        let rows = FileRows::open(path, &Ask { wants: Wants::Edges, edge_shape, ..self.ask })?;
        let has = |name: &String| rows.columns().iter().any(|column| column.name == *name);
        let ends = 2 + usize::from(self.files.relation_column.is_some());
        let mut columns = columns.to_vec();
        if rows.file.named {
            columns.retain(has);
        } else {
            columns.truncate(rows.columns().len().saturating_sub(ends));
        }
        Ok(columns)
    }
}
