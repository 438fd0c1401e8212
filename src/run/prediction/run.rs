//! A prediction from start to end.

use std::path::{Path, PathBuf};

use super::array::write_array;
use super::checks::{check, check_weights};
use super::columns::{TableColumns, class_names};
use super::extended_graph::ExtendedGraph;
use super::node_space::NodeSpace;
use super::predicted_graph::PredictedGraph;
use super::question::Question;
use super::table::{NodeLabels, write_table};
use crate::engine::launch::AssumedGrowth;
use crate::event::{Event, TraceFile};
use crate::io::{CHECKSUM, Destination, RowFile, is_standard_output};
use crate::nn::state_dict_text;
use crate::run::launch::bounds;
use crate::run::launch::connection::reports;
use crate::run::launch::this_machine::{ThisMachine, common};
use crate::run::launch::workers::{Launch, run_workers};
use crate::run::rank;
use crate::run::rank::{
    ChosenNodes, LinkQuery, NodeOrder, NodeSelection, PredictConfig, PredictionFormat,
    PredictionWork, StoredForm, Surroundings, table_rows,
};
use crate::words::error::{Error, Result};

/// Predicts nodes of a partitioned graph, with one worker process per partition. `observe` gets every event. On several machines,
/// the first writes the output.
///
/// # Errors
/// If the input or the configuration is wrong, a worker fails, or the run is interrupted. No process, no spill file and no part
/// of the output is left behind.
pub fn predict(config: &PredictConfig, observe: &mut dyn FnMut(&Event)) -> Result<()> {
    let format = format(config)?;
    check(config)?;
    Question::check(config, format)?;
    check_weights(config, observe)?;
    // The first machine writes the output.
    let find = || Destination::find(&config.output, "out", config.overwrite);
    let place = reports().then(find).transpose()?;
    let mut trace = config.trace.clone();
    if reports() {
        trace = trace.map(|path| TraceFile::check(&path, config.overwrite)).transpose()?;
    }
    let extended = ExtendedGraph::of(config, observe)?;
    let config = extended.as_ref().map_or(config, ExtendedGraph::config);
    let PredictedGraph { partitions, ntypes, numbering } = PredictedGraph::open(config, observe)?;
    let order = numbering.order;
    let space = NodeSpace::new(&partitions, config, ntypes.clone(), numbering);
    let (places, words) = match &config.nodes {
        NodeSelection::All => (None, None),
        NodeSelection::Split(split) => (Some(space.of_split(&config.run, *split)?), None),
        NodeSelection::Listed(path) => {
            let list = space.listed(path)?;
            (Some(list.places), Some(list.words))
        }
        NodeSelection::New => (Some(space.new_nodes(&config.new_nodes)?), None),
    };
    let question = Question::new(config, &space)?;
    let needed = question.as_ref().and_then(|question| question.needed.as_deref());
    let chosen = needed.or(places.as_deref()).map(ChosenNodes::new);
    let labels = NodeLabels::new(&space, places, words);
    let links = question.as_ref().map(|question| &question.asked);
    let output = place.as_ref().and_then(Destination::regular).filter(|_| !format.is_table());
    let settings = settings(config, order, &ntypes)?;
    let start = state_dict_text(&config.weights, CHECKSUM)?;
    let names = class_names(config, partitions.folder(), &space)?;
    let named = names.len();
    let prediction = PredictionWork { config, ntypes, order, format, output, chosen, links, named };
    let work = |here: Surroundings<'_>| rank::predict(here, &prediction);
    let told = config.run.partitions.as_ref();
    let machine = ThisMachine::of(&settings, &start, &partitions, told)?;
    let resources = config.run.resources();
    let launch = Launch {
        io: bounds::io_mode(&config.run, &partitions),
        assumed: AssumedGrowth::of_prediction(&config.run, &partitions),
        alike: config.run.relations.is_none() && prediction.chosen.is_none(),
        trace: trace.as_deref(),
        machine: machine.as_ref(),
        ..Launch::new(&resources, &partitions)
    };
    let Some(place) = &place else {
        return run_workers(&launch, &work, None, observe, |_| Ok(()));
    };
    try_to_write(place)?;
    let num_rows = prediction.chosen.as_ref().map_or_else(|| space.len(), ChosenNodes::num_rows);
    let result = run_workers(&launch, &work, None, observe, |spilled| {
        let rows = table_rows(spilled);
        if let Some(question) = &question {
            return question.write(&rows, place, format, spilled);
        }
        if let Some(path) = output {
            return RowFile::keep(path);
        }
        let form = form(config, &rows, num_rows)?;
        if !format.is_table() {
            return write_array(&form.header(format, num_rows)?, &rows, place);
        }
        let columns = TableColumns::new(config, names, &space, form);
        write_table(&rows, place, format, &columns, &space, labels)
    });
    // The first error is the result.
    let partial = place.regular().filter(|_| result.is_err());
    if let Some(Err(error)) = partial.map(RowFile::remove_partial) {
        observe(&Event::Note(error.to_string()));
    }
    result
}

/// Checks before the work, and not after it, that the output can be written.
fn try_to_write(place: &Destination) -> Result<()> {
    let Some(path) = place.regular() else { return Ok(()) };
    RowFile::remove_partial(path)?;
    match RowFile::open(path, Vec::new(), 1) {
        Ok(_) => RowFile::remove_partial(path),
        Err(error) => Err(match error.io_error() {
            Some(source) => Error::uncreatable(path, "out", source),
            None => error,
        }),
    }
}

/// The format of the output: that of the configuration, or the one that its name calls for; text for a pipe or a device without a known
/// name.
fn format(config: &PredictConfig) -> Result<PredictionFormat> {
    if let Some(format) = config.format {
        return Ok(format);
    }
    let output = &config.output;
    let is_file = || {
        !is_standard_output(output)
            && std::fs::metadata(output).map_or(true, |there| there.is_file())
    };
    match PredictionFormat::of(output) {
        Err(error) if is_file() => Err(error),
        Err(_) => Ok(PredictionFormat::Csv),
        found => found,
    }
}

/// Settings that must be the same on all machines.
fn settings(config: &PredictConfig, order: NodeOrder, ntypes: &[usize]) -> Result<String> {
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
            // It may name a node in place of a file.
            let crc = |path: &PathBuf| {
                if path.exists() { crc_of(path) } else { Ok(path.display().to_string()) }
            };
            let of = of.as_ref().map(crc).transpose()?;
            format!("{count} {of:?}")
        }
        Some(LinkQuery::Ranks(split)) => format!("{split:?}"),
        None => String::new(),
    };
    let ids = config.orig_ids.iter().map(|file| crc_of(&file.path)).collect::<Result<Vec<_>>>()?;
    Ok(format!(
        "{of_run}{prediction:?}{target_type:?}{layer:?}{nodes}{links}{order:?}{ids:?}{ntypes:?}{correct_and_smooth:?}{format:?}"
    ))
}

/// The checksum of a file of the user's, as text.
fn crc_of(path: &Path) -> Result<String> {
    let bytes = std::fs::read(path).map_err(|e| Error::unreadable(path, &e))?;
    Ok(crc32fast::hash(&bytes).to_string())
}

/// The form of the rows that the ranks have written.
fn form(config: &PredictConfig, rows: &Path, num_rows: u64) -> Result<StoredForm> {
    let written = std::fs::metadata(rows).map_err(|e| Error::io("read", rows, e))?.len();
    let row_bytes = written.checked_div(num_rows).unwrap_or(0);
    Ok(config.stored(row_bytes / config.stored(0).dtype.size() as u64))
}
