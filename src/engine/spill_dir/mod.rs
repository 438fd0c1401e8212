//! The folder for spilled data: a subfolder per run, and removal of killed runs' subfolders.

mod default_dir;
mod living_run;
mod marked_folder;
mod run_folder;
mod sweep;

pub use default_dir::default_spill_dir;
pub use living_run::{LivingRun, link_in};
pub use run_folder::RunFolder;
pub use sweep::{Swept, sweep};
