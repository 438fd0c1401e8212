//! Predictions by models that treat the graph as homogeneous.

use std::rc::Rc;

use super::correction::known_labels;
use super::links::Linked;
use super::needed::Needed;
use super::own_prediction::{OwnPart, OwnPrediction};
use super::work::PredictionWork;
use crate::engine::tape::Tape;
use crate::error::Result;
use crate::nn::{load_state_dict, stored_out_feats};
use crate::run::rank::labelled::Labelled;
use crate::run::rank::setup::{KIND, RankSetup, Surroundings};
use crate::run::rank::whole_graph::WholeGraph;

/// Predicts nodes of the types that the model was trained to predict.
pub(super) fn predict_whole(
    setup: &RankSetup,
    here: Surroundings<'_>,
    work: &PredictionWork<'_>,
) -> Result<()> {
    let config = work.config;
    let run = &config.run;
    let within = work.edges_within(setup)?;
    let whole = WholeGraph::new(setup, run, within.as_deref())?;
    drop(within);
    let outputs = stored_out_feats(&config.weights, &run.model)?;
    let mut builder = run.parameters();
    let model = run.model.build(&mut builder, whole.sizes(outputs))?;
    // The weights belong to the model and the score.
    let book = setup.partition.book();
    let score = run.link.as_ref().map(|link| link.score(&mut builder, outputs, book));
    let parameters = Rc::new(builder.finish(&setup.manager, KIND)?);
    load_state_dict(&config.weights, &parameters, &[])?;
    let layer = work.hidden_layer(model.hidden_layers())?;
    let (order, chosen) = (work.order, work.chosen.as_ref());
    let parts = if config.is_by_type() {
        OwnPart::of_types(setup, &work.ntypes, order, chosen)?
    } else {
        vec![OwnPart::all(setup, &whole.graph, order, chosen)?]
    };
    let own = OwnPrediction { setup, here, work, parts };
    // Correct and smooth propagates so far that everything is needed.
    let chosen = own.chosen_rows().filter(|_| config.correct_and_smooth.is_none());
    let needed = match &chosen {
        Some(rows) => Needed::of(setup, &whole, &*model, run, &parameters, rows, layer)?,
        None => Needed::everything(setup, &whole, &*model, &parameters)?,
    };
    let has_all_rows = chosen.is_none();
    {
        let graphs = needed.graphs(&whole, run.model.num_graphs());
        let mut tape = Tape::evaluation(&setup.manager, &parameters).ending_after(layer);
        let features = tape.input(&needed.features);
        let mut values = model.forward(&mut tape, &graphs, features)?;
        let truth = own.truth(outputs, layer)?;
        if let Some(correct_and_smooth) = config.correct_and_smooth {
            own.tell_scores(truth.as_ref(), &own.by_part(values.value(), true)?, false)?;
            let all = Labelled::all(setup, &whole.graph)?;
            let known = known_labels(setup, run, &all, outputs)?;
            values = correct_and_smooth.forward(&mut tape, &whole.graph, values, &known)?;
        }
        let corrected = config.correct_and_smooth.is_some();
        let outputs = own.by_part(values.value(), has_all_rows)?;
        drop(values);
        own.tell_scores(truth.as_ref(), &outputs, corrected)?;
        match &work.links {
            None => own.write(&outputs)?,
            Some(links) => {
                let (score, parameters) = (score.as_ref(), &parameters);
                let linked = Linked { own: &own, score, parameters, outputs: &outputs };
                linked.answer_whole(links, &whole.graph)?;
            }
        }
    }
    own.tell_work(&needed.edges)
}
