//! Answers about pairs of nodes, by the score with which a run has learned to predict edges.

use std::rc::Rc;

use super::linked::LinkQuestion;
use super::own_prediction::OwnPrediction;
use super::pairs::score_pairs;
use super::partners::PartnerSearch;
use crate::engine::spill::PointerTensor;
use crate::engine::tape::{GraphShardManager, ParameterSet, Weight};
use crate::error::{Error, Result};
use crate::nn::LinkScore;

/// Answers a question from the rows of the predicted nodes.
pub(super) fn answer(
    own: &OwnPrediction<'_>,
    question: &LinkQuestion,
    graph: &GraphShardManager,
    score: Option<&LinkScore>,
    parameters: &Rc<ParameterSet>,
    output: &PointerTensor,
) -> Result<()> {
    let weight = match score {
        Some(LinkScore::Bilinear(Weight::InOut(weight))) => Some(parameters.value(*weight)?),
        Some(LinkScore::Dot) => None,
        _ => return Err(Error::internal("a score of another form".to_owned())),
    };
    match question {
        LinkQuestion::Pairs(pairs) => score_pairs(own, pairs, weight, output),
        LinkQuestion::Partners { count, nodes } => {
            PartnerSearch { count: *count, nodes: nodes.as_ref(), weight }.run(own, graph, output)
        }
    }
}
