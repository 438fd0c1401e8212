//! The part that another machine takes in a training run whose results are written by the first.

use super::launch::bounds;
use super::launch::this_machine::ThisMachine;
use super::launch::workers::{Launch, run_workers};
use crate::error::Result;
use crate::event::Event;
use crate::formats::dgl::config::PartitionConfig;
use crate::run::config::RunConfig;
use crate::run::rank::Surroundings;

/// Trains with the ranks of this machine. `observe` gets their remarks, which name the machine.
pub(super) fn take_part(
    config: &RunConfig,
    partitions: &PartitionConfig,
    machine: &ThisMachine,
    observe: &mut dyn FnMut(&Event),
) -> Result<()> {
    let work = |here: Surroundings<'_>| super::rank::train(here, config, None);
    let resources = config.resources();
    let launch = Launch {
        io: bounds::io_mode(config, partitions),
        all_fits: bounds::fits(config, partitions),
        epochs: config.epochs,
        turns: 2 * config.model.num_graphs() as u32,
        machine: Some(machine),
        ..Launch::new(&resources, partitions)
    };
    let mut on_event = |event: Event, _| {
        if let Event::Note(text) = event {
            observe(&Event::Note(format!("machine {}: {text}", machine.here.machine)));
        }
        Ok(())
    };
    run_workers(&launch, &work, &mut on_event, |_| Ok(()))
}
