//! The nodes that can be predicted: how many there are, and what the user calls them.

use std::collections::HashMap;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};
use crate::formats::dgl::Partition;
use crate::formats::dgl::config::PartitionConfig;
use crate::graph::PartitionBook;
use crate::io::open_input;
use crate::load::{original_places, read_mask};
use crate::platform::signals;
use crate::prepare::import::names_file;
use crate::prepare::import::{Lines, Records, parse_id, shown, unquoted};
use crate::run::config::RunConfig;
use crate::run::rank::{NodeOrder, PredictConfig, SplitName};

/// The nodes that can be predicted, in the order of a prediction. A node's place is its index.
#[derive(Clone)]
pub(super) struct NodeSpace<'a> {
    partitions: &'a PartitionConfig,
    order: NodeOrder,
    /// Ids of their node types, ascending.
    ntypes: Vec<usize>,
    /// Whether types follow one another; if not, nodes are in the order of homogeneous ids.
    by_type: bool,
    /// Files with the names of the nodes of each type, if all nodes have names.
    names: Vec<PathBuf>,
}

/// Pairs of nodes, in the order of a file.
pub(super) struct NodePairs {
    /// Places of the two nodes of each pair.
    pub(super) places: Vec<[u64; 2]>,
    /// The words of the file for these nodes.
    pub(super) words: Vec<[Vec<u8>; 2]>,
}

/// The words of a file of pairs, and the number of each line.
struct PairWords {
    words: Vec<[Vec<u8>; 2]>,
    numbers: Vec<u64>,
}

impl PairWords {
    fn read(path: &Path) -> Result<Self> {
        let mut records = Records::open(path)?;
        let (mut words, mut numbers) = (Vec::new(), Vec::new());
        while records.advance()? {
            let fields: Vec<Vec<u8>> = records.fields().map(|field| field.to_vec()).collect();
            let count = fields.len();
            let pair = <[Vec<u8>; 2]>::try_from(fields);
            words
                .push(pair.map_err(|_| records.fail(format!("has {count} fields; a pair has 2")))?);
            numbers.push(records.number());
        }
        if words.is_empty() {
            return Err(Error::input(path, "", "lists no pairs")
                .with_hint("write the ids or names of two nodes on each line"));
        }
        Ok(PairWords { words, numbers })
    }
}

/// The nodes of a list, in its order.
pub(super) struct NodeList {
    /// Places of the nodes.
    pub(super) places: Vec<u64>,
    /// What the list calls them.
    pub(super) words: Vec<Vec<u8>>,
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
    ///
    /// # Errors
    /// If the files hold fewer names than there are nodes.
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
    /// The nodes that a prediction is of.
    pub(super) fn new(
        partitions: &'a PartitionConfig,
        config: &PredictConfig,
        order: NodeOrder,
    ) -> Result<Self> {
        let ntypes = config.node_types(partitions.book())?;
        let by_type = config.run.relations.is_some() || order == NodeOrder::Original;
        Ok(Self::of_types(partitions, ntypes, by_type, order))
    }

    /// The nodes of one type, in the same order.
    pub(super) fn of_type(&self, ntype: usize) -> Self {
        Self::of_types(self.partitions, vec![ntype], true, self.order)
    }

    fn of_types(
        partitions: &'a PartitionConfig,
        ntypes: Vec<usize>,
        by_type: bool,
        order: NodeOrder,
    ) -> Self {
        let book = partitions.book();
        let folder = partitions.path().parent().unwrap_or(Path::new("."));
        let files = ntypes.iter().map(|ntype| names_file(folder, &book.ntypes()[*ntype]));
        let names: Vec<PathBuf> = files.filter(|file| file.exists()).collect();
        // Names are in the original order.
        let all_named = names.len() == ntypes.len() && order == NodeOrder::Original;
        let names = if all_named { names } else { Vec::new() };
        NodeSpace { partitions, order, ntypes, by_type, names }
    }

    /// The partitions of the graph.
    pub(super) fn book(&self) -> &PartitionBook {
        self.partitions.book()
    }

