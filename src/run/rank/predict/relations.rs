//! Predictions by models with a layer per edge type.

use std::rc::Rc;

use super::needed::{EdgeCounts, NeededRelations};
use super::own_nodes::OwnNodes;
use super::own_prediction::OwnPrediction;
use super::work::PredictionWork;
use crate::engine::tape::{ParameterBuilder, Tape};
use crate::error::Result;
use crate::run::config::Relations;
use crate::run::rank::hetero_graph::RankHeteroGraph;
use crate::run::rank::setup::{KIND, RankSetup, Surroundings};
use crate::train::{Forward, HeteroModel};

/// Predicts nodes of the type that the model was trained to predict.
pub(super) fn predict_relations(
    setup: &RankSetup,
    here: Surroundings<'_>,
    work: &PredictionWork<'_>,
    relations: &Relations,
) -> Result<()> {
    let run = &work.config.run;
    let hetero = RankHeteroGraph::new(setup, run, relations)?;
    let outputs = hetero.stored_out_feats(&work.config.weights)?;
    let mut builder = ParameterBuilder::new(run.seed);
    let model = hetero.model(&mut builder, outputs)?;
    let parameters = Rc::new(builder.finish(&setup.manager, KIND)?);
    let inputs = hetero.inputs(setup, run.seed)?;
    let forward = HeteroModel {
        model: &model,
        graphs: vec![&hetero.graph; model.num_layers()],
        inputs: &inputs,
        sources: None,
    };
    hetero.load(setup, &work.config.weights, &parameters, &forward.all_rows())?;
    let layer = work.hidden_layer(model.hidden_layers())?;
    let labelled = &hetero.labelled(setup)?;
    let book = setup.partition.book();
    let before = (0..hetero.target).map(|ntype| book.num_nodes_of_type(ntype)).sum();
    let own = OwnNodes::new(setup, labelled, work.order, work.chosen.as_ref(), before)?;
    let needed = own.chosen().map(|rows| {
        let layers = layer.unwrap_or_else(|| model.num_layers());
        NeededRelations::of(setup, &hetero, &inputs, rows, layers)
    });
    let needed = needed.transpose()?;
    let own = OwnPrediction { setup, here, work, labelled, own };
    {
        let mut tape = Tape::evaluation(&setup.manager, &parameters).ending_after(layer);
        let values = match &needed {
            Some(NeededRelations { mfgs, inputs, .. }) => {
                // A pass that ends after a hidden layer does not reach the last graphs.
                let last = mfgs.graphs.len() - 1;
                let graphs = (0..model.num_layers()).map(|i| &mfgs.graphs[i.min(last)]);
                let inputs = inputs.iter().map(|input| tape.input(input)).collect();
                model.forward(&mut tape, &graphs.collect::<Vec<_>>(), inputs)?
            }
            None => forward.forward(&mut tape)?.0,
        };
        let truth = own.truth(outputs, layer)?;
        let output = values.value();
        drop(values);
        own.tell_scores(truth.as_ref(), &output, false)?;
        own.write(&output)?;
    }
    own.tell_work(&needed.map_or_else(EdgeCounts::default, |needed| needed.edges))
}
