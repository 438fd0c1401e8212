//! GraphBolt `OnDiskDataset` data sets: a `metadata.yaml` that names files.

use std::path::{Path, PathBuf};

use crate::formats::graphbolt::{Data, EdgeEntry, Metadata, NodeEntry, SEEDS, SET_LABELS, Set};
use crate::graph::CanonicalEtype;
use crate::prepare::import::files::{DataFile, EdgeFile, GraphFiles, ListedLabels, NODE, edge};
use crate::prepare::import::readers::EdgeShape;
use crate::words::error::{Error, Result};

impl GraphFiles {
    /// Reads which files a `metadata.yaml` names, as its author wrote it. If it has several tasks, the first is read.
    ///
    /// # Errors
    /// If the file cannot be read, is not of this format, or names arrays of an unsupported kind.
    pub fn of_on_disk_dataset(path: &Path) -> Result<Self> {
        let metadata = Metadata::read(path)?;
        let folder = path.parent().unwrap_or(Path::new(""));
        let set = DataSet { path, folder };
        if metadata.edge_data.is_some() {
            return Err(Error::input(path, "", "describes a CSVDataset of DGL, which is not read")
                .with_hint(
                    "pass its files: ‹edges=edges.csv›, ‹node_table=nodes.csv›, ‹id=node_id› and ‹label=label›",
                ));
        }
        let graph = metadata.graph.ok_or_else(|| {
            Error::input(path, "graph", "lists no files of edges")
                .with_hint("pass the metadata.yaml that is not in preprocessed/")
        })?;
        let mut files = GraphFiles {
            layout: Some(folder.to_owned()),
            edge_shape: Some(EdgeShape::TwoRows),
            split_shape: Some(EdgeShape::TwoColumns),
            ..GraphFiles::default()
        };
        let of_nodes = |ty: Option<&String>| ty.map_or(NODE.to_owned(), Clone::clone);
        for NodeEntry { r#type, num } in &graph.nodes {
            files.layout_nodes.push((of_nodes(r#type.as_ref()), *num));
        }
        for EdgeEntry { r#type, path, .. } in &graph.edges {
            let etype = set.etype(r#type.as_ref())?;
            files.edges.push(EdgeFile { etype, path: folder.join(path) });
        }
        for data in &metadata.feature_data {
            let name = data.name.clone().unwrap_or_default();
            let ty = data.r#type.as_ref();
            match data.domain.as_deref() {
                Some("node") => {
                    let file = DataFile::new(of_nodes(ty), &name, &set.array(data)?);
                    files.node_data.push(file);
                }
                Some("edge") => {
                    let file = DataFile::new(set.etype(ty)?, &name, &set.array(data)?);
                    files.edge_data.push(file);
                }
                _ => files.notes.push(format!("{}: {name} is left out", path.display())),
            }
        }
        let mut tasks = metadata.tasks.iter();
        if let Some(task) = tasks.next() {
            let sets = [
                ("train", &task.train_set),
                ("val", &task.validation_set),
                ("test", &task.test_set),
            ];
            for (name, parts) in sets {
                for part in parts {
                    set.add_part(name, part, &mut files)?;
                }
            }
        }
        let names = tasks.map(|task| task.name.clone().unwrap_or_default());
        let others: Vec<String> = names.collect();
        if !others.is_empty() {
            files.notes.push(format!("{}: left out: {}", path.display(), others.join(", ")));
        }
        Ok(files)
    }
}

/// Place of a data set.
struct DataSet<'p> {
    path: &'p Path,
    folder: &'p Path,
}

impl DataSet<'_> {
    fn etype(&self, ty: Option<&String>) -> Result<CanonicalEtype> {
        let Some(ty) = ty else { return Ok(edge()) };
        CanonicalEtype::parse(ty)
            .ok_or_else(|| Error::input(self.path, ty, "is not an edge type: SRC:REL:DST"))
    }

    /// The file of an array; for an array that torch wrote, GraphBolt's copy.
    fn array(&self, data: &Data) -> Result<PathBuf> {
        let path = self.folder.join(&data.path);
        if data.format.as_deref() != Some("torch") {
            return Ok(path);
        }
        let copy = self.folder.join("preprocessed").join(&data.path).with_extension("npy");
        if copy.is_file() {
            return Ok(copy);
        }
        Err(Error::input(&path, "", "is a file of torch, which is not read").with_hint(
            "load the data set once with gb.OnDiskDataset, which writes preprocessed/, or convert the file in Python: \
             numpy.save(\"x.npy\", torch.load(\"x.pt\").numpy())",
        ))
    }

    /// Adds a set's nodes or edges as a split, and its nodes' labels.
    fn add_part(&self, split: &str, part: &Set, files: &mut GraphFiles) -> Result<()> {
        let find = |names: &[&str]| {
            let is = |data: &&Data| data.name.as_deref().is_some_and(|name| names.contains(&name));
            part.data.iter().find(is)
        };
        let known = [SEEDS, "seed_nodes", "node_pairs", SET_LABELS];
        let other = part
            .data
            .iter()
            .find(|data| !data.name.as_deref().is_some_and(|name| known.contains(&name)));
        let labels = find(&[SET_LABELS]);
        let ty = part.r#type.clone().unwrap_or(NODE.to_owned());
        let is_edges = CanonicalEtype::parse(&ty).is_some() || find(&["node_pairs"]).is_some();
        if let Some(data) = other.or(labels.filter(|_| is_edges)) {
            let name = data.name.as_deref().unwrap_or("an array without a name");
            let problem = format!("the set {split} has {name}, which is not read");
            return Err(Error::input(self.path, "tasks", problem).with_hint(
                "a set lists nodes as seeds, with labels, or edges of the graph as seeds; leave out others",
            ));
        }
        let Some(seeds) = find(&known[..3]) else {
            let problem = format!("the set {split} has no {SEEDS}");
            return Err(Error::input(self.path, "tasks", problem)
                .with_hint("call the array of its nodes or edges seeds, or leave the set out"));
        };
        let nodes = self.array(seeds)?;
        if let Some(labels) = labels {
            let (ty, nodes, labels) = (ty.clone(), nodes.clone(), self.array(labels)?);
            files.listed_labels.push(ListedLabels { ty, nodes, labels });
        }
        files.splits.push(DataFile::new(ty, split, &nodes));
        Ok(())
    }
}
