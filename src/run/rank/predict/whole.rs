//! Predictions by models that treat the graph as homogeneous.

use super::needed::Needed;
use super::outputs::ModelOutputs;
use super::own_prediction::{OwnPart, OwnPrediction};
use super::work::PredictionWork;
use crate::engine::tape::Tape;
use crate::nn::load_state_dict;
use crate::run::rank::labelled::Labelled;
use crate::run::rank::rank_graph::{BuiltModel, RankGraph};
use crate::run::rank::setup::{RankSetup, Surroundings};
use crate::run::rank::whole_graph::WholeGraph;
use crate::words::error::Result;

/// Predicts nodes of the types that the model was trained to predict.
pub(super) fn predict_whole(
    setup: &RankSetup,
    here: Surroundings<'_>,
    work: &PredictionWork<'_>,
) -> Result<()> {
    let config = work.config;
    let run = &config.run;
    let whole = WholeGraph::new(setup, run, work.edges_within(setup)?)?;
    let widths = whole.stored_out_feats(run, &config.weights)?;
    work.tell_names(here, widths[0])?;
    let built = BuiltModel::new(setup, run, &whole, &widths)?;
    let BuiltModel { model, parameters, .. } = &built;
    load_state_dict(&config.weights, parameters, &[])?;
    let layer = config.hidden_layer()?;
    let (order, chosen) = (work.order, work.chosen.as_ref());
    let parts = if config.is_by_type() {
        OwnPart::of_types(setup, &work.ntypes, order, chosen)?
    } else {
        vec![OwnPart::all(setup, &whole.graph, order, chosen)?]
    };
    let own = OwnPrediction { setup, here, work, parts };
    // Correct and smooth needs the predictions of all nodes.
    let chosen = own.chosen_rows().filter(|_| config.correct_and_smooth.is_none());
    let needed = match &chosen {
        Some(rows) => Needed::of(setup, &whole, &**model, run, parameters, rows, layer)?,
        None => Needed::everything(setup, &whole, &**model, parameters)?,
    };
    let labelled = config.correct_and_smooth.map(|_| Labelled::all(setup, &whole.graph));
    let labelled = labelled.transpose()?;
    {
        let graphs = needed.graphs(&whole, run.model.num_graphs());
        let mut tape = Tape::evaluation(&setup.manager, parameters).ending_after(layer);
        let features = tape.input(&needed.features);
        let values = vec![model.forward(&mut tape, &graphs, features)?];
        let outputs = ModelOutputs {
            own: &own,
            built: &built,
            width: widths[0],
            layer,
            has_all_rows: chosen.is_none(),
            corrected_by: labelled.as_ref().map(|labelled| (labelled, &whole.graph)),
        };
        outputs.finish(&mut tape, values, &|linked, count, nodes| {
            linked.search_whole(count, nodes, &whole.graph)
        })?;
    }
    own.tell_work(&needed.edges)
}
