//! The tables of nodes: features, labels, masks.

use std::ops::Range;

use rayon::prelude::*;

use super::config::GeneratorConfig;
use super::features::Features;
use super::labels::Labels;
use super::model::RandomGraph;
use super::split::Split;
use crate::formats::dgl::writer::{ArrayWriter, FeatureSpec, PartitionWriter};
use crate::graph::PartitionBook;
use crate::io::Dtype;
use crate::prepare::partition::{Observer, StepProgress};
use crate::words::error::{Error, Result};

/// Number of bytes of a table that are made at a time, and by one thread at a time. Blocks need not end with a row, so
/// memory does not grow with the width of rows.
const BLOCK: u64 = 4 << 20;
const CHUNK: usize = 64 << 10;

/// Writes `node_feat.dgl` of every partition.
pub(super) fn write_tables(
    config: &GeneratorConfig,
    model: &dyn RandomGraph,
    writer: &PartitionWriter,
    book: &PartitionBook,
    progress: &mut Observer<'_>,
) -> Result<()> {
    let labels = Labels::new(config, model);
    let features = Features::new(config, model.signal(), &labels);
    let split = Split::new(config);
    let dtype = config.feature_dtype.dtype();
    let specs = specs(config.features, dtype);
    for part in 0..book.num_parts() {
        let own = book.node_range(part);
        let mut file = writer.node_features(part, &specs)?;
        let mut arrays = file.arrays().iter_mut();
        let mut next = || arrays.next().ok_or_else(|| Error::internal("a table is missing"));
        let tell = &mut |node| {
            progress(StepProgress { step: "writing features", done: node, total: book.num_nodes() })
        };
        fill(next()?, own.clone(), config.features, tell, |first, out| {
            features.write(first, dtype, out);
        })?;
        let silent = &mut |_| Ok(());
        fill(next()?, own.clone(), 1, silent, |first, out| {
            for (out, node) in out.as_chunks_mut::<8>().0.iter_mut().zip(first..) {
                *out = labels.class(node).to_le_bytes();
            }
        })?;
        for set in 0..3 {
            fill(next()?, own.clone(), 1, silent, |first, out| {
                for (out, node) in out.iter_mut().zip(first..) {
                    *out = u8::from(split.part(node) == Some(set));
                }
            })?;
        }
        file.finish()?;
    }
    Ok(())
}

fn specs(columns: u64, dtype: Dtype) -> Vec<FeatureSpec> {
    let spec = |name: &str, dtype, row_shape: &[u64]| FeatureSpec {
        ty: 0,
        name: name.to_owned(),
        dtype,
        row_shape: row_shape.to_vec(),
    };
    vec![
        spec("feat", dtype, &[columns]),
        spec("label", Dtype::I64, &[]),
        spec("train_mask", Dtype::U8, &[]),
        spec("val_mask", Dtype::U8, &[]),
        spec("test_mask", Dtype::U8, &[]),
    ]
}

/// Appends the rows of a range of nodes to an array. `write(first, out)` makes the bytes of elements starting with
/// `first`, where an element's index is `node * columns + column`; several threads call it. `tell` is called from time
/// to time with the next node.
fn fill(
    array: &mut ArrayWriter,
    nodes: Range<u64>,
    columns: u64,
    tell: &mut dyn FnMut(u64) -> Result<()>,
    write: impl Fn(u64, &mut [u8]) + Sync,
) -> Result<()> {
    let size = array.dtype().size() as u64;
    let (elements, block) = (nodes.start * columns..nodes.end * columns, BLOCK / size);
    let mut buffer = vec![0; (block.min(elements.end - elements.start) * size) as usize];
    for first in elements.clone().step_by(block as usize) {
        tell(first / columns)?;
        let bytes = block.min(elements.end - first) * size;
        let out = &mut buffer[..bytes as usize];
        out.par_chunks_mut(CHUNK).enumerate().for_each(|(at, out)| {
            write(first + (at * CHUNK) as u64 / size, out);
        });
        array.append_bytes(out)?;
    }
    Ok(())
}
