//! A prediction from start to end.

use std::path::Path;

use super::columns::TableColumns;
use super::node_space::NodeSpace;
use super::question::Question;
use super::table::{NodeLabels, write_table};
use crate::choice::Choice;
use crate::error::{Error, Result};
use crate::event::{Event, TraceFile};
use crate::formats::dgl::Partition;
use crate::formats::dgl::config::PartitionConfig;
use crate::graph::PartitionBook;
use crate::io::{CHECKSUM, MadeFolders, RowFile};
use crate::load::{check_original_order, etypes_within};
use crate::nn::{Task, state_dict_text, verify_state_dict};
use crate::run::launch::bounds;
use crate::run::launch::this_machine::{ThisMachine, Undertaking, common};
use crate::run::launch::workers::{Launch, run_workers};
use crate::run::rank;
use crate::run::rank::{
    ChosenNodes, LinkQuery, NodeOrder, NodeSelection, PredictConfig, Prediction, PredictionFormat,
    PredictionWork, StoredForm, Surroundings, WEIGHTS, table_rows,
};

/// Predicts nodes of a partitioned graph, with one worker process per partition. `observe` gets every event. On several machines,
/// the first writes the output.
///
/// # Errors
/// If the input or the configuration is wrong, a worker fails, or the run is interrupted. No process, no spill file and no part
/// of the output is left behind.
pub fn predict(config: &PredictConfig, observe: &mut dyn FnMut(&Event)) -> Result<()> {
    let format = match config.format {
        Some(format) => format,
        None => PredictionFormat::of(&config.output)?,
    };
    check(config)?;
    Question::check(config)?;
    check_weights(config, observe)?;
    config.trace.as_deref().map_or(Ok(()), TraceFile::check)?;
    let partitions = PartitionConfig::open(&config.run.part_json)?;
    for note in partitions.notes() {
        observe(&Event::Note(note.clone()));
    }
    check_propagation(config, partitions.book())?;
    let order = order(config, format, &partitions)?;
    if order == NodeOrder::Original && partitions.present().len() == partitions.parts().len() {
        check_original_order(&partitions)?;
    }
    let space = NodeSpace::new(&partitions, config, order)?;
    let (places, words) = match &config.nodes {
        NodeSelection::All => (None, None),
        NodeSelection::Split(split) => (Some(space.of_split(&config.run, *split)?), None),
        NodeSelection::Listed(path) => {
            let list = space.listed(path)?;
            (Some(list.places), Some(list.words))
        }
    };
    let question = Question::new(config, &space)?;
    let needed = question.as_ref().and_then(|question| question.needed.as_deref());
    let chosen = needed.or(places.as_deref()).map(ChosenNodes::new);
    let labels = match words {
        Some(words) if space.has_names() => NodeLabels::Listed(words),
        Some(_) => NodeLabels::Ids(places),
        None => NodeLabels::ascending(&space, places),
    };
    let links = question.as_ref().map(Question::for_ranks);
    let prediction = PredictionWork { config, order, format, chosen, links };
    let work = |here: Surroundings<'_>| rank::predict(here, &prediction);
    let machine =
        ThisMachine::of(&undertaking(config, order)?, &partitions, config.run.partitions.as_ref())?;
    let resources = config.run.resources();
    let trace = config.trace.as_deref();
    let own_trace = trace.zip(machine.as_ref()).map(|(path, machine)| machine.own_path(path));
    let launch = Launch {
        io: bounds::io_mode(&config.run, &partitions),
        memory: bounds::certain(&config.run, &partitions),
        lends: true,
        trace: own_trace.as_deref().or(trace),
        machine: machine.as_ref(),
        ..Launch::new(&resources, &partitions)
    };
    if let Some(machine) = machine.as_ref().filter(|machine| machine.is_another()) {
        let mut on_event = |event: Event, _| {
            machine.remark(event).iter().for_each(&mut *observe);
            Ok(())
        };
        return run_workers(&launch, &work, &mut on_event, |_| Ok(()));
    }
    let made = MadeFolders::create_for(&config.output, "out")?;
    // A file that cannot be written is found before the work, not after it.
    RowFile::remove_partial(&config.output)?;
    drop(RowFile::open(&config.output, Vec::new(), 1)?);
    RowFile::remove_partial(&config.output)?;
    let mut on_event = |event: Event, _| {
        observe(&event);
        Ok(())
    };
    let num_rows = prediction.chosen.as_ref().map_or_else(|| space.len(), ChosenNodes::num_rows);
    let folder = partitions.path().parent().unwrap_or(Path::new("."));
    let result = run_workers(&launch, &work, &mut on_event, |spilled| {
        let rows = table_rows(spilled);
        if let Some(question) = question {
            return question.write(&rows, config, format, spilled);
        }
        if !format.is_table() {
            return RowFile::keep(&config.output);
        }
        let columns =
            TableColumns::new(config, folder, space.has_names(), form(config, &rows, num_rows)?)?;
        write_table(&rows, config, format, &columns, labels)
    });
    if result.is_err() {
        RowFile::remove_partial(&config.output)?;
    } else {
        made.keep();
    }
    result
}

