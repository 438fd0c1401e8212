//! The whole graph, read by requests to the ranks that own its partitions.

use std::ops::Range;
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;

use tch::{Kind, Tensor};

use super::draws::SampleKey;
use super::graph_source::GraphSource;
use super::index_writer::{out_degrees, write_index};
use super::neighbor_index::{IndexConfig, NeighborIndex};
use super::sample::Sampling;
use super::sorted::Sorted;
use crate::engine::array::{ArrayLayout, Elements};
use crate::engine::comm::{Hooks, ProcessGroup, all_to_all, exchange_tensors};
use crate::engine::tensor;
use crate::formats::dgl::Partition;
use crate::formats::dgl::config::PartitionConfig;
use crate::graph::{InEdges, PartitionBook};
use crate::io::{DiskStorage, Dtype, IoCounters};
use crate::load::{EdgeFeatures, NodeColumn, Reachable};
use crate::words::error::{Error, Result};

/// A partitioned graph of which each rank reads its own partition and requests the others' data from their ranks, as
/// SAR samples. Every method of [`GraphSource`] takes two or three collectives, which all ranks run together whatever
/// they request. Results equal those of [`DistGraph`](super::DistGraph) bit for bit.
pub struct CollectiveGraph {
    config: PartitionConfig,
    index: NeighborIndex,
    counters: IoCounters,
    group: Rc<dyn ProcessGroup>,
    hooks: Rc<dyn Hooks>,
}

impl CollectiveGraph {
    /// Writes the index of the rank's partition into `folder`, which the caller removes, and opens it. One collective.
    ///
    /// # Errors
    /// If the number of ranks differs from the number of partitions, or as for [`write_index`].
    pub fn create(
        config: &PartitionConfig,
        keys: &IndexConfig,
        folder: &Path,
        group: Rc<dyn ProcessGroup>,
        hooks: Rc<dyn Hooks>,
    ) -> Result<Self> {
        let (book, part) = (config.book(), group.rank());
        if group.world_size() != book.num_parts() {
            let problem = format!("{} for {} partitions", group.world_size(), book.num_parts());
            return Err(Error::config("ranks", problem)
                .with_hint("a graph that is not reachable by file needs one rank per partition"));
        }
        let (storage, counters) = (DiskStorage::default(), IoCounters::default());
        let partition = Partition::open(config, part)?;
        let ours = out_degrees(std::slice::from_ref(&partition), book.num_nodes())?;
        let parts = (0..book.num_parts()).map(|part| book.node_range(part));
        let counts = parts.map(|nodes| {
            let counts = &ours[nodes.start as usize..nodes.end as usize];
            Ok(Tensor::f_from_slice(bytemuck::cast_slice::<u32, i32>(counts))?)
        });
        let mut degrees =
            vec![0; (book.node_range(part).end - book.node_range(part).start) as usize];
        for counts in exchange_tensors(&*group, counts.collect::<Result<_>>()?, &*hooks)? {
            let counts = tensor::slice::<i32>(&counts);
            degrees.iter_mut().zip(counts.iter()).for_each(|(sum, count)| *sum += *count as u32);
        }
        write_index(&partition, &degrees, keys, None, folder, &storage, &counters)?;
        Self::open(config, keys, folder, group, hooks)
    }

    /// Opens the graph with the index that [`write_index`] wrote into `folder` for the rank's partition.
    ///
    /// # Errors
    /// If the index is missing or its length does not match its partition.
    pub fn open(
        config: &PartitionConfig,
        keys: &IndexConfig,
        folder: &Path,
        group: Rc<dyn ProcessGroup>,
        hooks: Rc<dyn Hooks>,
    ) -> Result<Self> {
        let (book, part, counters) = (config.book(), group.rank(), IoCounters::default());
        let storage = DiskStorage::default();
        let index = NeighborIndex::open(book, part, keys, folder, &storage, counters.clone())?;
        Ok(CollectiveGraph { config: config.clone(), index, counters, group, hooks })
    }

