//! Weights and checkpoints.

use super::config::configurations;
use crate::campaign::{Read, Seed, run};
use crate::folder::folder;
use crate::mutate::Syntax;
use sar::engine::comm::Ranks;
use sar::engine::tape::ParameterBuilder;
use sar::io::{ArraySpec, Dtype, safetensors_header};
use sar::nn::{
    LearningRate, ModelConfig, NormKind, Schedule, Sizes, load_state_dict, save_state_dict,
    state_dict_text, stored_out_feats,
};
use sar::run::rank::{CHECKPOINT, WEIGHTS};
use sar::run::resumable;
use sar::testing::on_ranks;
use sar::train::{BestEpoch, Checkpoint, Progress};
use std::collections::BTreeMap;
use std::fs;
use std::rc::Rc;
use tch::Kind;

#[test]
fn safetensors() {
    on_ranks(1, 1, |context| {
        let root = folder();
        let weights = root.path().join(WEIGHTS);
        let model =
            ModelConfig { layers: 2, hidden: 2, norm: NormKind::Batch, ..ModelConfig::default() };
        let mut builder = ParameterBuilder::new(0);
        model
            .build(&mut builder, Sizes { in_feats: 3, out_feats: 2, num_rels: 1, edge_feats: 0 })?;
        let parameters = builder.finish(&context.manager, Kind::Float)?;
        let texts = [("format".to_owned(), "pt".to_owned())].into();
        let ranks = Ranks { group: &*context.group, hooks: &*context.manager };
        save_state_dict(&weights, &parameters, &[], &texts, ranks)?;
        let file = weights.clone();
        let read_weights: Read = Rc::new(move |_| {
            state_dict_text(&file, "format")?;
            stored_out_feats(&file, &model)?;
            load_state_dict(&file, &parameters, &[])
        });
        let content = fs::read(&weights).unwrap();
        let checkpoint = root.path().join(CHECKPOINT);
        let run_folder = root.path().to_owned();
        let read_checkpoint: Read = Rc::new(move |_| {
            Checkpoint::open(&run_folder.join(CHECKPOINT))?;
            resumable(&run_folder).map(drop)
        });
        let seed = |content, path, read| Seed::new(content, Syntax::Safetensors, path, read);
        run(
            "safetensors",
            &[
                seed(content, &weights, read_weights),
                seed(a_checkpoint(), &checkpoint, read_checkpoint),
            ],
        );
        Ok(())
    })
    .unwrap();
}

fn a_checkpoint() -> Vec<u8> {
    let progress = Progress {
        epoch: 4,
        optimizer_steps: 4,
        learning_rate: LearningRate::new(0.01, Schedule::Constant).unwrap(),
        best: Some(BestEpoch { epoch: 3, score: 0.5 }),
    };
    let texts: BTreeMap<String, String> = [
        ("config".to_owned(), configurations().remove(1)),
        ("progress".to_owned(), serde_json::to_string(&progress).unwrap()),
    ]
    .into();
    let arrays = ["parameters", "optimizer.first", "optimizer.second"];
    let arrays = arrays.map(|name| ArraySpec { name, dtype: Dtype::F32, shape: &[4] });
    let header = safetensors_header(&arrays, &texts).unwrap();
    [header, vec![0; 3 * 4 * 4]].concat()
}
