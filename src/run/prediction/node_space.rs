//! The nodes that can be predicted: their number, and the user's names for them.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

use super::numbering::Numbering;
use super::words::{FileWords, Words};
use crate::formats::dgl::Partition;
use crate::formats::dgl::config::PartitionConfig;
use crate::graph::{PartitionBook, TypeNodes};
use crate::io::open_input;
use crate::load::{original_ids, read_mask};
use crate::platform::signals;
use crate::prepare::import::names_file;
use crate::prepare::import::{Ask, EdgeShape, FileRows, TextRules, Wants, parse_id, shown};
use crate::run::config::RunConfig;
use crate::run::rank::{NodeOrder, PredictConfig, SplitName};
use crate::words::error::{Error, Result};

/// The nodes that can be predicted, in the order of a prediction. A node's place is its index.
#[derive(Clone)]
pub(super) struct NodeSpace<'a> {
    partitions: &'a PartitionConfig,
    pub(super) numbering: Numbering,
    /// Ids of their node types, ascending.
    ntypes: Vec<usize>,
    /// Whether types follow one another; if not, nodes are in the order of homogeneous ids.
    by_type: bool,
    /// Files with the names of the nodes of each type, if all nodes have names.
    names: Vec<PathBuf>,
    /// Bytes that all processes of the run may take; 0 means no limit.
    budget: u64,
    /// Whether edges between these nodes are predicted.
    of_links: bool,
}

/// The place of a word that calls no node so far, and of one that calls nodes of several types.
const NOWHERE: u64 = u64::MAX;
const SEVERAL: u64 = NOWHERE - 1;

/// Nodes or pairs of nodes, in the order of a file.
pub(super) struct NodeList<P> {
    /// Place of each node, or places of the two nodes of each pair.
    pub(super) places: Vec<P>,
    /// The words of the file for these nodes.
    pub(super) words: Words,
}

/// Reads a file of pairs of nodes of these spaces.
fn pair_words<'p>(path: &'p Path, spaces: &[NodeSpace<'_>], budget: u64) -> Result<FileWords<'p>> {
    let folder = std::env::temp_dir();
    let ids_are_names = spaces.iter().any(NodeSpace::has_names);
    let edge_shape = Some(EdgeShape::TwoColumns);
    let ask = Ask { ids_are_names, edge_shape, ..Ask::new(Wants::Edges, &folder) };
    let names = if ids_are_names { first_names(path, &ask, spaces)? } else { HashSet::new() };
    let is_node = |word: &[u8]| names.contains(word);
    let mut rows = FileRows::open_pairs(path, &Ask { is_node: Some(&is_node), ..ask })?;
    let mut listed = FileWords::new(path, budget);
    while rows.advance()? {
        let [Some(left), Some(right)] = [0, 1].map(|at| rows.value(at).name()) else {
            return Err(rows.fail("a node of the pair is missing"));
        };
        listed.add(&[left, right], &rows)?;
    }
    if listed.numbers.is_empty() {
        return Err(Error::input(path, "", "lists no pairs")
            .with_hint("write the ids or names of two nodes on each line"));
    }
    Ok(listed)
}

/// The names of nodes in the first two lines of a file, which may name its columns.
fn first_names(path: &Path, ask: &Ask<'_>, spaces: &[NodeSpace<'_>]) -> Result<HashSet<Vec<u8>>> {
    let rules = TextRules { header: Some(false), ..TextRules::default() };
    let mut rows = FileRows::open(path, &Ask { rules, ..*ask })?;
    let columns = rows.columns().len();
    rows.select(0..columns)?;
    let mut words = HashSet::new();
    for _ in 0..2 {
        // Reading the pairs reports what is wrong with the file.
        let Ok(true) = rows.advance() else { break };
        words.extend((0..columns).filter_map(|at| rows.value(at).name().map(Cow::into_owned)));
    }
    let mut found = HashSet::new();
    for space in spaces.iter().filter(|space| space.has_names()) {
        let mut names = space.names();
        for _ in 0..space.len() {
            found.extend(words.take(names.advance()?));
        }
    }
    Ok(found)
}

/// The names of nodes while they are read, one after the other.
pub(super) struct NodeNameLines {
    /// Files that are not open yet, and at first all.
    files: Vec<PathBuf>,
    lines: Option<BufReader<File>>,
    line: Vec<u8>,
    count: u64,
    nodes: u64,
}

