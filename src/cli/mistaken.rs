//! Commands that people expect, and those that they mean.

use std::path::Path;

use clap::error::{ContextKind, ContextValue, ErrorKind};

/// The error with the command that was probably meant, if the first word of the command line names none.
pub(super) fn with_tip(mut error: clap::Error) -> clap::Error {
    if error.kind() != ErrorKind::InvalidSubcommand {
        return error;
    }
    let Some(ContextValue::String(word)) = error.get(ContextKind::InvalidSubcommand) else {
        return error;
    };
    if let Some(meant) = meant(word) {
        let tip = format!("to train, pass flags without a command: {meant}");
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip.into()]));
    }
    error
}

fn meant(word: &str) -> Option<String> {
    match word {
        "train" | "run" | "fit" => Some("sar-single --part-json FILE".to_owned()),
        file if Path::new(file).extension().is_some_and(|extension| extension == "json") => {
            Some(format!("sar-single --part-json {file}"))
        }
        folder if Path::new(folder).join("config.toml").is_file() => {
            Some(format!("sar-single --resume {folder}"))
        }
        _ => None,
    }
}
