//! The other ranks of a graph.

use std::cell::OnceCell;
use std::rc::Rc;
use std::sync::Arc;

use sar::Result;
use sar::engine::comm::{Collective, FileGroup, Hooks, NoHooks, Outbox, ProcessGroup, complete};
use sar::engine::turns::Control;

/// The other ranks, and what happens while this one waits for them.
pub(crate) struct World {
    pub(crate) group: Box<dyn ProcessGroup>,
    pub(crate) hooks: Rc<dyn Hooks>,
}

impl World {
    /// The world of a block, all of which is here.
    pub(crate) fn alone() -> Result<Rc<Self>> {
        thread_local! {
            static ALONE: OnceCell<Rc<World>> = const { OnceCell::new() };
        }
        if let Some(world) = ALONE.with(|world| world.get().cloned()) {
            return Ok(world);
        }
        let mut groups = FileGroup::in_memory(&Arc::new(Control::in_memory(1, 1)?));
        let world = Rc::new(World { group: Box::new(groups.remove(0)), hooks: Rc::new(NoHooks) });
        ALONE.with(|alone| drop(alone.set(world.clone())));
        Ok(world)
    }

    /// Posts messages, and waits for those of the others.
    pub(crate) fn complete(&self, outbox: Box<dyn Outbox + '_>) -> Result<Collective> {
        complete(&*self.group, outbox.post()?, &*self.hooks)
    }
}