impl NodeNameLines {
    /// Number of names that have been read.
    pub(super) fn count(&self) -> u64 {
        self.count
    }

    /// The name of the next node.
    pub(super) fn advance(&mut self) -> Result<&[u8]> {
        if self.count.is_multiple_of(1 << 16) {
            signals::check()?;
        }
        loop {
            if let Some(lines) = &mut self.lines {
                self.line.clear();
                let read = lines.read_until(b'\n', &mut self.line);
                if read.map_err(|e| Error::io("read", Path::new("the names of nodes"), e))? > 0 {
                    self.count += 1;
                    return Ok(self.line.strip_suffix(b"\n").unwrap_or(&self.line));
                }
            }
            if self.files.is_empty() {
                let (count, nodes) = (self.count, self.nodes);
                let problem = format!("holds the names of {count} nodes, but there are {nodes}");
                return Err(Error::config("node_names", problem)
                    .with_hint("partition the graph again, or pass ‹order=partition›"));
            }
            let path = self.files.remove(0);
            let file = open_input(&path).map_err(|e| Error::unreadable(&path, &e))?;
            self.lines = Some(BufReader::with_capacity(1 << 20, file));
        }
    }
}

impl<'a> NodeSpace<'a> {
    /// The nodes of a prediction.
    pub(super) fn new(
        partitions: &'a PartitionConfig,
        config: &PredictConfig,
        ntypes: Vec<usize>,
        numbering: Numbering,
    ) -> Self {
        let by_type = config.is_by_type() || numbering.order == NodeOrder::Original;
        let budget = config.run.memory_budget.bytes();
        let of_links = config.run.link.is_some();
        let names = Vec::new();
        NodeSpace { partitions, numbering, ntypes, by_type, names, budget, of_links }.with_names()
    }

    /// The nodes of one type, in the same order.
    pub(super) fn of_type(&self, ntype: usize) -> Self {
        NodeSpace { ntypes: vec![ntype], by_type: true, ..self.clone() }.with_names()
    }

    /// The same nodes with the names that they have in the partition directory.
    fn with_names(self) -> Self {
        let (folder, ntypes) = (self.partitions.folder(), self.book().ntypes());
        let files = self.ntypes.iter().map(|ntype| names_file(folder, &ntypes[*ntype]));
        let names: Vec<PathBuf> = files.filter(|file| file.exists()).collect();
        // Names are in the original order.
        let all_named =
            names.len() == self.ntypes.len() && self.numbering.order == NodeOrder::Original;
        NodeSpace { names: if all_named { names } else { Vec::new() }, ..self }
    }

    /// The partitions of the graph.
    pub(super) fn book(&self) -> &PartitionBook {
        self.partitions.book()
    }

    /// The place of the node that has a place among those of its type.
    fn place(&self, ntype: usize, place: u64) -> Result<u64> {
        let book = self.book();
        if !self.by_type {
            let missing = || Error::internal("a node has no place");
            return book.to_homogeneous(ntype, place).ok_or_else(missing);
        }
        let before = self.ntypes.iter().filter(|other| **other < ntype);
        Ok(before.map(|other| book.num_nodes_of_type(*other)).sum::<u64>() + place)
    }

    /// The type of the nodes, if it is one.
    pub(super) fn only_type(&self) -> Option<&str> {
        match self.ntypes[..] {
            [ntype] => Some(&self.book().ntypes()[ntype]),
            _ => None,
        }
    }

    /// Whether there are nodes of several types.
    pub(super) fn has_types(&self) -> bool {
        self.ntypes.len() > 1
    }

    /// The types of nodes at some places, if there are several, and the ids of these nodes within their types.
    pub(super) fn per_type(&self, places: Vec<u64>) -> Result<(Vec<usize>, Vec<u64>)> {
        if !self.has_types() {
            return Ok((Vec::new(), places));
        }
        let nodes = places.into_iter().map(|place| self.node_at(place));
        Ok(nodes.collect::<Result<Vec<_>>>()?.into_iter().unzip())
    }

