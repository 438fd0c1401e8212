//! The check of a run's configuration before anything is read, made or forked.

use super::limits;
use super::mode::Mode;
use super::run_config::RunConfig;
use crate::io::RowFile;
use crate::nn::verify_state_dict;
use crate::words::error::Result;

/// Checks ranges of numbers, and options that exclude each other.
pub(in crate::run) fn check(config: &RunConfig) -> Result<()> {
    limits::check(config)?;
    match Mode::of(config)? {
        Mode::FullGraph(_) => {}
        Mode::Sampled(sampling, _) => {
            sampling.check(config.model.sampled_layers())?;
            config.evaluation.check(config.model.sampled_layers())?;
        }
        Mode::Links(link, sampling, _) => {
            link.split.check()?;
            sampling.check(config.model.sampled_layers())?;
        }
    }
    if let Some(path) = &config.dump_step {
        RowFile::remove_partial(path)?;
    }
    Ok(())
}

/// Checks the checksum of initial weights.
pub(in crate::run) fn check_initial(config: &RunConfig) -> Result<()> {
    config.init_params.as_deref().map_or(Ok(()), |path| verify_state_dict(path).map(drop))
}
