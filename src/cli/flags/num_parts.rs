//! `--num-parts` of `partition` and `generate`.

use std::str::FromStr;

use super::future_run::FutureRunArgs;
use crate::prepare::generate::GeneratorConfig;
use crate::prepare::import::RawGraph;
use crate::prepare::partition::check_num_parts;
use crate::words::error::{Error, ErrorKind, Result};

/// The number of partitions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::cli) enum NumParts {
    /// The smallest tried number with which a training run fits into its memory budget.
    Auto,
    /// This number.
    Exactly(usize),
}

impl FromStr for NumParts {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "auto" {
            return Ok(NumParts::Auto);
        }
        let number = text.parse().map(NumParts::Exactly);
        number.map_err(|_| "is not a number of partitions: pass a number, or auto".to_owned())
    }
}

/// Facts about a graph before it is cut.
pub(in crate::cli) enum Uncut<'g> {
    /// A graph that has been read, and its number of edges.
    Read(&'g RawGraph, u64),
    /// Parameters of a graph to be generated.
    Generated(&'g GeneratorConfig),
}

/// A number of partitions, and its reason.
pub(in crate::cli) struct Chosen {
    pub(in crate::cli) parts: usize,
    /// Reason, unless the user chose the number.
    pub(in crate::cli) why: Option<String>,
}

/// Chooses the number of partitions of a graph; called once.
pub(in crate::cli) type Choose = Box<dyn FnMut(&Uncut<'_>) -> Result<Chosen>>;

/// Makes the choice for a value of `--num-parts` and the flags of a training run. May start a process, so this process
/// must have one thread.
pub(in crate::cli) fn choice(num_parts: NumParts, future: FutureRunArgs) -> Result<Choose> {
    match num_parts {
        NumParts::Auto => chosen(future),
        NumParts::Exactly(number) => {
            if let Some(flag) = future.first() {
                let problem = format!("{flag} has no effect without --num-parts auto");
                return Err(Error::new(ErrorKind::Config, problem)
                    .with_hint("leave it out, or pass --num-parts auto"));
            }
            check_num_parts(number)?;
            Ok(Box::new(move |_| Ok(Chosen { parts: number, why: None })))
        }
    }
}

#[cfg(not(feature = "torch"))]
fn chosen(_: FutureRunArgs) -> Result<Choose> {
    let problem = "auto needs libtorch to measure the memory of training, but this program was built without it";
    Err(Error::config("--num-parts", problem).with_hint("pass a number, such as --num-parts 8"))
}

#[cfg(feature = "torch")]
fn chosen(future: FutureRunArgs) -> Result<Choose> {
    use crate::cli::runs::future_config;
    use crate::run::plan::{GraphShape, PartsChooser};

    let mut chooser = Some(PartsChooser::start(future_config::config(future.into_words())?)?);
    Ok(Box::new(move |graph| {
        let Some(chooser) = chooser.take() else {
            return Err(Error::new(ErrorKind::Internal, "partitions were chosen twice"));
        };
        let shape = match graph {
            Uncut::Read(graph, edges) => GraphShape::of_graph(graph, *edges, chooser.run())?,
            Uncut::Generated(config) => GraphShape::of_generated(config),
        };
        let planned = chooser.choose(&shape)?;
        Ok(Chosen { parts: planned.parts, why: Some(line(&planned)) })
    }))
}

/// The choice and its reason.
#[cfg(feature = "torch")]
fn line(planned: &crate::run::plan::PlannedParts) -> String {
    use crate::words::size::size;

    let parts = |parts: usize| {
        if parts == 1 { "1 partition".to_owned() } else { format!("{parts} partitions") }
    };
    let fewer = planned.fewer.map_or_else(String::new, |(fewer, memory)| {
        format!("; in {} it takes {}", parts(fewer), size(memory))
    });
    format!(
        "--num-parts auto: {}, in which training takes about {} at least; --memory-budget is {}{fewer}",
        parts(planned.parts),
        size(planned.memory),
        size(planned.budget)
    )
}
