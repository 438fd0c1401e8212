//! Checks of a prediction before its work begins.

use crate::event::Event;
use crate::formats::dgl::config::PartitionConfig;
use crate::graph::PartitionBook;
use crate::load::{GraphFingerprint, etypes_within};
use crate::nn::{Task, verify_state_dict};
use crate::prepare::import::{CLASS_NAMES, FEATURE_ENCODING, class_names_file};
use crate::run::config::{Checksums, LinkConfig, RunConfig};
use crate::run::rank::{LinkQuery, PredictConfig, Prediction, WEIGHTS};
use crate::run::read_metrics;
use crate::words::choice::Choice;
use crate::words::error::{Error, Result};

/// Checks that the prediction makes sense for the task.
pub(super) fn check(config: &PredictConfig) -> Result<()> {
    let PredictConfig { run, prediction, .. } = config;
    let of_classes = matches!(prediction, Prediction::Classes | Prediction::Probabilities);
    let name = prediction.name().unwrap_or_default();
    if of_classes && !run.task.has_classes() {
        let problem = format!("the run is a regression, which has no {name}");
        return Err(Error::config("prediction", problem).with_hint("pass ‹prediction=logits›"));
    }
    if of_classes && run.link.is_some() {
        let problem = format!("the run predicts edges; its nodes have no {name}");
        return Err(Error::config("prediction", problem)
            .with_hint("pass ‹prediction=logits› for the rows from which edges are scored"));
    }
    if config.layer.is_some() && *prediction != Prediction::Embeddings {
        return Err(Error::config("layer", format!("has no effect on {name}"))
            .with_hint("leave it out, or pass ‹prediction=embeddings›"));
    }
    config.hidden_layer()?;
    if config.correct_and_smooth.is_none() {
        return Ok(());
    }
    let classifies = run.task == Task::Classification && run.link.is_none();
    if !classifies {
        return Err(Error::config("run", "correct and smooth needs one class per node")
            .with_hint("name a run that was trained with ‹task=classification›"));
    }
    if matches!(prediction, Prediction::Probabilities | Prediction::Embeddings) {
        let problem = format!("correct and smooth makes scores from 0 to 1, but no {name}");
        return Err(Error::config("prediction", problem)
            .with_hint("pass ‹prediction=logits› for the scores"));
    }
    Ok(())
}

/// Checks that edges join nodes of the predicted type where predictions are propagated along them.
pub(super) fn check_propagation(
    config: &PredictConfig,
    book: &PartitionBook,
    ntypes: &[usize],
) -> Result<()> {
    if config.correct_and_smooth.is_none() || config.run.relations.is_none() {
        return Ok(());
    }
    let Some(ntype) = ntypes.iter().find(|ntype| etypes_within(book, **ntype).is_empty()) else {
        return Ok(());
    };
    let etypes: Vec<String> = book.etypes().iter().map(ToString::to_string).collect();
    let problem = format!(
        "correct and smooth propagates along edges between nodes of the predicted type {}, but the edge types of the graph are {}",
        book.ntypes()[*ntype],
        etypes.join(", ")
    );
    Err(Error::config("run", problem)
        .with_hint("use predict, or add an edge type that joins these nodes"))
}

/// Checks that weights are intact, that they suit the graph and, if they belong to the run, that they were trained with its
/// configuration, in all of its epochs.
pub(super) fn check_weights(config: &PredictConfig, observe: &mut dyn FnMut(&Event)) -> Result<()> {
    let verified = verify_state_dict(&config.weights)?;
    if config.weights == config.run.out.join(WEIGHTS) {
        check_run(config, verified, observe)?;
    }
    let partitions = config.run.open_graph()?;
    check_meanings(config, &partitions, observe)?;
    check_kept_back(config, &partitions)
}

/// Checks that the run's weights were trained with its configuration, in all of its epochs.
fn check_run(
    config: &PredictConfig,
    verified: bool,
    observe: &mut dyn FnMut(&Event),
) -> Result<()> {
    let (weights, run) = (&config.weights, &config.run);
    if !(run.check_weights(weights)? && verified) {
        observe(&Event::Note(format!(
            "{}: holds neither a checksum nor the configuration it was trained with, so it cannot be verified",
            weights.display()
        )));
    }
    let lines = read_metrics(&run.out).unwrap_or_default();
    // At the end of a run, the last line has the epoch of its weights.
    let last = lines.last().and_then(|line| u32::try_from(line["epoch"].as_u64()?).ok());
    let last = last.unwrap_or(0);
    if let Some(epoch) = RunConfig::epoch_of_weights(weights)?.filter(|epoch| *epoch < last) {
        observe(&Event::Note(format!(
            "{}: holds the weights of epoch {epoch}, but the run has completed epoch {last}; it writes its weights when it ends",
            weights.display()
        )));
    }
    Ok(())
}

/// Checks that the graph names its classes as that of the training did. A note reports features that were made in another way.
fn check_meanings(
    config: &PredictConfig,
    partitions: &PartitionConfig,
    observe: &mut dyn FnMut(&Event),
) -> Result<()> {
    let PredictConfig { run, weights, prediction, target_type, .. } = config;
    let trained_on = Checksums::of_weights(weights, Checksums::OF_GRAPH)?;
    let of_classes = *prediction != Prediction::Embeddings && run.link.is_none();
    let folder = partitions.folder();
    let of_target = target_type.as_ref().map(|ntype| class_names_file(folder, ntype));
    for name in trained_on.differing(&Checksums::of_graph(partitions)) {
        let path = folder.join(name);
        if name == FEATURE_ENCODING {
            observe(&Event::Note(format!(
                "{}: differs from training, so columns of features may have other words and scales; ‹add_nodes=FILE› makes features of new \
                 nodes of the run's own graph as in training",
                path.display()
            )));
        } else if of_classes
            && run.task.has_classes()
            && (name == CLASS_NAMES || of_target.as_ref().is_none_or(|target| *target == path))
        {
            let problem = "differs from the names of classes in training, so numbers of classes have other meanings";
            let add = match config.correct_and_smooth {
                None => "predict new nodes of the run's own graph with ‹add_nodes=FILE›, ",
                Some(_) => "",
            };
            return Err(Error::input(&path, "", problem).with_hint(format!(
                "{add}cut the graph with the classes of the training, or remove the file to get numbers in the order of the training"
            )));
        }
    }
    Ok(())
}

/// Checks that edges to be ranked, if training has drawn them, are the same ones in the graph.
fn check_kept_back(config: &PredictConfig, partitions: &PartitionConfig) -> Result<()> {
    let draws = config.run.link.as_ref().is_some_and(LinkConfig::draws_split);
    if !draws || !matches!(config.links, Some(LinkQuery::Ranks(_))) {
        return Ok(());
    }
    let Some(trained_on) = RunConfig::edges_of_weights(&config.weights)? else { return Ok(()) };
    let found = GraphFingerprint::of_edges(partitions)?;
    let Some(difference) = trained_on.difference(&found) else { return Ok(()) };
    let problem = format!(
        "is not the graph on which the run was trained, so it would keep back other edges: {difference}"
    );
    Err(Error::input(partitions.path(), "", problem).with_hint(
        "name the run's own graph with ‹part_json=FILE›, or train with masks of edges, which stay when a graph is cut again",
    ))
}
