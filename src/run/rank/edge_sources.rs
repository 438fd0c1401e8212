//! Features of edges for a graph with one relation per edge type.

use std::rc::Rc;

use super::setup::{KIND, RankSetup};
use crate::engine::tape::{EdgeSource, HeteroGraphShardManager};
use crate::engine::tensor;
use crate::error::{Error, Result};
use crate::load::EdgeFeatures;
use crate::nn::{EdgeFeatureUse, ModelKind};

/// In place of a width: the edges of a type have no such feature.
const MISSING: i64 = -1;

/// In place of a width: a rank has neither edges of a type nor features for them.
const UNKNOWN: i64 = -2;

/// Gives relations the features that `key` selects, which may differ in width from type to type, and returns the edge types
/// without them. One collective.
pub(in crate::run) fn set_edge_sources(
    setup: &RankSetup,
    graph: &mut HeteroGraphShardManager,
    key: &str,
) -> Result<Vec<usize>> {
    let partition = &setup.partition;
    let (book, part) = (partition.book(), partition.part());
    let features = EdgeFeatures::by_type(partition, key, setup.manager.store().counters())?;
    let width = |(etype, features): (usize, &Option<EdgeFeatures>)| match features {
        Some(features) => features.width(),
        None if book.edge_type_range(part, etype).is_empty() => UNKNOWN,
        None => MISSING,
    };
    let widths: Vec<i64> = features.iter().enumerate().map(width).collect();
    let widths = setup.gather(&widths)?;
    let mut without = Vec::new();
    for (etype, features) in features.into_iter().enumerate() {
        let known = widths.iter().map(|of_types| of_types[etype]).enumerate();
        let mut known = known.filter(|(_, width)| *width != UNKNOWN);
        let (first, width) = known.next().unwrap_or((part, UNKNOWN));
        if let Some((other, columns)) = known.find(|(_, columns)| *columns != width) {
            let name = &book.etypes()[etype];
            let [width, columns] = [width, columns].map(|columns| columns.max(0));
            let problem = format!(
                "edge type {name} has {width} columns in partition {first}, but {columns} in partition {other}"
            );
            return Err(Error::input(partition.edge_features().path(), key, problem)
                .with_hint("partition the graph again: all parts must come from one run"));
        }
        if width < 0 {
            without.push(etype);
            continue;
        }
        let read = Rc::new(move |edges: &[u64]| match &features {
            Some(features) => features.read_of_type(etype, edges, KIND),
            // This rank has no edges of the type.
            None => tensor::empty(&[edges.len() as i64, width], KIND),
        });
        graph.set_edge_source(etype, EdgeSource { width, kind: KIND, read })?;
    }
    Ok(without)
}

/// Refuses edge types without the features `key` that every layer of a model needs.
pub(super) fn check_needed(
    setup: &RankSetup,
    kind: ModelKind,
    key: &str,
    without: &[usize],
) -> Result<()> {
    let partition = &setup.partition;
    match without {
        [etype, ..] if kind.spec().edge_features == EdgeFeatureUse::Required => {
            let problem =
                format!("edge type {} has no such feature", partition.book().etypes()[*etype]);
            let optional = |kind: ModelKind| {
                kind.spec().relations && kind.spec().edge_features == EdgeFeatureUse::Optional
            };
            let others = ModelKind::names("or", optional);
            let hint = format!(
                "{} needs it for every edge type; ‹model.kind={others}› takes it for those that have it",
                kind.spec().name
            );
            Err(Error::input(partition.edge_features().path(), key, problem).with_hint(hint))
        }
        _ => Ok(()),
    }
}
