//! States of a job in double precision: the last two are kept, and a damaged one is passed over.

use std::fs;
use std::path::Path;
use std::rc::Rc;

use sar::engine::tape::{Init, ParameterBuilder, ParameterSet};
use sar::event::Event;
use sar::nn::{Optimizer, OptimizerConfig};
use sar::run::job::SavedState;
use sar::run::{Job, Rank, launch};
use tch::{Kind, Tensor};

use super::cases::job;
use super::common::metrics;

const ADAM: OptimizerConfig = OptimizerConfig::Adam { lr: 0.1, weight_decay: 0.0 };

fn weight_of(rank: &Rank<'_>, shape: [i64; 2]) -> sar::Result<Rc<ParameterSet>> {
    let mut builder = ParameterBuilder::new(3);
    builder.add("weight", &shape, Init::XavierUniform { gain: 1.0 });
    Ok(Rc::new(builder.finish(rank.manager(), Kind::Double)?))
}

/// Makes steps up to an epoch from the last state on; returns the epoch of that state, and the weights.
fn train(rank: &Rank<'_>, until: u32) -> sar::Result<(u32, Vec<f64>)> {
    let parameters = weight_of(rank, [5, 2])?;
    let mut optimizer = Optimizer::new(ADAM, rank.manager())?;
    let first = rank.restore(&parameters, &mut optimizer)?.map_or(0, |state| state.epoch);
    for epoch in first + 1..=until {
        let gradient = Tensor::full(
            parameters.flat().size(),
            1.0 / f64::from(epoch),
            (Kind::Double, tch::Device::Cpu),
        );
        optimizer.step(&parameters, gradient)?;
        rank.end_epoch(epoch, &[])?;
        rank.save(&SavedState { epoch, parameters: &parameters, optimizer: &optimizer, text: "" })?;
        rank.sum(&[0.0])?;
    }
    let weights = Vec::try_from(&*parameters.flat().pin()?)?;
    Ok((first, weights))
}

fn run(job: &Job, until: u32) -> (u32, Vec<f64>) {
    let mut notes = Vec::new();
    let mut observe = |event: &Event| {
        if let Event::Note(text) = event {
            notes.push(text.clone());
        }
    };
    let results = launch(job, &mut observe, |rank| train(rank, until)).unwrap();
    assert_eq!(results[0], results[1], "{notes:?}");
    results.into_iter().next().unwrap()
}

/// Changes a byte of the last state.
fn damage(out: &Path) {
    let path = out.join("checkpoint.safetensors");
    let mut bytes = fs::read(&path).unwrap();
    let last = bytes.len() - 1;
    bytes[last] ^= 1;
    fs::write(&path, bytes).unwrap();
}

pub(crate) fn damaged() {
    let (mut job, folder) = job();
    let (_, undisturbed) = run(&job_at(&job, &folder.path().join("whole")), 6);
    let out = folder.path().join("out");
    job.out = Some(out.clone());
    assert_eq!(run(&job, 3).0, 0);
    job.resume = true;
    damage(&out);
    assert_eq!(run(&job, 5).0, 2);
    damage(&out);
    assert_eq!(run(&job, 6), (4, undisturbed));
    let lines = metrics(&out);
    let epochs: Vec<u64> = lines.iter().map(|line| line["epoch"].as_u64().unwrap()).collect();
    assert_eq!(epochs, [1, 2, 3, 4, 5, 6]);

    let restore = |shape, config| {
        let work = |rank: &Rank<'_>| {
            let parameters = weight_of(rank, shape)?;
            let mut optimizer = Optimizer::new(config, rank.manager())?;
            rank.restore(&parameters, &mut optimizer).map(drop)
        };
        launch(&job, &mut |_| {}, work).unwrap_err().to_string()
    };
    let error = restore([2, 5], ADAM);
    assert!(error.contains("has weight [5, 2], which the model does not have"), "{error}");
    let sgd = OptimizerConfig::Sgd { lr: 0.1, momentum: 0.9, weight_decay: 0.0 };
    let error = restore([5, 2], sgd);
    assert!(error.contains("is the state of another optimizer"), "{error}");
}

fn job_at(job: &Job, out: &Path) -> Job {
    Job { out: Some(out.to_owned()), ..job.clone() }
}