/// What must be the same on all machines.
fn undertaking(config: &PredictConfig, order: NodeOrder) -> Result<Undertaking> {
    let PredictConfig { run, prediction, target_type, layer, nodes, links, .. } = config;
    let PredictConfig { correct_and_smooth, format, .. } = config;
    let of_run = common(run).to_toml()?;
    let nodes = match nodes {
        NodeSelection::Listed(path) => crc_of(path)?,
        others => format!("{others:?}"),
    };
    let links = match links {
        Some(LinkQuery::Pairs(path)) => crc_of(path)?,
        Some(LinkQuery::Partners { count, of }) => {
            let of = of.as_ref().map(|path| crc_of(path)).transpose()?;
            format!("{count} {of:?}")
        }
        None => String::new(),
    };
    let configuration = format!(
        "{of_run}{prediction:?}{target_type:?}{layer:?}{nodes}{links}{order:?}{correct_and_smooth:?}{format:?}"
    );
    Ok(Undertaking { configuration, start: state_dict_text(&config.weights, CHECKSUM)? })
}

/// The checksum of a file of the user's, as text.
fn crc_of(path: &Path) -> Result<String> {
    let bytes = std::fs::read(path).map_err(|e| Error::unreadable(path, &e))?;
    Ok(crc32fast::hash(&bytes).to_string())
}

/// The form of the rows that the ranks have written.
fn form(config: &PredictConfig, rows: &Path, num_rows: u64) -> Result<StoredForm> {
    let written = std::fs::metadata(rows).map_err(|e| Error::io("read", rows, e))?.len();
    let task = config.run.task;
    let dtype = config.prediction.stored(task, 0).dtype;
    let columns = written.checked_div(num_rows).unwrap_or(0) / dtype.size() as u64;
    Ok(config.prediction.stored(task, columns))
}

/// The order of nodes: that of the configuration, or the one that suits the output.
fn order(
    config: &PredictConfig,
    format: PredictionFormat,
    partitions: &PartitionConfig,
) -> Result<NodeOrder> {
    if let Some(order) = config.order {
        return Ok(order);
    }
    let listed = matches!(config.nodes, NodeSelection::Listed(_)) || config.links.is_some();
    let known = || {
        Ok::<_, Error>(
            Partition::open(partitions, partitions.first_present())?.orig_node_ids(0)?.is_some(),
        )
    };
    let original = (listed || format.is_table()) && known()?;
    Ok(if original { NodeOrder::Original } else { NodeOrder::Partition })
}

/// Checks that the prediction makes sense for the task.
fn check(config: &PredictConfig) -> Result<()> {
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
fn check_propagation(config: &PredictConfig, book: &PartitionBook) -> Result<()> {
    if config.correct_and_smooth.is_none() || config.run.relations.is_none() {
        return Ok(());
    }
    let ntypes = config.node_types(book)?;
    let Some(ntype) = ntypes.into_iter().find(|ntype| etypes_within(book, *ntype).is_empty())
    else {
        return Ok(());
    };
    let etypes: Vec<String> = book.etypes().iter().map(ToString::to_string).collect();
    let problem = format!(
        "correct and smooth propagates along edges between nodes of the predicted type {}, but the edge types of the graph are {}",
        book.ntypes()[ntype],
        etypes.join(", ")
    );
    Err(Error::config("run", problem)
        .with_hint("use predict, or add an edge type that joins these nodes"))
}

/// Checks that weights are intact and, if they belong to the run, that they were trained with its configuration.
fn check_weights(config: &PredictConfig, observe: &mut dyn FnMut(&Event)) -> Result<()> {
    let (weights, run) = (&config.weights, &config.run);
    let verified = verify_state_dict(weights)?;
    if *weights != run.out.join(WEIGHTS) {
        return Ok(());
    }
    if !(run.check_weights(weights)? && verified) {
        observe(&Event::Note(format!(
            "{}: holds neither a checksum nor the configuration it was trained with, so it cannot be verified",
            weights.display()
        )));
    }
    Ok(())
}
