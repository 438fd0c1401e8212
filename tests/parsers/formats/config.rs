//! The configuration in a run's folder.

use crate::campaign::{Read, Seed, run};
use crate::folder::folder;
use crate::mutate::Syntax;
use sar::Error;
use sar::nn::{ClassWeights, Heads, ModelKind, RelationMerge, Schedule, Task};
use sar::run::CONFIG;
use sar::run::config::{LinkConfig, PairScore};
use sar::run::config::{MemoryBudget, Relations, RunConfig, TargetTypes};
use sar::train::SamplingConfig;
use std::fs;
use std::rc::Rc;

/// Configurations that together have every table and every optional field.
pub(super) fn configurations() -> Vec<String> {
    let usual = || RunConfig::new("g.json", "out");
    let mut sampled = usual();
    sampled.sampling = Some(SamplingConfig {
        fanouts: "writes=15,10;cites=5,5".parse().unwrap(),
        replace: true,
        edge_probability: Some("w".to_owned()),
        batch_size: 64,
        sampler_threads: 2,
        reduce: sar::train::GradientReduce::default(),
        optimized_batches: true,
        log_every: Some(10),
    });
    sampled.link = Some(LinkConfig {
        score: PairScore::Bilinear,
        negatives: 3,
        target_etype: Some("writes".to_owned()),
        reverse_etype: Some("rev_writes".to_owned()),
        added_loops: true,
        split: sar::load::EdgeSplit::Fractions { val: 0.05, test: 0.1 },
    });
    let mut full = usual();
    full.task = Task::Multilabel;
    full.keys.features = Some("feat".to_owned());
    full.class_weights = Some(ClassWeights::Balanced);
    full.relations = Some(Relations {
        merge: RelationMerge::default(),
        target: Some(TargetTypes::new(["paper"])),
    });
    full.schedule = Schedule::Cosine { t_max: 50, min: 1e-5 };
    full.clip_norm = Some(1.5);
    full.patience = Some(10);
    full.checkpoint_every = Some(5);
    full.init_params = Some("start.safetensors".into());
    full.resident = Some(2);
    full.memory_budget = MemoryBudget::Bytes(4 << 30);
    let heads = Heads { heads: 4, attention_dropout: 0.5 };
    full.model.kind = ModelKind::Gat(heads);
    [usual(), sampled, full].iter().map(|config| config.to_toml().unwrap()).collect()
}

#[test]
fn config() {
    let root = folder();
    let path = root.path().join(CONFIG);
    let file = path.clone();
    let read: Read = Rc::new(move |_| {
        let text = fs::read_to_string(&file).map_err(|e| Error::unreadable(&file, &e))?;
        let config = RunConfig::from_toml(&file, &text)?;
        // A configuration that can be read can be written and read again.
        RunConfig::from_toml(&file, &config.to_toml()?).map(drop)
    });
    let texts = configurations().into_iter();
    let seed = |text: String| Seed::new(text.into_bytes(), Syntax::Toml, &path, Rc::clone(&read));
    run("config", &texts.map(seed).collect::<Vec<_>>());
}
