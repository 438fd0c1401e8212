//! Checks for options of a run that exclude each other.

use super::limits;
use super::run_config::RunConfig;
use crate::error::{Error, Result};
use crate::io::RowFile;
use crate::nn::{JumpMode, ModelKind, NormKind, verify_state_dict};

/// Refuses options that exclude each other.
pub(in crate::run) fn check(config: &RunConfig) -> Result<()> {
    limits::check(config)?;
    relations(config)?;
    if config.mfg && config.model.norm == NormKind::Batch {
        let problem = "batch statistics need all nodes, but --mfg leaves some out";
        return Err(
            Error::config("--mfg", problem).with_hint("leave --mfg out, or use --norm layer")
        );
    }
    if let Some(link) = &config.link {
        link.check(config)?;
    }
    if let Some(sampling) = &config.sampling {
        let name = config.model.kind.spec().name;
        let refused = match (config.model.norm, config.model.kind) {
            (NormKind::Batch, _) => Some((
                "--norm",
                "batch statistics need all nodes of the graph".to_owned(),
                "use --norm layer",
            )),
            (_, kind) if kind.propagates_once() => Some((
                "--model",
                format!("{name} reads the neighbourhoods only once"),
                "choose another model",
            )),
            (_, kind) if kind.normalises_edge_weights() => Some((
                "--edge-weight-key",
                format!("--model {name} divides edge weights by sums over the full graph"),
                "choose another model",
            )),
            _ => None,
        };
        if let Some((flag, problem, remedy)) = refused {
            return Err(Error::config(flag, problem)
                .with_hint(format!("{remedy}, or train on the full graph: --mode full")));
        }
        sampling.check(config.model.num_graphs())?;
        if config.dump_step.is_some() {
            let problem = "a step on sampled neighbourhoods has no logits of all nodes";
            return Err(Error::config("dump-step", problem)
                .with_hint("leave out --mode sample: the file describes a full-graph step"));
        }
    }
    if let Some(path) = &config.init_params {
        verify_state_dict(path)?;
    }
    if let Some(path) = &config.dump_step {
        RowFile::remove_partial(path)?;
    }
    Ok(())
}

/// Refuses options that a model with a layer per edge type does not support.
fn relations(config: &RunConfig) -> Result<()> {
    if config.relations.is_none() {
        return Ok(());
    }
    let model = &config.model;
    let refused = [
        (!model.kind.spec().relations, "--model"),
        (model.norm != NormKind::None, "--norm"),
        (model.jumping_knowledge != JumpMode::None, "--jk"),
        (model.residual, "--residual"),
        (config.mfg, "--mfg"),
        (config.one_shot, "--one-shot"),
    ];
    let Some((_, flag)) = refused.iter().find(|(refused, _)| *refused) else { return Ok(()) };
    let problem = "is for features of one width on every node type; here each edge type has a layer of \
                   its own";
    let hint = match *flag {
        "--model" => {
            format!("use --model {}", ModelKind::names("or", |kind| kind.spec().relations))
        }
        _ => "leave it out".to_owned(),
    };
    Err(Error::config(flag, problem).with_hint(hint))
}
