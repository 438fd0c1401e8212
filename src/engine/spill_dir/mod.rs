//! The folder of spilled data: a subfolder for each run, and removal of the subfolders of killed runs.

mod default_dir;
mod living_run;
mod marked_folder;
mod run_folder;
mod sweep;

pub use default_dir::default_spill_dir;
pub use living_run::{LivingRun, link_in};
pub use run_folder::RunFolder;
pub use sweep::{Swept, sweep};