    /// The type of the node at a place, and its id within the type.
    pub(super) fn node_at(&self, place: u64) -> Result<(usize, u64)> {
        let book = self.book();
        let mut first = 0;
        let mut among_types = || {
            self.ntypes.iter().find_map(|ntype| {
                let begin = first;
                first += book.num_nodes_of_type(*ntype);
                (place < first).then(|| (*ntype, place - begin))
            })
        };
        let node = if self.by_type { among_types() } else { book.to_per_type(place) };
        node.ok_or_else(|| Error::internal("a place without a node"))
    }

    /// Number of nodes.
    pub(super) fn len(&self) -> u64 {
        let book = self.partitions.book();
        self.ntypes.iter().map(|ntype| book.num_nodes_of_type(*ntype)).sum()
    }

    /// Whether nodes have names.
    pub(super) fn has_names(&self) -> bool {
        !self.names.is_empty()
    }

    /// The names of all nodes, by place.
    pub(super) fn names(&self) -> NodeNameLines {
        NodeNameLines {
            files: self.names.clone(),
            lines: None,
            line: Vec::new(),
            count: 0,
            nodes: self.len(),
        }
    }

    /// The pairs of a node of one type and a node of another that a file lists, each by its id or name among those of its type.
    pub(super) fn typed_pairs(
        &self,
        path: &Path,
        ntypes: [usize; 2],
    ) -> Result<NodeList<[u64; 2]>> {
        let listed = pair_words(path, &ntypes.map(|ntype| self.of_type(ntype)), self.budget)?;
        let end = |at: usize| -> Result<Vec<u64>> {
            let words = listed.words.all().skip(at).step_by(2);
            let places = self.of_type(ntypes[at]).places_of(&listed, words, 1)?;
            places.into_iter().map(|place| self.place(ntypes[at], place)).collect()
        };
        let (left, right) = (end(0)?, end(1)?);
        let places = left.into_iter().zip(right).map(|(left, right)| [left, right]).collect();
        Ok(NodeList { places, words: listed.words })
    }

    /// The nodes that a file lists, an id or a name on each line.
    pub(super) fn listed(&self, path: &Path) -> Result<NodeList<u64>> {
        let folder = std::env::temp_dir();
        let ask = Ask { ids_are_names: self.has_names(), ..Ask::new(Wants::List, &folder) };
        let mut rows = FileRows::open_list(path, &ask)?;
        let mut listed = FileWords::new(path, self.budget);
        while rows.advance()? {
            let word = rows.value(0).name().ok_or_else(|| rows.fail("the node is missing"))?;
            listed.add(&[word], &rows)?;
        }
        if listed.numbers.is_empty() {
            return Err(Error::input(path, "", "lists no nodes")
                .with_hint("write the id or the name of a node on each line"));
        }
        let places = self.places_of(&listed, listed.words.all(), 1)?;
        Ok(NodeList { places, words: listed.words })
    }

    /// The places of the nodes that a file lists; if no file has this name, of the node with this id or name.
    pub(super) fn listed_or_named(&self, value: &Path) -> Result<Vec<u64>> {
        if value.exists() {
            return Ok(self.listed(value)?.places);
        }
        let word = value.as_os_str().as_encoded_bytes();
        self.places(std::iter::once(word), |_, problem, hint| {
            Error::config("of", format!("no file has this name, and {problem}")).with_hint(hint)
        })
    }

    /// The pairs of nodes that a file lists, two ids or names on each line.
    pub(super) fn pairs(&self, path: &Path) -> Result<NodeList<[u64; 2]>> {
        let listed = pair_words(path, std::slice::from_ref(self), self.budget)?;
        let places = self.places_of(&listed, listed.words.all(), 2)?;
        let places = places.as_chunks::<2>().0.to_vec();
        Ok(NodeList { places, words: listed.words })
    }

