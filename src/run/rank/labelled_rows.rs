//! Training on batches of labelled nodes, for models that propagate features once.

use super::batches;
use super::mfg::LabelledNodes;
use super::node_model::NodeModel;
use super::node_training::{NodeTraining, Samples};
use super::whole_graph::WholeGraph;
use crate::engine::comm::barrier;
use crate::engine::tape::{Graph, Region, construct_region};
use crate::engine::turns::Work;
use crate::io::DiskStorage;
use crate::run::config::Pass;
use crate::train::{GraphModel, InputRows, RowBatches, SamplingConfig};
use crate::words::error::Result;

impl NodeModel<'_, WholeGraph> {
    /// Propagates features over the whole graph, keeps the rows of labelled nodes on disk, and trains on batches of them.
    /// Evaluations are on all labelled nodes.
    pub(super) fn train_on_rows(self, pass: Pass, sampling: &SamplingConfig) -> Result<()> {
        let NodeModel { graph: whole, model, training } = self;
        let NodeTraining { setup, assignment, facts, parameters, .. } = &training;
        let config = assignment.config;
        setup.sync(parameters)?;
        let manager = &setup.manager;
        let nodes = LabelledNodes::new(setup, facts)?;
        let rows = nodes.rows()?;
        if manager.begin_work(Work::Propagation)? {
            barrier(&*setup.group, &**manager)?;
        }
        let inputs = {
            let one_shot = whole.one_shot(pass)?;
            let graph = one_shot.as_ref().map_or(&whole.graph as &dyn Graph, |graph| graph);
            let kept = manager.track("labelled-rows", rows.clone());
            let inputs = whole.model_input(setup, &*model, parameters, graph, Some(&kept))?;
            let first = setup.partition.book().node_range(assignment.here.rank).start;
            let nodes = rows.iter().map(|row| first + u64::from(*row)).collect();
            let path = assignment.here.folder.join(format!("inputs-{}", assignment.here.rank));
            let counters = manager.store().counters();
            let storage = DiskStorage::default().writing_back();
            InputRows::create(&path, &storage, counters, nodes, &*inputs.pin()?)?
        };
        // Evaluations look at the ids of the nodes.
        let Region { graph, .. } = construct_region(&whole.graph, &rows, 0)?;
        drop((whole, rows));
        let loaders = batches::of_rows(setup, *assignment, sampling, facts)?;
        let forward = GraphModel {
            model: &*model,
            graphs: vec![&graph; config.model.num_graphs()],
            features: inputs.all(manager),
        };
        let of_batches = RowBatches { model: &*model, inputs: &inputs };
        let samples = Samples { model: &of_batches, loaders: &loaders };
        training.run(&forward, Some(&nodes), Some(samples))
    }
}
