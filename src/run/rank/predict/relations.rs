//! Predictions by models with a layer per edge type.

use super::correction::graph_within;
use super::needed::{EdgeCounts, NeededRelations};
use super::outputs::ModelOutputs;
use super::own_prediction::{OwnPart, OwnPrediction};
use super::work::PredictionWork;
use crate::engine::tape::Tape;
use crate::run::config::Relations;
use crate::run::rank::hetero_graph::RankHeteroGraph;
use crate::run::rank::rank_graph::{BuiltModel, RankGraph};
use crate::run::rank::setup::{RankSetup, Surroundings};
use crate::train::{Forward, HeteroModel};
use crate::words::error::Result;

/// Predicts nodes of the types that the model was trained to predict, or to compare.
pub(super) fn predict_relations(
    setup: &RankSetup,
    here: Surroundings<'_>,
    work: &PredictionWork<'_>,
    relations: &Relations,
) -> Result<()> {
    let run = &work.config.run;
    let hetero = RankHeteroGraph::new(setup, run, relations, work.edges_within(setup)?)?;
    let predicted = &work.ntypes;
    let widths = match run.link {
        Some(_) => vec![run.model.hidden; hetero.targets.len()],
        None => hetero.stored_out_feats(run, &work.config.weights)?,
    };
    let is_predicted: Vec<bool> = hetero.targets.iter().map(|ty| predicted.contains(ty)).collect();
    let mut of_predicted = widths.iter().zip(&is_predicted).filter(|(_, predicted)| **predicted);
    let width = of_predicted.next().map_or(0, |(width, _)| *width);
    work.tell_names(here, width)?;
    let built = BuiltModel::new(setup, run, &hetero, &widths)?;
    let BuiltModel { model, parameters, .. } = &built;
    let inputs = hetero.inputs(setup, run.seed)?;
    let forward = HeteroModel {
        model,
        graphs: vec![&hetero.graph; model.num_layers()],
        inputs: &inputs,
        sources: None,
    };
    hetero.load(&work.config.weights, parameters, &forward.all_rows())?;
    let layer = work.config.hidden_layer()?;
    let parts = OwnPart::of_types(setup, predicted, work.order, work.chosen.as_ref())?;
    // Correct and smooth needs the predictions of all nodes.
    let corrected = work.config.correct_and_smooth;
    let rows: Option<Vec<_>> = match corrected {
        Some(_) => None,
        None => parts.iter().map(OwnPart::chosen).collect(),
    };
    let needed = rows.map(|rows| {
        let layers = layer.unwrap_or_else(|| model.num_layers());
        NeededRelations::of(setup, &hetero, &inputs, predicted, &rows, layers)
    });
    let needed = needed.transpose()?;
    let within = corrected.map(|_| graph_within(setup, predicted[0])).transpose()?;
    let own = OwnPrediction { setup, here, work, parts };
    {
        let mut tape = Tape::evaluation(&setup.manager, parameters).ending_after(layer);
        let values = match &needed {
            Some(NeededRelations { graphs, inputs, .. }) => {
                // A pass that ends after a hidden layer does not reach the last graphs.
                let last = graphs.len() - 1;
                let graphs = (0..model.num_layers()).map(|i| &graphs[i.min(last)]);
                let inputs = inputs.iter().map(|input| tape.input(input)).collect();
                model.forward_all(&mut tape, &graphs.collect::<Vec<_>>(), inputs)?
            }
            None => forward.outputs(&mut tape)?.0,
        };
        let values = values.into_iter().zip(is_predicted).filter(|(_, predicted)| *predicted);
        let outputs = ModelOutputs {
            own: &own,
            built: &built,
            width,
            layer,
            has_all_rows: needed.is_none(),
            corrected_by: within.as_ref().map(|graph| (&own.parts[0].labelled, graph)),
        };
        let values = values.map(|(value, _)| value).collect();
        outputs.finish(&mut tape, values, &|linked, count, nodes| {
            linked.search_relation(count, nodes, &hetero)
        })?;
    }
    own.tell_work(&needed.map_or_else(EdgeCounts::default, |needed| needed.edges))
}