    /// The partitions whose files this rank can read, for columns that are passed to [`rows`](GraphSource::rows).
    pub fn reachable(&self) -> Reachable<'_> {
        Reachable::only(&self.config, self.group.rank())
    }

    /// A node feature; only the rank's own rows are read.
    ///
    /// # Errors
    /// If there is no such feature, or its file cannot be read (`Input`).
    pub fn ndata(&self, key: &str) -> Result<NodeColumn> {
        NodeColumn::named(self.reachable(), key, self.counters.clone())
    }

    /// A feature of edges; only the rank's own rows are read.
    ///
    /// # Errors
    /// If there is no such feature, or its file cannot be read (`Input`).
    pub fn edata(&self, key: &str) -> Result<EdgeFeatures> {
        EdgeFeatures::find(self.reachable(), key, self.counters.clone())
    }

    /// Sends every rank the ids it owns, counted inside its partition, after a header of `N` numbers; returns, by rank,
    /// the header and the ids that it requests from this rank.
    fn ask<const N: usize>(
        &self,
        sorted: &Sorted,
        range_of: impl Fn(usize) -> Range<u64>,
        header: [u64; N],
    ) -> Result<Vec<([u64; N], Vec<u64>)>> {
        let mut questions = vec![header.to_vec(); self.group.world_size()];
        sorted.each_part(questions.len(), range_of, |part, local, _| {
            questions[part].extend_from_slice(local);
            Ok(())
        })?;
        let asked = self.exchange(questions)?.into_iter().map(|question| {
            let header = question.first_chunk().copied();
            let header = header.ok_or_else(|| Error::internal("a request is cut short"))?;
            Ok((header, question[N..].to_vec()))
        });
        asked.collect()
    }

    /// Sends a list of numbers to every rank and returns theirs.
    fn exchange(&self, lists: Vec<Vec<u64>>) -> Result<Vec<Vec<u64>>> {
        let lists = lists
            .into_iter()
            .map(|list| Ok(Tensor::f_from_slice(bytemuck::cast_slice::<u64, i64>(&list))?));
        let theirs = exchange_tensors(&*self.group, lists.collect::<Result<_>>()?, &*self.hooks)?;
        let theirs = theirs.iter().map(tensor::slice::<i64>);
        Ok(theirs.map(|list| bytemuck::cast_slice(&list).to_vec()).collect())
    }

    /// The parts of `sorted` by partition, as the original positions of the ids.
    fn places(
        &self,
        sorted: &Sorted,
        range_of: impl Fn(usize) -> Range<u64>,
    ) -> Result<Vec<Vec<u32>>> {
        let mut all = vec![Vec::new(); self.group.world_size()];
        sorted.each_part(all.len(), range_of, |part, _, places| {
            all[part] = places.to_vec();
            Ok(())
        })?;
        Ok(all)
    }

    fn nodes_of(&self, part: usize) -> Range<u64> {
        self.book().node_range(part)
    }

    fn sorted_nodes(&self, nodes: &[u64]) -> Result<Sorted> {
        Sorted::new(nodes, "node", self.book().num_nodes())
    }

    /// Requests `width` numbers per id from the owners of `sorted`, and passes them to `visit` with the id's original
    /// position. `answer` returns the numbers for own ids.
    fn numbers(
        &self,
        sorted: &Sorted,
        range_of: impl Fn(usize) -> Range<u64> + Copy,
        answer: impl Fn(&[u64]) -> Result<Vec<u64>>,
        mut visit: impl FnMut(usize, &[u64]),
    ) -> Result<()> {
        let asked = self.ask(sorted, range_of, [])?;
        let answers = asked.iter().map(|([], ids)| answer(ids)).collect::<Result<_>>()?;
        let answers = self.exchange(answers)?;
        for (places, answer) in self.places(sorted, range_of)?.iter().zip(&answers) {
            if places.is_empty() {
                continue;
            }
            let width = answer.len() / places.len();
            if width * places.len() != answer.len() || width == 0 {
                return Err(Error::internal("an answer has the wrong length"));
            }
            for (place, values) in places.iter().zip(answer.chunks_exact(width)) {
                visit(*place as usize, values);
            }
        }
        Ok(())
    }

    /// Rows by id, in the original order. `read` reads own rows; `layout` returns element type and shape of an array of
    /// rows.
    fn rows_of(
        &self,
        sorted: &Sorted,
        range_of: impl Fn(usize) -> Range<u64> + Copy,
        read: impl Fn(&[u64]) -> Result<Tensor>,
        layout: impl Fn(usize) -> ArrayLayout,
    ) -> Result<Tensor> {
        let first = range_of(self.group.rank()).start;
        let asked = self.ask(sorted, range_of, [])?;
        let answers = asked
            .into_iter()
            .map(|([], ids)| read(&ids.iter().map(|id| first + id).collect::<Vec<_>>()));
        let answers: Vec<Tensor> = answers.collect::<Result<_>>()?;
        let places = self.places(sorted, range_of)?;
        let sizes: Vec<_> = places.iter().map(|places| layout(places.len())).collect();
        let answers = all_to_all(&*self.group, answers, &sizes, &*self.hooks)?;
        let count = places.iter().map(Vec::len).sum();
        let mut rows = Tensor::from_elements(&layout(count), |_| Ok(()))?;
        for (places, answer) in places.iter().zip(&answers) {
            let places: Vec<i64> = places.iter().map(|place| i64::from(*place)).collect();
            let _same = rows.f_index_copy_(0, &Tensor::f_from_slice(&places)?, answer)?;
        }
        Ok(rows)
    }

    /// One number per node; `own` returns the numbers of own nodes.
    fn degrees(&self, nodes: &[u64], own: impl Fn(&[u64]) -> Result<Vec<u64>>) -> Result<Vec<u64>> {
        let mut degrees = vec![0; nodes.len()];
        self.numbers(
            &self.sorted_nodes(nodes)?,
            |part| self.nodes_of(part),
            own,
            |i, values| degrees[i] = values[0],
        )?;
        Ok(degrees)
    }
}

