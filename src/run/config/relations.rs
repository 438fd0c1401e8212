//! Decides whether a model has a layer per edge type.

use super::run_config::{Relations, RunConfig};
use super::target_types::TargetTypes;
use crate::formats::dgl::config::PartitionConfig;
use crate::formats::dgl::{Feature, Partition};
use crate::graph::PartitionBook;
use crate::io::IoCounters;
use crate::load::{EdgeFeatures, NodeFeatures, Normalize, labelled_type};
use crate::nn::RelationMerge;
use crate::words::error::{Error, Result};

/// Usual names of edge data that hold the types of edges: those of PyG, `dgl.ETYPE`, and DGL's data sets.
const TYPES_AS_DATA: [&str; 3] = ["edge_type", "_TYPE", "etype"];

/// The structure of a model with a layer per edge type; `None` for one layer for all types. Edge types have their own
/// layers if the run requests it, if features differ in width between node types, or if some types have none. Unless
/// edges are predicted, this also decides the predicted node types, in the graph's order.
pub(in crate::run) fn of_run(
    config: &RunConfig,
    partitions: &PartitionConfig,
) -> Result<Option<Relations>> {
    let keys = &config.keys;
    let one_type = partitions.book().ntypes().len() == 1;
    let merge = match &config.relations {
        Some(relations) if config.link.is_some() => return Ok(Some(relations.clone())),
        Some(Relations { merge, target: Some(target) }) => {
            let names = target.ids(partitions.book())?;
            let names = names.into_iter().map(|ntype| &partitions.book().ntypes()[ntype]);
            return Ok(Some(Relations { merge: *merge, target: Some(TargetTypes::new(names)) }));
        }
        Some(Relations { merge, .. }) => *merge,
        None if one_type && config.link.is_none() => return Ok(None),
        None => RelationMerge::Sum,
    };
    let partition = Partition::open(partitions, partitions.first_present())?;
    if config.relations.is_none() {
        let key = keys.features.as_deref();
        let Err(error) = NodeFeatures::find(&partition, key, Normalize::None) else {
            return Ok(None);
        };
        let by_type = NodeFeatures::by_type(&partition, key, Normalize::None)?;
        let without = by_type.iter().all(Option::is_none);
        if one_type && !without {
            return Ok(None);
        }
        // A plain list of edges is enough for link prediction; but a misspelled key must be an error.
        if without && (config.link.is_none() || key.is_some()) {
            let hint = "name the array that holds them with ‹keys.features=KEY›, or learn a row for every \
                        node with ‹relations=sum›";
            return Err(error.with_hint(hint));
        }
    }
    if config.link.is_some() {
        return Ok(Some(Relations { merge, target: None }));
    }
    let target = labelled_type(&partition, keys.labels.as_deref(), keys.train_mask.as_deref())?;
    let target = Some(TargetTypes::new([&partitions.book().ntypes()[target]]));
    Ok(Some(Relations { merge, target }))
}

/// Ids of the node types for which the model has outputs, ascending.
pub(in crate::run) fn outputs(
    config: &RunConfig,
    relations: &Relations,
    book: &PartitionBook,
) -> Result<Vec<usize>> {
    match &config.link {
        Some(link) => link.node_types(book),
        None => relations.target_types(book),
    }
}

/// Checks that nodes for which the model has outputs receive messages.
pub(in crate::run) fn check_messages(
    config: &RunConfig,
    relations: &Relations,
    book: &PartitionBook,
) -> Result<()> {
    let receives = |ntype: &usize| book.etype_ends().iter().any(|[_, dst]| dst == ntype);
    let targets = outputs(config, relations, book)?;
    let Some(ntype) = targets.into_iter().find(|ntype| !receives(ntype)) else { return Ok(()) };
    let problem = format!("no edge ends at a node of type {}", book.ntypes()[ntype]);
    let remedy = "add reverse edges, so that these nodes receive messages";
    if config.link.is_none() {
        return Err(Error::config("relations.target", problem).with_hint(remedy));
    }
    let etypes = book.etypes().iter().zip(book.etype_ends());
    let etypes = etypes.filter(|(_, ends)| ends.iter().all(receives));
    let fit: Vec<String> = etypes.map(|(etype, _)| etype.to_string()).collect();
    let hint = match fit.len() {
        0 => remedy.to_owned(),
        _ => format!(
            "predict edges of one type with ‹link.target_etype=TYPE›, one of: {}; or {remedy}",
            fit.join(", ")
        ),
    };
    Err(Error::config("link.target_etype", problem).with_hint(hint))
}

/// Refuses weights or a score for each edge type on a graph without edge types whose edges have their types as data.
pub(in crate::run) fn check_edge_types(
    config: &RunConfig,
    partitions: &PartitionConfig,
) -> Result<()> {
    let is_plain = matches!(partitions.book().etypes(), [only] if only.rel == "_E");
    let by_type = match &config.link {
        _ if !is_plain => return Ok(()),
        _ if config.model.kind.spec().edge_types => "model has weights",
        Some(link) if link.has_vectors() => "score has a vector",
        _ => return Ok(()),
    };
    let partition = Partition::open(partitions, partitions.first_present())?;
    let edges = partition.edge_features();
    let mut names = edges.features().iter().map(Feature::name);
    let Some(name) = names.find(|name| TYPES_AS_DATA.contains(name)) else { return Ok(()) };
    let problem = format!(
        "this {by_type} for each edge type, but the graph has one type, and these data of edges are not read"
    );
    Err(Error::input(edges.path(), name, problem).with_hint(format!(
        "cut the graph with an edge type for each value: ‹relation_column={name}›, in Python sar_single.partition(..., \
         relation_column=\"{name}\"); or leave the data out"
    )))
}

/// A note for the user about the choice.
pub(in crate::run) fn note(
    config: &RunConfig,
    partitions: &PartitionConfig,
    relations: &Relations,
) -> Result<String> {
    let partition = Partition::open(partitions, partitions.first_present())?;
    let features = config.keys.features.as_deref();
    let features = NodeFeatures::by_type(&partition, features, config.normalize_features)?;
    let types = partitions.book().ntypes().iter().zip(&features);
    let learned: Vec<&str> =
        types.filter(|(_, features)| features.is_none()).map(|(name, _)| name.as_str()).collect();
    let note = "each edge type has its own layer";
    let note = match &relations.target {
        Some(target) if target.are_several() => {
            format!("{note}; nodes of types {} are predicted", target.names().join(", "))
        }
        Some(target) => format!("{note}; nodes of type {target} are predicted"),
        None => note.to_owned(),
    };
    let note = match learned.len() {
        0 => note,
        _ => format!("{note}; without features, and given learned rows: {}", learned.join(", ")),
    };
    let without = match &config.keys.edge_features {
        Some(key) => types_without(&partition, key)?,
        None => Vec::new(),
    };
    Ok(match without.len() {
        0 => note,
        _ => format!("{note}; without edge features: {}", without.join(", ")),
    })
}

/// The edge types of a partition without the feature `key`.
fn types_without(partition: &Partition, key: &str) -> Result<Vec<String>> {
    let book = partition.book();
    let features = EdgeFeatures::by_type(partition, key, &IoCounters::default())?;
    let lacking = features.iter().zip(book.etypes()).enumerate().filter(|(etype, (found, _))| {
        found.is_none() && !book.edge_type_range(partition.part(), *etype).is_empty()
    });
    Ok(lacking.map(|(_, (_, name))| name.to_string()).collect())
}
