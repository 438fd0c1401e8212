//! The training run on a machine other than the first, which writes the results.

use std::path::Path;

use super::launch::bounds;
use super::launch::this_machine::ThisMachine;
use super::launch::workers::{Launch, run_workers};
use crate::engine::launch::AssumedGrowth;
use crate::event::Event;
use crate::formats::dgl::config::PartitionConfig;
use crate::load::GraphFingerprint;
use crate::run::config::RunConfig;
use crate::run::rank::Surroundings;
use crate::words::error::Result;

/// Trains with the ranks of this machine, starting from a checkpoint if the run is resumed. `observe` gets its remarks,
/// which name the machine.
pub(super) fn take_part(
    config: &RunConfig,
    partitions: &PartitionConfig,
    machine: &ThisMachine,
    graph: &GraphFingerprint,
    resumed: Option<&Path>,
    observe: &mut dyn FnMut(&Event),
) -> Result<()> {
    let work = |here: Surroundings<'_>| {
        // Files for the first machine are stored with the spilled data until they are sent.
        let step = config.dump_step.as_ref().map(|_| here.folder.join("step"));
        let out = here.folder.to_owned();
        let config = RunConfig { out, dump_step: step, ..config.clone() };
        super::rank::train(here, &config, Some(graph), resumed)
    };
    let resources = config.resources();
    let launch = Launch {
        io: bounds::io_mode(config, partitions),
        assumed: AssumedGrowth::of(config, partitions, None),
        alike: config.grows_alike(),
        trace: config.trace.as_deref(),
        epochs: config.epochs,
        turns: 2 * config.model.num_graphs() as u32,
        machine: Some(machine),
        ..Launch::new(&resources, partitions)
    };
    run_workers(&launch, &work, None, observe, |_| Ok(()))
}
