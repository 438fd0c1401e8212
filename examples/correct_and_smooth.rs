//! Trains APPNP on the karate club's partitions, then improves its predictions with the labels of the training members.
//!
//!     cargo run --release --example correct_and_smooth

use sar::event::Event;
use sar::nn::{AppnpConfig, CorrectAndSmooth, LabelPropagation, ModelConfig, ModelKind};
use sar::run;
use sar::run::config::RunConfig;
use sar::run::rank::PredictConfig;

fn main() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let mut run = RunConfig::new("data/karate/karate.json", folder.path());
    run.model = ModelConfig {
        kind: ModelKind::Appnp(AppnpConfig { hops: 5, alpha: 0.2, edge_weights: false }),
        layers: 2,
        hidden: 16,
        ..ModelConfig::default()
    };
    run.epochs = 30;
    run::train(&run, &mut |event| {
        if let Event::Evaluation(report) = event {
            println!("trained: loss {:.3}", report.loss);
        }
    })?;

    let output = folder.path().join("classes.npy");
    let mut predict = PredictConfig::new(run, &output);
    let smoothing = LabelPropagation { steps: 20, alpha: 0.8 };
    predict.correct_and_smooth =
        Some(CorrectAndSmooth { smoothing, ..CorrectAndSmooth::default() });
    run::predict(&predict, &mut |_| {})?;
    println!("{} bytes of predictions", std::fs::metadata(output)?.len());
    Ok(())
}
