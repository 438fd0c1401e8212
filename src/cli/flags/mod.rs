//! Flags that several commands have, and what all flags have in common.

pub(super) mod choice;
pub(super) mod effect;
pub(super) mod fields;
pub(super) mod free_folder;
pub(super) mod future_run;
pub(super) mod given;
pub(super) mod node_tables;
pub(super) mod num_parts;
pub(super) mod text_rules;
pub(super) mod voice;
