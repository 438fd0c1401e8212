//! Trains GraphSAGE on the karate club's partitions, one worker process each, then predicts all members.
//!
//!     cargo run --release --example quickstart

use sar::event::{Event, Metric};
use sar::nn::{ModelConfig, ModelKind, SageAggregator, SageOptions};
use sar::run;
use sar::run::config::RunConfig;
use sar::run::rank::PredictConfig;

fn main() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let mut run = RunConfig::new("data/karate/karate.json", folder.path());
    run.model = ModelConfig {
        kind: ModelKind::Sage(SageOptions {
            aggregator: SageAggregator::Mean,
            edge_weights: false,
        }),
        layers: 2,
        hidden: 16,
        dropout: 0.2,
        ..ModelConfig::default()
    };
    run.epochs = 40;
    run::train(&run, &mut |event| match event {
        Event::Epoch(report) if report.epoch % 10 == 0 => {
            println!(
                "epoch {}: loss {:.3}, {} turns",
                report.epoch, report.loss, report.lock_turns
            );
        }
        Event::Evaluation(report) => {
            let test = report.scores(Metric::Accuracy).and_then(|scores| scores.test);
            println!("test accuracy {test:?}");
        }
        _ => {}
    })?;

    let classes = folder.path().join("classes.npy");
    let predict = PredictConfig::new(run, &classes);
    run::predict(&predict, &mut |_| {})?;
    println!("{} bytes of predictions", std::fs::metadata(classes)?.len());
    Ok(())
}
