//! Flags of training on sampled neighbourhoods.

use clap::ValueEnum;
use clap::builder::ArgPredicate;

use super::setting::settings;
use crate::cli::flags::choice::choice;
use crate::nn::ModelConfig;
use crate::train::{Fanouts, GradientReduce, SamplingConfig};
use crate::words::error::Result;

/// The part of the graph that a training step uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Mode {
    /// The whole graph
    Full,
    /// Sampled neighbourhoods of some training nodes (with --model sgc or sign, these nodes alone); the evaluation at the end uses
    /// the full graph
    Sample,
}

settings! {
    /// Flags of training on sampled neighbourhoods.
    pub(in crate::cli) struct SamplingArgs, fields "sampling." of SamplingConfig {
        /// Part of the graph that a training step uses; --task link and --batch-size imply sample
        #[arg(
            long,
            value_enum,
            default_value_t = Mode::Full,
            default_value_ifs([
                ("task", ArgPredicate::Equals("link".into()), "sample"),
                ("batch_size", ArgPredicate::IsPresent, "sample"),
            ]),
            help_heading = "Training"
        )]
        mode: Mode,
        /// In-edges drawn per node in --mode sample, one number per layer, the input layer's first; -1 = all; by edge type as
        /// 'writes=15,10;author:cites:paper=5,5' [default: 10 each]
        #[arg(long, value_name = "N,N,...", allow_hyphen_values = true, help_heading = "Training")]
        fanouts: Option<Fanouts> => fanouts; Neighbours Samples,
        /// Draw edges with replacement, in --mode sample
        #[arg(long, help_heading = "Training")]
        replace: bool => replace; Neighbours Samples,
        /// Draw edges in proportion to this edge feature in --mode sample [default: uniformly]
        #[arg(long, value_name = "KEY", help_heading = "Training")]
        edge_prob: Option<String> => edge_probability; Neighbours Samples,
        /// Training nodes of each worker per step; implies --mode sample [default: 1024]
        #[arg(long, value_name = "N", help_heading = "Training")]
        batch_size: Option<usize> => batch_size; Samples,
        /// Threads of each worker that sample ahead in --mode sample, while all workers compute side by side; 0 makes workers take
        /// turns [default: 0]
        #[arg(long, value_name = "N", help_heading = "Training")]
        sampler_threads: Option<usize> => sampler_threads; Samples,
        /// How the workers' gradients are combined in --mode sample [default: mean; with --model sgc and sign weighted]
        #[arg(long, value_parser = choice::<GradientReduce>(), help_heading = "Training")]
        reduce: Option<GradientReduce> => reduce; Samples,
        /// Put training nodes with many common neighbours into one batch, in --mode sample: METIS makes the batches before the first
        /// epoch, and all epochs use them. Batches read fewer rows
        #[arg(long, help_heading = "Training")]
        optimized_batches: bool => optimized_batches; Neighbours Samples,
        /// Print the loss of every Nth step of an epoch, in --mode sample [default: epochs only]
        #[arg(long, value_name = "N", help_heading = "Training")]
        log_every: Option<u32> => log_every; Samples Updates,
    }
}

impl SamplingArgs {
    /// The configuration for a model; `None` for full-batch training.
    pub(in crate::cli) fn config(&self, model: &ModelConfig) -> Result<Option<SamplingConfig>> {
        if self.mode == Mode::Full {
            return Ok(None);
        }
        let usual = if model.kind.propagates_once() {
            GradientReduce::Weighted
        } else {
            GradientReduce::default()
        };
        let fanouts = Fanouts::Same(vec![10; model.sampled_layers()]);
        let mut sampling = SamplingConfig { reduce: usual, ..SamplingConfig::new(fanouts) };
        self.set(&mut sampling)?;
        Ok(Some(sampling))
    }
}
