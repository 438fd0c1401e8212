//! Features in batches of sampled neighbourhoods.

use super::assignment::Assignment;
use super::edge_sources::of_all_types;
use super::setup::RankSetup;
use super::stored_features::StoredFeatures;
use crate::load::{EdgeFeatures, NodeColumn};
use crate::run::config::RunConfig;
use crate::sampling::loaders::DistNeighborSampler;
use crate::train::{EDGE_FEATURES, FEATURES, SamplingConfig, edge_features_of, features_of};
use crate::words::error::Result;

/// Features of nodes and edges, by their names in a batch.
pub(super) struct BatchInputs {
    nodes: Vec<InputColumn>,
    edges: Vec<(String, EdgeFeatures)>,
    /// Whether each type has its own features.
    by_type: bool,
}

struct InputColumn {
    name: String,
    column: NodeColumn,
    few_entries: bool,
}

impl BatchInputs {
    /// Features for a model with one layer for all edge types.
    pub(super) fn of_all_types(
        setup: &RankSetup,
        stored: &StoredFeatures,
        Assignment { here, config, .. }: Assignment<'_>,
    ) -> Result<Self> {
        let counters = setup.manager.store().counters();
        let (key, normalize) = (config.keys.features.as_deref(), config.normalize_features);
        let column = NodeColumn::features(here.reachable(), key, normalize, counters.clone())?;
        let (name, few_entries) = (FEATURES.to_owned(), stored.has_few_entries());
        let nodes = vec![InputColumn { name, column, few_entries }];
        let edges = config.keys.edge_features.iter().map(|key| {
            let features = EdgeFeatures::find(here.reachable(), key, counters.clone())?;
            Ok((EDGE_FEATURES.to_owned(), features))
        });
        Ok(BatchInputs { nodes, edges: edges.collect::<Result<_>>()?, by_type: false })
    }

    /// Features of each type that has them, for a model with a layer per edge type. One collective if the run uses edge
    /// features.
    pub(super) fn by_type(
        setup: &RankSetup,
        stored: &[Option<StoredFeatures>],
        Assignment { here, config, .. }: Assignment<'_>,
    ) -> Result<Self> {
        let (counters, book) = (setup.manager.store().counters(), setup.partition.book());
        let (key, normalize) = (config.keys.features.as_deref(), config.normalize_features);
        let stored = stored.iter().enumerate();
        let stored = stored.filter_map(|(ntype, stored)| Some((ntype, stored.as_ref()?)));
        let nodes = stored.map(|(ntype, stored)| {
            let (parts, counters) = (here.reachable(), counters.clone());
            let column = NodeColumn::features_of_type(parts, ntype, key, normalize, counters)?;
            let (name, few_entries) =
                (features_of(&book.ntypes()[ntype]), stored.has_few_entries());
            Ok(InputColumn { name, column, few_entries })
        });
        let nodes = nodes.collect::<Result<_>>()?;
        let edges = match &config.keys.edge_features {
            Some(key) => of_all_types(setup, here.reachable(), key)?,
            None => Vec::new(),
        };
        let edges = edges.into_iter().zip(book.etypes());
        let edges = edges.filter_map(|(found, etype)| Some((edge_features_of(etype), found?)));
        Ok(BatchInputs { nodes, edges: edges.collect(), by_type: true })
    }

    /// A sampler of the run whose batches have these features.
    pub(super) fn sampler(
        &self,
        setup: &RankSetup,
        RunConfig { model, .. }: &RunConfig,
        sampling: &SamplingConfig,
    ) -> Result<DistNeighborSampler> {
        let layers = if self.by_type { model.layers } else { model.num_graphs() };
        let sampler = sampling.sampler(layers, setup.partition.book(), self.by_type)?;
        let sampler = if self.by_type {
            sampler.out_degrees(false)
        } else {
            let kind = model.kind;
            sampler.in_degrees(kind.facts().in_degrees).out_degrees(kind.facts().out_degrees)
        };
        let sampler = self.nodes.iter().fold(sampler, |sampler, input| {
            let InputColumn { name, column, few_entries } = input;
            if *few_entries {
                sampler.input_node_entries(name, column.clone())
            } else {
                sampler.input_node_feature(name, column.clone())
            }
        });
        Ok(self.edges.iter().fold(sampler, |sampler, (name, features)| {
            sampler.edge_feature(name, features.clone())
        }))
    }
}
