//! Guards against: directories that are written for some shapes of graphs only. Partitions without nodes, types without
//! members, parallel edges, self loops, isolated nodes and halo must all come back.

use crate::support::{InnerEdge, inner_edges};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use sar::formats::dgl::config::PartitionConfig;
use sar::formats::dgl::writer::{FeatureSpec, PartitionWriter};
use sar::formats::dgl::{Partition, verify};
use sar::graph::{CanonicalEtype, PartitionBook};
use sar::io::Dtype;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A random partitioned graph: its book, and the ends of every edge by id.
struct Sample {
    book: Arc<PartitionBook>,
    edges: Vec<(u64, u64)>,
}

fn below(random: &mut ChaCha8Rng, limit: u64) -> u64 {
    random.next_u64() % limit
}

impl Sample {
    fn new(random: &mut ChaCha8Rng) -> Self {
        let (parts, ntypes) = (1 + below(random, 4), 1 + below(random, 3) as usize);
        let names: Vec<String> = (0..ntypes).map(|ty| format!("n{ty}")).collect();
        let etypes: BTreeSet<(usize, usize)> = (0..=below(random, 3))
            .map(|_| (below(random, ntypes as u64) as usize, below(random, ntypes as u64) as usize))
            .collect();
        let etypes: Vec<(usize, usize)> = etypes.into_iter().collect();
        let canonical = etypes.iter().map(|&(s, d)| CanonicalEtype::new(&names[s], "r", &names[d]));
        let canonical: Vec<CanonicalEtype> = canonical.collect();
        let nodes: Vec<Vec<u64>> =
            (0..parts).map(|_| names.iter().map(|_| below(random, 5)).collect()).collect();
        // Only for the owners of nodes.
        let none = vec![vec![0; etypes.len()]; nodes.len()];
        let owners = PartitionBook::new(names.clone(), canonical.clone(), &nodes, &none).unwrap();
        let (mut counts, mut edges) = (none, Vec::new());
        for (part, counts) in counts.iter_mut().enumerate() {
            for (etype, &(s, d)) in etypes.iter().enumerate() {
                let dst = owners.node_type_range(part, d);
                let sources = owners.num_nodes_of_type(s);
                if dst.is_empty() || sources == 0 {
                    continue;
                }
                for _ in 0..below(random, 7) {
                    let src = owners.to_homogeneous(s, below(random, sources)).unwrap();
                    edges.push((src, dst.start + below(random, dst.end - dst.start)));
                    counts[etype] += 1;
                }
            }
        }
        let book = PartitionBook::new(names, canonical, &nodes, &counts).unwrap();
        Sample { book: Arc::new(book), edges }
    }

    /// Writes the graph; feature `gid` of nodes holds global ids, feature `eid` of edges twice the edge id.
    fn write(&self, folder: &Path) -> PathBuf {
        let writer = PartitionWriter::new(folder, "sample", "random", 1, Arc::clone(&self.book));
        for part in 0..self.book.num_parts() {
            self.write_graph(&writer, part);
            let features = specs(self.book.ntypes().len(), "gid", Dtype::I64, &[]);
            let mut file = writer.node_features(part, &features).unwrap();
            for (ty, array) in file.arrays().iter_mut().enumerate() {
                let ids: Vec<i64> =
                    self.book.node_type_range(part, ty).map(|id| id as i64).collect();
                array.append_i64(&ids).unwrap();
            }
            file.finish().unwrap();
            let features = specs(self.book.etypes().len(), "eid", Dtype::F32, &[2]);
            let mut file = writer.edge_features(part, &features).unwrap();
            for (ty, array) in file.arrays().iter_mut().enumerate() {
                for id in self.book.edge_type_range(part, ty) {
                    array.append_f32(&[id as f32, id as f32]).unwrap();
                }
            }
            file.finish().unwrap();
        }
        writer.finish().unwrap()
    }

    fn write_graph(&self, writer: &PartitionWriter, part: usize) {
        let (nodes, inner) = (self.book.node_range(part), self.book.edge_range(part));
        let all = self.edges.iter().copied().enumerate().map(|(id, ends)| (id as u64, ends));
        let halo_edges: Vec<(u64, (u64, u64))> =
            all.filter(|(_, (src, dst))| nodes.contains(src) && !nodes.contains(dst)).collect();
        let own = &self.edges[inner.start as usize..inner.end as usize];
        let ends = own.iter().flat_map(|&(s, d)| [s, d]);
        let ends = ends.chain(halo_edges.iter().flat_map(|&(_, (s, d))| [s, d]));
        let halo: BTreeSet<u64> = ends.filter(|node| !nodes.contains(node)).collect();
        // DGL does not sort halo nodes either.
        let halo: Vec<u64> = halo.into_iter().rev().collect();
        let first_halo = nodes.end - nodes.start;
        let local = |node: u64| match halo.iter().position(|&other| other == node) {
            Some(at) => first_halo + at as u64,
            None => node - nodes.start,
        };
        let count = halo_edges.len() as u64;
        let mut graph = writer.graph(part, halo.len() as u64, count).unwrap();
        graph.append_halo_nodes(&halo).unwrap();
        for &(src, dst) in own {
            graph.append_inner_edges(&[local(src)], &[local(dst)]).unwrap();
        }
        for (id, (src, dst)) in halo_edges {
            graph.append_halo_edges(&[local(src)], &[local(dst)], &[id]).unwrap();
        }
        graph.finish().unwrap();
    }
}

fn specs(types: usize, name: &str, dtype: Dtype, row_shape: &[u64]) -> Vec<FeatureSpec> {
    let spec = |ty| FeatureSpec { ty, name: name.to_owned(), dtype, row_shape: row_shape.to_vec() };
    (0..types).map(spec).collect()
}

#[test]
fn any_partitioned_graph_comes_back_as_it_was() {
    for seed in 0..150 {
        let sample = Sample::new(&mut ChaCha8Rng::seed_from_u64(seed));
        let folder = tempfile::tempdir().unwrap();
        let config = PartitionConfig::open(&sample.write(folder.path())).unwrap();
        assert_eq!(config.book(), &sample.book, "seed {seed}");
        let findings = verify(&config);
        assert!(findings.is_empty(), "seed {seed}: {findings:?}");
        for part in 0..config.parts().len() {
            let partition = Partition::open(&config, part).unwrap();
            let due = sample.book.edge_range(part).map(|id| {
                let etype = sample.book.edge_type(id).unwrap();
                let row = id - sample.book.edge_type_range(part, etype).start;
                let (src, dst) = sample.edges[id as usize];
                InnerEdge { src, dst, id, etype, row }
            });
            assert_eq!(inner_edges(&partition, 4).unwrap(), due.collect::<Vec<_>>(), "seed {seed}");
            for feature in partition.node_features().lookup("gid").unwrap().into_iter().flatten() {
                let range = sample.book.node_type_range(part, feature.ty());
                let mut ids = vec![0; (range.end - range.start) as usize];
                feature.array().read_u64(0..ids.len() as u64, &mut ids).unwrap();
                assert_eq!(ids, range.collect::<Vec<_>>(), "seed {seed}");
            }
        }
    }
}