impl GraphSource for CollectiveGraph {
    fn book(&self) -> &Arc<PartitionBook> {
        self.config.book()
    }

    fn sample_neighbors(&self, nodes: &[u64], how: &Sampling, key: SampleKey) -> Result<InEdges> {
        let sorted = self.sorted_nodes(nodes)?;
        let SampleKey { seed, epoch, batch, layer } = key;
        let header = [seed, epoch.into(), batch.into(), layer.into()];
        let asked = self.ask(&sorted, |part| self.nodes_of(part), header)?;
        let first = self.nodes_of(self.group.rank()).start;
        let (mut edges, mut weights) = (Vec::new(), Vec::new());
        for ([seed, epoch, batch, layer], nodes) in asked {
            let [epoch, batch, layer] = [epoch, batch, layer].map(|number| number as u32);
            let key = SampleKey { seed, epoch, batch, layer };
            let drawn = self.index.sample(&nodes, first, how, key)?;
            let counts = drawn.counts.iter().map(|count| u64::from(*count));
            edges.push(counts.chain(drawn.sources).chain(drawn.edges).collect());
            weights.push(Tensor::f_from_slice(&drawn.weights)?);
        }
        let answers = self.exchange(edges)?;
        let places = self.places(&sorted, |part| self.nodes_of(part))?;
        let mut parts = Vec::with_capacity(answers.len());
        for (places, answer) in places.iter().zip(&answers) {
            parts.push(in_edges(places.len(), answer)?);
        }
        if self.index.has_weights() {
            let sizes: Vec<_> = parts
                .iter()
                .map(|p| ArrayLayout::new(Dtype::F32, &[p.edges.len() as i64]))
                .collect();
            let weights = all_to_all(&*self.group, weights, &sizes, &*self.hooks)?;
            for (part, weights) in parts.iter_mut().zip(&weights) {
                part.weights = tensor::slice::<f32>(weights).to_vec();
            }
        }
        Ok(sorted.restore(&parts))
    }

    fn in_degrees(&self, nodes: &[u64]) -> Result<Vec<u64>> {
        self.degrees(nodes, |nodes| self.index.in_degrees(nodes))
    }

    fn out_degrees(&self, nodes: &[u64]) -> Result<Vec<u64>> {
        self.degrees(nodes, |nodes| self.index.out_degrees(nodes))
    }

    fn find_edges(&self, edges: &[u64]) -> Result<(Vec<u64>, Vec<u64>)> {
        let (mut sources, mut destinations) = (vec![0; edges.len()], vec![0; edges.len()]);
        let sorted = Sorted::new(edges, "edge", self.book().num_edges())?;
        let first = self.nodes_of(self.group.rank()).start;
        let answer = |edges: &[u64]| {
            let mut ends = Vec::with_capacity(2 * edges.len());
            self.index.ends(edges, |_, [source, destination]| {
                ends.extend([u64::from(source), first + u64::from(destination)]);
            })?;
            Ok(ends)
        };
        self.numbers(
            &sorted,
            |part| self.book().edge_range(part),
            answer,
            |i, ends| {
                (sources[i], destinations[i]) = (ends[0], ends[1]);
            },
        )?;
        Ok((sources, destinations))
    }

    fn rows(&self, column: &NodeColumn, nodes: &[u64]) -> Result<Tensor> {
        let sorted = self.sorted_nodes(nodes)?;
        let (read, layout) = (|nodes: &[u64]| column.read(nodes), |rows| column.layout(rows));
        self.rows_of(&sorted, |part| self.nodes_of(part), read, layout)
    }

    fn edge_rows(&self, features: &EdgeFeatures, edges: &[u64]) -> Result<Tensor> {
        let sorted = Sorted::new(edges, "edge", self.book().num_edges())?;
        let read = |edges: &[u64]| features.read(edges, Kind::Float);
        let layout = |rows| ArrayLayout::new(Dtype::F32, &[rows as i64, features.width()]);
        self.rows_of(&sorted, |part| self.book().edge_range(part), read, layout)
    }
}

/// Parses the drawn edges of `nodes` nodes: counts, then sources, then edges.
fn in_edges(nodes: usize, answer: &[u64]) -> Result<InEdges> {
    let (counts, ends) = answer
        .split_at_checked(nodes)
        .filter(|(counts, ends)| ends.len() as u64 == 2 * counts.iter().sum::<u64>())
        .ok_or_else(|| Error::internal("an answer has the wrong length"))?;
    let (sources, edges) = ends.split_at(ends.len() / 2);
    let counts = counts.iter().map(|count| *count as u32).collect();
    Ok(InEdges { counts, sources: sources.to_vec(), edges: edges.to_vec(), weights: Vec::new() })
}
