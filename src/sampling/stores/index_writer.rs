//! Writes a partition's in-edges by destination, from files in any order.

use std::path::Path;

use super::neighbor_index::{IndexConfig, Layout, Record};
use crate::formats::dgl::{InnerEdge, Partition};
use crate::io::{IoCounters, Storage};
use crate::load::edge_columns;
use crate::words::error::{Error, Result};

/// Writes the index of a partition into `folder`, for [`NeighborIndex::open`](super::NeighborIndex::open).
/// `out_degrees` holds the out-degree of each of the partition's nodes over the whole graph; with
/// [`IndexConfig::drawn`], `drawn` holds a probability per edge of the partition, by index. Takes 8 bytes of memory per
/// edge, 16 with [`IndexConfig::ends`], or 20 with edge features.
///
/// # Errors
/// If edges or edge features cannot be read, a probability is negative or not finite, the graph has more than 2^32 nodes or
/// the partition more than 2^32 edges, or the file cannot be written.
pub fn write_index(
    partition: &Partition,
    out_degrees: &[u32],
    keys: &IndexConfig,
    drawn: Option<&[f32]>,
    folder: &Path,
    storage: &dyn Storage,
    counters: &IoCounters,
) -> Result<()> {
    let layout = Layout::new(partition.book(), partition.part(), keys)?;
    if out_degrees.len() as u64 != layout.num_nodes {
        let problem = format!("{} out-degrees for {} nodes", out_degrees.len(), layout.num_nodes);
        return Err(Error::internal(problem));
    }
    let fits = match drawn {
        Some(drawn) => keys.probability.is_none() && drawn.len() as u64 == layout.num_edges,
        None => true,
    };
    if keys.drawn != drawn.is_some() || !fits {
        let problem = "the list of probabilities does not match the index";
        return Err(Error::internal(problem.to_owned()));
    }
    let mut starts = row_starts(partition, &layout)?;
    let mut records = vec![[0; 2]; layout.num_edges as usize];
    let has_features = keys.weight.is_some() || keys.probability.is_some();
    let mut feature_rows = vec![0_u32; if has_features { records.len() } else { 0 }];
    fill(partition, &layout, &mut starts, &mut records, &mut feature_rows)?;
    // Filling has moved every start to the end of its row; shifted by one place, these are the starts again.
    starts.rotate_right(1);
    starts[0] = 0;

    let path = Layout::path(folder, partition.part());
    let mut file = storage.create(&path).map_err(|e| Error::io("create", &path, e))?;
    let failed = |e| Error::io("write", &path, e);
    let mut write = |bytes: &[u8]| {
        counters.wrote(bytes.len() as u64);
        file.write(bytes).map_err(failed)
    };
    write(bytemuck::cast_slice(&starts))?;
    write(bytemuck::cast_slice(out_degrees))?;
    write(bytemuck::cast_slice(&records))?;
    let column = |key: &str| column(partition, &layout, key, &records, &feature_rows);
    if let Some(key) = &keys.weight {
        write(bytemuck::cast_slice(&column(key)?))?;
    }
    if let Some(key) = &keys.probability {
        let values = column(key)?;
        if let Some(bad) = values.iter().find(|p| !(**p >= 0.0 && p.is_finite())) {
            let problem = format!("holds {bad}, but a probability must be finite and at least 0");
            return Err(Error::input(partition.edge_features().path(), key, problem)
                .with_hint("name another edge feature; probabilities need not sum to 1"));
        }
        write(bytemuck::cast_slice(&values))?;
    }
    if let Some(drawn) = drawn {
        let values: Vec<f32> = records.iter().map(|[_, edge]| drawn[*edge as usize]).collect();
        write(bytemuck::cast_slice(&values))?;
    }
    if keys.ends {
        write(bytemuck::cast_slice(&ends(&starts, &records)))?;
    }
    file.finish().map(drop).map_err(failed)
}

/// Start of the in-edges of each node, and the number of edges at the end.
fn row_starts(partition: &Partition, layout: &Layout) -> Result<Vec<u64>> {
    let mut starts = vec![0_u64; layout.num_nodes as usize + 1];
    each_edge(partition, |row, _, _| starts[row + 1] += 1)?;
    for row in 1..starts.len() {
        starts[row] += starts[row - 1];
    }
    Ok(starts)
}

/// Puts every edge into its row; rows are sorted by edge id, whatever the order of the file.
fn fill(
    partition: &Partition,
    layout: &Layout,
    starts: &mut [u64],
    records: &mut [Record],
    feature_rows: &mut [u32],
) -> Result<()> {
    each_edge(partition, |row, record, feature_row| {
        let place = starts[row] as usize;
        starts[row] += 1;
        records[place] = record;
        if let Some(slot) = feature_rows.get_mut(place) {
            *slot = feature_row;
        }
    })?;
    let mut begin = 0;
    for &end in &starts[..layout.num_nodes as usize] {
        let row = begin..end as usize;
        begin = row.end;
        if !records[row.clone()].is_sorted_by_key(|[_, edge]| *edge) {
            if feature_rows.is_empty() {
                records[row].sort_unstable_by_key(|[_, edge]| *edge);
            } else {
                let pairs = records[row.clone()]
                    .iter()
                    .copied()
                    .zip(feature_rows[row.clone()].iter().copied());
                let mut pairs: Vec<_> = pairs.collect();
                pairs.sort_unstable_by_key(|([_, edge], _)| *edge);
                for (place, (record, feature_row)) in row.zip(pairs) {
                    (records[place], feature_rows[place]) = (record, feature_row);
                }
            }
        }
    }
    Ok(())
}

/// Out-degree of every node of the graph, from all partitions' edges; takes 4 bytes of memory per node.
pub(super) fn out_degrees(partitions: &[Partition], num_nodes: u64) -> Result<Vec<u32>> {
    let mut degrees = vec![0; num_nodes as usize];
    for partition in partitions {
        each_edge(partition, |_, [source, _], _| degrees[source as usize] += 1)?;
    }
    Ok(degrees)
}

/// Passes the destination, the record and the feature row of every inner edge to `visit`.
fn each_edge(partition: &Partition, mut visit: impl FnMut(usize, Record, u32)) -> Result<()> {
    let (book, part) = (partition.book(), partition.part());
    let (first_node, first_edge) = (book.node_range(part).start, book.edge_range(part).start);
    partition.each_edge(|InnerEdge { src, dst, row, id, .. }| {
        visit((dst - first_node) as usize, [src as u32, (id - first_edge) as u32], row as u32);
        Ok(())
    })
}

/// Source (global) and destination (counted inside the partition) of each edge, by its index.
fn ends(starts: &[u64], records: &[Record]) -> Vec<Record> {
    let mut ends = vec![[0; 2]; records.len()];
    for (node, row) in starts.windows(2).enumerate() {
        for [source, edge] in &records[row[0] as usize..row[1] as usize] {
            ends[*edge as usize] = [*source, node as u32];
        }
    }
    ends
}

/// One value per record, from the feature of the edge's type.
fn column(
    partition: &Partition,
    layout: &Layout,
    key: &str,
    records: &[Record],
    feature_rows: &[u32],
) -> Result<Vec<f32>> {
    let by_type = edge_columns(partition, key)?;
    let value = |(record, row): (&Record, &u32)| {
        let etype = layout.etype(u64::from(record[1]));
        by_type[etype][*row as usize]
    };
    Ok(records.iter().zip(feature_rows).map(value).collect())
}
