//! Trains a graph attention network on the karate club's partitions, one worker process each.
//!
//!     cargo run --release --example gat

use sar::event::Event;
use sar::nn::{Heads, ModelConfig, ModelKind, NormKind, OptimizerConfig};
use sar::run;
use sar::run::config::RunConfig;

fn main() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let mut run = RunConfig::new("data/karate/karate.json", folder.path());
    run.model = ModelConfig {
        kind: ModelKind::Gat(Heads { heads: 8, attention_dropout: 0.3 }),
        layers: 2,
        // The width of each head.
        hidden: 8,
        dropout: 0.3,
        norm: NormKind::Layer,
        residual: true,
        ..ModelConfig::default()
    };
    run.optimizer = OptimizerConfig::Adam { lr: 0.005, weight_decay: 5e-4 };
    run.epochs = 40;
    run::train(&run, &mut |event| match event {
        Event::Epoch(report) if report.epoch % 10 == 0 => {
            println!("epoch {}: loss {:.3}", report.epoch, report.loss);
        }
        Event::Evaluation(report) => println!("without dropout: loss {:.3}", report.loss),
        _ => {}
    })?;
    Ok(())
}
