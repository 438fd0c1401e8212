//! Edge features of a graph with one relation per edge type.

use std::rc::Rc;

use super::setup::{KIND, RankSetup};
use crate::engine::tape::{EdgeSource, HeteroGraphShardManager};
use crate::load::{EdgeFeatures, Reachable};
use crate::nn::{EdgeFeatureUse, ModelKind};
use crate::words::error::{Error, Result};

/// Instead of a width: the edges of the type have no such feature.
const MISSING: i64 = -1;

/// Instead of a width: the rank has neither edges of the type nor features for them.
const UNKNOWN: i64 = -2;

/// The features that `key` selects, by edge type; `None` for types without them on any rank. Widths may differ between
/// types. A rank without edges and features of a type learns from the others that it has features. One collective.
pub(super) fn of_all_types(
    setup: &RankSetup,
    reachable: Reachable<'_>,
    key: &str,
) -> Result<Vec<Option<EdgeFeatures>>> {
    let partition = &setup.partition;
    let (book, part) = (partition.book(), partition.part());
    let counters = setup.manager.store().counters();
    let features = EdgeFeatures::by_type(reachable, key, counters)?;
    let width = |(etype, features): (usize, &Option<EdgeFeatures>)| match features {
        Some(features) => features.width(),
        None if book.edge_type_range(part, etype).is_empty() => UNKNOWN,
        None => MISSING,
    };
    let widths: Vec<i64> = features.iter().enumerate().map(width).collect();
    let widths = setup.gather(&widths)?;
    let known = |(etype, features): (usize, Option<EdgeFeatures>)| {
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
        let none = || EdgeFeatures::none_of_type(book, etype, width, counters.clone());
        Ok((width >= 0).then(|| features.unwrap_or_else(none)))
    };
    features.into_iter().enumerate().map(known).collect()
}

/// Sets relations' features to those that `key` selects; returns the edge types without them. One collective.
pub(in crate::run) fn set_edge_sources(
    setup: &RankSetup,
    graph: &mut HeteroGraphShardManager,
    key: &str,
) -> Result<Vec<usize>> {
    let features = of_all_types(setup, (&setup.partition).into(), key)?;
    let mut without = Vec::new();
    for (etype, features) in features.into_iter().enumerate() {
        let Some(features) = features else {
            without.push(etype);
            continue;
        };
        let width = features.width();
        let read = Rc::new(move |edges: &[u64]| features.read_of_type(etype, edges, KIND));
        graph.set_edge_source(etype, EdgeSource { width, kind: KIND, read })?;
    }
    Ok(without)
}

/// Returns an error for edge types without the features `key`, if every layer needs them.
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