    /// The places of nodes that a file lists by these words, `per_line` on each line.
    fn places_of<'w>(
        &self,
        listed: &FileWords<'_>,
        words: impl Iterator<Item = &'w [u8]> + Clone,
        per_line: usize,
    ) -> Result<Vec<u64>> {
        self.places(words, |at, problem, hint| {
            let line = format!("line {}", listed.numbers[at / per_line]);
            Error::input(listed.path, &line, problem).with_hint(hint)
        })
    }

    /// The places of nodes by their ids or names. `fail` makes an error of the number of a word, the problem and a remedy.
    fn places<'w>(
        &self,
        words: impl Iterator<Item = &'w [u8]> + Clone,
        fail: impl Fn(usize, String, &str) -> Error,
    ) -> Result<Vec<u64>> {
        Ok(if self.has_names() {
            let mut known: HashMap<&[u8], u64> = HashMap::new();
            // The map grows with the number of different words, which may be far less than that of all.
            for word in words.clone() {
                known.insert(word, NOWHERE);
            }
            let mut names = self.names();
            for place in 0..self.len() {
                if let Some(known) = known.get_mut(names.advance()?) {
                    *known = if *known == NOWHERE { place } else { SEVERAL };
                }
            }
            let hint = if self.of_links {
                "list ids there with ‹order=partition›, or train with ‹link.target_etype=TYPE›"
            } else {
                "choose one with ‹target_type=TYPE›"
            };
            let places = words.enumerate().map(|(at, word)| {
                let unknown = || {
                    let problem = format!("{} is not the name of a node", shown(word));
                    fail(at, problem, "pass ‹order=partition› to list nodes by their ids there")
                };
                match known.get(word) {
                    None | Some(&NOWHERE) => Err(unknown()),
                    Some(&SEVERAL) => {
                        let problem =
                            format!("{} is the name of nodes of several types", shown(word));
                        Err(fail(at, problem, hint))
                    }
                    Some(&place) => Ok(place),
                }
            });
            places.collect::<Result<_>>()?
        } else {
            let places = words.enumerate().map(|(at, word)| {
                let id = parse_id(word).ok_or_else(|| {
                    let problem = format!("{} is not a node id", shown(word));
                    fail(at, problem, "the nodes of this graph have no names, so list their ids")
                })?;
                if id < self.len() {
                    return Ok(id);
                }
                let problem =
                    format!("node {id} is beyond the {} nodes that can be predicted", self.len());
                Err(fail(at, problem, "ids begin with 0"))
            });
            places.collect::<Result<_>>()?
        })
    }

    /// The nodes that were added to the graph, ascending; `counts` are their numbers by type.
    pub(super) fn new_nodes(&self, counts: &[u64]) -> Result<Vec<u64>> {
        let book = self.partitions.book();
        let mut places = Vec::new();
        for ntype in &self.ntypes {
            let end = book.num_nodes_of_type(*ntype);
            for id in end - counts.get(*ntype).copied().unwrap_or(0)..end {
                places.push(self.place(*ntype, id)?);
            }
        }
        places.sort_unstable();
        if places.is_empty() {
            let problem = "no new node is of a type that can be predicted";
            return Err(
                Error::config("add_nodes", problem).with_hint("list nodes with ‹nodes=FILE›")
            );
        }
        Ok(places)
    }

    /// The nodes of a mask, ascending.
    pub(super) fn of_split(&self, run: &RunConfig, split: SplitName) -> Result<Vec<u64>> {
        let [train, val, test] = run.keys.masks();
        let (name, key) = match split {
            SplitName::All => return Ok((0..self.len()).collect()),
            SplitName::Train => train,
            SplitName::Val => val,
            SplitName::Test => test,
        };
        let book = self.partitions.book();
        let (mut places, mut exists) = (Vec::new(), false);
        for part in 0..book.num_parts() {
            signals::check()?;
            let partition = Partition::open(self.partitions, part)?;
            let Some(mask) = read_mask(&partition, key, name)? else { continue };
            exists = true;
            let first_node = book.node_range(part).start;
            for ntype in &self.ntypes {
                let ids = book.node_type_range(part, *ntype);
                let own: Vec<u64> = match self.numbering.order {
                    NodeOrder::Original => original_ids(&partition, *ntype)?,
                    NodeOrder::Partition => {
                        let TypeNodes { first, own, .. } = book.type_nodes(part, *ntype);
                        (first..).take(own).collect()
                    }
                };
                for (own, id) in own.into_iter().zip(ids) {
                    if mask[(id - first_node) as usize] {
                        places.push(self.place(*ntype, own)?);
                    }
                }
            }
        }
        if places.is_empty() {
            let problem = if exists {
                format!(
                    "the {} mask has no nodes that can be predicted",
                    name.trim_end_matches("_mask")
                )
            } else {
                format!("the graph has no {name}")
            };
            return Err(Error::config("split", problem)
                .with_hint("list the nodes in a file, and pass ‹nodes=FILE›"));
        }
        places.sort_unstable();
        Ok(places)
    }
}