    /// The place of the node that has a place among those of its type.
    fn place(&self, ntype: usize, place: u64) -> Option<u64> {
        let book = self.book();
        if !self.by_type {
            return book.to_homogeneous(ntype, place);
        }
        let before = self.ntypes.iter().filter(|other| **other < ntype);
        Some(before.map(|other| book.num_nodes_of_type(*other)).sum::<u64>() + place)
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
    pub(super) fn typed_pairs(&self, path: &Path, ntypes: [usize; 2]) -> Result<NodePairs> {
        let PairWords { words, numbers } = PairWords::read(path)?;
        let end = |at: usize| -> Result<Vec<u64>> {
            let words: Vec<Vec<u8>> = words.iter().map(|pair| pair[at].clone()).collect();
            let places = self.of_type(ntypes[at]).places_of(path, &words, &numbers)?;
            let missing = || Error::internal("a node has no place".to_owned());
            let places = places.into_iter().map(|place| self.place(ntypes[at], place));
            places.map(|place| place.ok_or_else(missing)).collect()
        };
        let (left, right) = (end(0)?, end(1)?);
        let places = left.into_iter().zip(right).map(|(left, right)| [left, right]).collect();
        Ok(NodePairs { places, words })
    }

    /// The nodes that a file lists, an id or a name on each line.
    pub(super) fn listed(&self, path: &Path) -> Result<NodeList> {
        let mut lines = Lines::open(path)?;
        let (mut words, mut numbers) = (Vec::new(), Vec::new());
        while lines.advance()? {
            words.push(unquoted(lines.text()).into_owned());
            numbers.push(lines.number());
        }
        if words.is_empty() {
            return Err(Error::input(path, "", "lists no nodes")
                .with_hint("write the id or the name of a node on each line"));
        }
        let places = self.places_of(path, &words, &numbers)?;
        Ok(NodeList { places, words })
    }

    /// The pairs of nodes that a file lists, two ids or names on each line.
    pub(super) fn pairs(&self, path: &Path) -> Result<NodePairs> {
        let PairWords { words, numbers } = PairWords::read(path)?;
        let numbers: Vec<u64> = numbers.into_iter().flat_map(|number| [number; 2]).collect();
        let places = self.places_of(path, words.as_flattened(), &numbers)?;
        let places = places.chunks_exact(2).map(|pair| [pair[0], pair[1]]).collect();
        Ok(NodePairs { places, words })
    }

    /// The places of nodes that the lines of a file name.
    fn places_of(&self, path: &Path, words: &[Vec<u8>], numbers: &[u64]) -> Result<Vec<u64>> {
        let fail = |at: usize, problem: String, hint: &str| {
            let line = format!("line {}", numbers[at]);
            Error::input(path, &line, problem).with_hint(hint)
        };
        Ok(if self.has_names() {
            let mut known: HashMap<&[u8], Option<u64>> =
                words.iter().map(|word| (&word[..], None)).collect();
            let mut names = self.names();
            for place in 0..self.len() {
                if let Some(known) = known.get_mut(names.advance()?) {
                    *known = Some(place);
                }
            }
            let places = words.iter().enumerate().map(|(at, word)| {
                let unknown = || {
                    let problem = format!("{} is not the name of a node", shown(word));
                    fail(at, problem, "pass ‹order=partition› to list nodes by their ids there")
                };
                known.get(&word[..]).copied().flatten().ok_or_else(unknown)
            });
            places.collect::<Result<_>>()?
        } else {
            let places = words.iter().enumerate().map(|(at, word)| {
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

    /// The nodes of a mask, ascending.
    pub(super) fn of_split(&self, run: &RunConfig, split: SplitName) -> Result<Vec<u64>> {
        let (key, name) = match split {
            SplitName::Train => (&run.keys.train_mask, "train_mask"),
            SplitName::Val => (&run.keys.val_mask, "val_mask"),
            SplitName::Test => (&run.keys.test_mask, "test_mask"),
        };
        let book = self.partitions.book();
        let (mut places, mut exists) = (Vec::new(), false);
        for part in 0..book.num_parts() {
            signals::check()?;
            let partition = Partition::open(self.partitions, part)?;
            let Some(mask) = read_mask(&partition, key.as_deref(), name)? else { continue };
            exists = true;
            let original = match self.order {
                NodeOrder::Original => original_places(&partition)?,
                NodeOrder::Partition => Vec::new(),
            };
            let first_node = book.node_range(part).start;
            for ntype in &self.ntypes {
                let ids = book.node_type_range(part, *ntype);
                let missing = || Error::internal("a node has no place".to_owned());
                // Types that are not predicted may come before those that are.
                let before = (0..*ntype).filter(|other| !self.ntypes.contains(other));
                let skipped: u64 = before.map(|other| book.num_nodes_of_type(other)).sum();
                let first = book.type_nodes(part, *ntype).first;
                for (place, id) in (first..).zip(ids) {
                    let row = (id - first_node) as usize;
                    if mask[row] {
                        places.push(match original.get(row) {
                            Some(place) => place - skipped,
                            None => self.place(*ntype, place).ok_or_else(missing)?,
                        });
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
