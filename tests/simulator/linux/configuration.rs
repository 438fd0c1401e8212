//! The training run of a seed.

use std::path::Path;

use super::graphs::{Graph, POOL};
use super::outcome::entries;
use super::random::Random;

/// A training run, without its folders.
#[derive(Debug, Clone)]
pub(crate) struct Configuration {
    pub(crate) graph: Graph,
    pub(crate) flags: Vec<String>,
    /// Flags that change no result, which may differ when the run is resumed.
    pub(crate) free: Vec<String>,
    /// Whether spilled data go to a disk instead of memory.
    pub(crate) on_disk: bool,
    /// Number of machines.
    pub(crate) machines: usize,
}

/// The part of the graph that a training step uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    Full,
    Mfg,
    OneShot,
    NoRemat,
    Sampled,
    Link,
    Relations,
    SampledRelations,
    LinkRelations,
}

impl Mode {
    fn samples(self) -> bool {
        self.predicts_edges() || matches!(self, Mode::Sampled | Mode::SampledRelations)
    }

    fn predicts_edges(self) -> bool {
        matches!(self, Mode::Link | Mode::LinkRelations)
    }

    fn has_relations(self) -> bool {
        matches!(self, Mode::Relations | Mode::SampledRelations | Mode::LinkRelations)
    }
}

impl Configuration {
    /// The run of a seed, on a graph of the pool in `folder`.
    pub(crate) fn of_seed(seed: u64, folder: &Path) -> Configuration {
        use Mode::{
            Full, Link, LinkRelations, Mfg, NoRemat, OneShot, Relations, Sampled, SampledRelations,
        };
        let mut random = Random::new(seed, "configuration");
        // Numbers of their own: the configurations of seeds that draw none of these stay as they were.
        let mut later = Random::new(seed, "later configuration");
        let mode = random.pick(&[
            Full,
            Full,
            Full,
            Mfg,
            OneShot,
            NoRemat,
            Sampled,
            Sampled,
            Link,
            Relations,
            SampledRelations,
        ]);
        let mode = if mode == Link && later.chance(60) { LinkRelations } else { mode };
        let graph = Graph::of_pool(folder, random.below(POOL), mode.has_relations());
        let mut flags = Flags::default();
        let layers = random.between(1, 3);
        match mode {
            Mfg => flags.push(&["--mfg"]),
            OneShot => flags.push(&["--one-shot"]),
            NoRemat => flags.push(&["--no-remat"]),
            Relations | SampledRelations | LinkRelations => {
                flags.push(&["--hetero", random.pick(&["sum", "mean", "max"])]);
            }
            Full | Sampled | Link => {}
        }
        if mode.samples() {
            sampling(&mut flags, &mut random, mode, layers);
        }
        task(&mut flags, &mut random, mode);
        model(&mut flags, &mut random, &mut later, mode, layers);
        training(&mut flags, &mut random, mode);
        evaluations(&mut flags, &mut Random::new(seed, "evaluations"), mode, layers);
        steps(&mut flags, &mut later, mode);
        rows(&mut flags, &mut Random::new(seed, "rows"), mode);
        let machines = machines(&graph, &mut Random::new(seed, "machines"));
        let (free, on_disk) = (free(&mut random), random.chance(10));
        Configuration { graph, flags: flags.0, free, on_disk, machines }
    }

    /// The command line that trains, with results and spilled data in these folders.
    pub(crate) fn train(&self, out: &Path, spill: &Path) -> Vec<String> {
        let mut command = vec!["sar-single".to_owned(), "--part-json".to_owned()];
        command.push(self.graph.json.display().to_string());
        for (flag, folder) in [("--out", out), ("--spill-dir", spill)] {
            command.extend([flag.to_owned(), folder.display().to_string()]);
        }
        command.extend(self.flags.iter().chain(&self.free).cloned());
        if !entries(out).is_empty() {
            command.push("--overwrite".to_owned());
        }
        command
    }

    /// The command line that resumes a run, possibly with other flags that change no result.
    pub(crate) fn resume(out: &Path, random: &mut Random) -> Vec<String> {
        let mut command = ["sar-single", "--resume"].map(str::to_owned).to_vec();
        command.push(out.display().to_string());
        if random.chance(30) {
            command.extend(free(random));
        }
        command
    }
}

/// A list of flags.
#[derive(Default)]
struct Flags(Vec<String>);

impl Flags {
    fn push(&mut self, flags: &[&str]) {
        self.0.extend(flags.iter().map(|flag| (*flag).to_owned()));
    }
}

/// Number of machines: mostly one.
fn machines(graph: &Graph, random: &mut Random) -> usize {
    let several = random.pick(&[2, 2, 3]).min(graph.parts) as usize;
    if random.chance(25) { several } else { 1 }
}

fn sampling(flags: &mut Flags, random: &mut Random, mode: Mode, layers: u64) {
    let fanouts: Vec<String> =
        (0..layers).map(|_| random.pick(&["-1", "2", "4"]).to_owned()).collect();
    flags.push(&["--mode", "sample", "--fanouts", &fanouts.join(",")]);
    flags.push(&["--batch-size", random.pick(&["3", "8", "1000"])]);
    if random.chance(20) {
        flags.push(&["--replace"]);
    }
    if random.chance(15) && !mode.predicts_edges() {
        flags.push(&["--edge-prob", "weight"]);
    }
    flags.push(&["--sampler-threads", random.pick(&["0", "0", "1", "2"])]);
}

/// Evaluations between epochs, on samples or not.
fn evaluations(flags: &mut Flags, random: &mut Random, mode: Mode, layers: u64) {
    if !random.chance(25) {
        return;
    }
    flags.push(&["--eval-every", random.pick(&["1", "2"])]);
    if !mode.predicts_edges() && random.chance(50) {
        flags.push(&["--keep", random.pick(&["best", "last"])]);
    }
    if matches!(mode, Mode::Sampled | Mode::SampledRelations) && random.chance(50) {
        let fanouts = vec![random.pick(&["2", "-1"]); layers as usize];
        flags.push(&["--eval-fanouts", &fanouts.join(",")]);
    }
}

/// Edges of one type to predict, batches of training nodes with common neighbours, and reports of steps.
fn steps(flags: &mut Flags, random: &mut Random, mode: Mode) {
    if mode == Mode::LinkRelations && random.chance(60) {
        let target = random.pick(&["r1", "b:r2:a", "r3"]);
        flags.push(&["--target-etype", target]);
        if target == "r1" && random.chance(30) {
            flags.push(&["--reverse-etype", "r2"]);
        }
    }
    if matches!(mode, Mode::Sampled | Mode::SampledRelations) && random.chance(30) {
        flags.push(&["--optimized-batches"]);
    }
    if mode.samples() && random.chance(25) {
        flags.push(&["--log-every", random.pick(&["1", "2"])]);
    }
}

/// Batches of labelled nodes, for models that propagate features once.
fn rows(flags: &mut Flags, random: &mut Random, mode: Mode) {
    let once =
        flags.0.windows(2).any(|pair| pair[0] == "--model" && matches!(&*pair[1], "sgc" | "sign"));
    if once && mode != Mode::Mfg && random.chance(60) {
        flags.push(&["--batch-size", random.pick(&["3", "8", "1000"])]);
        flags.push(&["--sampler-threads", random.pick(&["0", "0", "1"])]);
    }
}

fn task(flags: &mut Flags, random: &mut Random, mode: Mode) {
    match (mode, random.below(6)) {
        (Mode::Link | Mode::LinkRelations, _) => {
            flags.push(&[
                "--task",
                "link",
                "--score",
                random.pick(&["dot", "bilinear", "distmult"]),
            ]);
            flags.push(&["--negatives", random.pick(&["1", "3"])]);
        }
        (_, 0) => flags.push(&["--task", "multilabel", "--label-key", "several"]),
        (_, 1) => flags.push(&["--task", "regression", "--label-key", "target"]),
        (_, 2) => flags.push(&["--label-key", "label", "--class-weights", "balanced"]),
        _ => flags.push(&["--label-key", "label"]),
    }
}

fn model(flags: &mut Flags, random: &mut Random, later: &mut Random, mode: Mode, layers: u64) {
    let full = !mode.samples();
    let mut names = vec!["sage", "sage", "gcn", "gat", "gatv2", "gin", "egat"];
    if full && !mode.has_relations() {
        names.extend(["appnp", "sgc", "sign", "rgcn"]);
    }
    let drawn = random.pick(&names);
    let name = if mode.has_relations() && later.chance(25) { "rgcn" } else { drawn };
    let stack = !matches!(name, "appnp" | "sgc" | "sign");
    // Rows of a wide layer make files that go around the page cache. With a layer per edge type, its weights fill a machine.
    let wide = full && name == "sage" && random.chance(6) && !mode.has_relations();
    let layers = if wide { 2 } else { layers };
    let hidden = if wide { "16000" } else { random.pick(&["4", "5", "8"]) };
    flags.push(&["--model", name]);
    let dropout = random.pick(&["0", "0", "0.3"]);
    // SGC is one linear layer.
    if name != "sgc" {
        let layers = layers.to_string();
        flags.push(&["--layers", &layers, "--hidden", hidden, "--dropout", dropout]);
    }
    let mut weighted = matches!(name, "sage" | "gcn" | "gin") && !mode.has_relations();
    match name {
        "sage" => {
            let aggregator =
                if wide { "mean" } else { random.pick(&["mean", "mean", "gcn", "pool"]) };
            flags.push(&["--aggregator", aggregator]);
            weighted &= aggregator != "pool";
        }
        "gat" | "gatv2" | "egat" => flags.push(&["--heads", random.pick(&["1", "2"])]),
        "rgcn" if random.chance(50) => flags.push(&["--bases", "2"]),
        "appnp" | "sgc" | "sign" => flags.push(&["--hops", random.pick(&["1", "2"])]),
        _ => {}
    }
    if stack && random.chance(30) {
        let norms: &[&str] =
            if full && mode != Mode::Mfg { &["layer", "batch"] } else { &["layer"] };
        flags.push(&["--norm", random.pick(norms)]);
    }
    if stack && !wide && random.chance(15) {
        flags.push(&["--jk", random.pick(&["cat", "max"])]);
    }
    if stack && random.chance(15) {
        flags.push(&["--residual"]);
    }
    let on_edges = name == "gatv2" && random.chance(50);
    if name == "egat" || on_edges {
        flags.push(&["--edge-features-key", "weight"]);
    }
    if weighted && random.chance(20) {
        flags.push(&["--edge-weight-key", "weight"]);
    }
}

fn training(flags: &mut Flags, random: &mut Random, mode: Mode) {
    let epochs = random.between(1, 5);
    flags.push(&["--epochs", &epochs.to_string(), "--seed", &random.below(1000).to_string()]);
    if random.chance(75) {
        flags.push(&["--checkpoint-every", random.pick(&["1", "1", "2", "3"])]);
    }
    flags.push(&["--optimizer", random.pick(&["sgd", "adam", "adam", "adamw"])]);
    match random.below(6) {
        0 => flags.push(&["--schedule", "step,step_size=2"]),
        1 => flags.push(&["--schedule", "cosine"]),
        2 if !mode.predicts_edges() => flags.push(&["--schedule", "plateau,patience=1"]),
        _ => {}
    }
    if random.chance(15) {
        flags.push(&["--patience", random.pick(&["1", "2"])]);
    }
    if random.chance(10) {
        flags.push(&["--clip-norm", "0.5"]);
    }
    match random.below(5) {
        0 => flags.push(&["--spill-dtype", "bf16"]),
        1 => flags.push(&["--compute-dtype", "bf16"]),
        _ => {}
    }
}

/// Flags that change no result.
fn free(random: &mut Random) -> Vec<String> {
    let mut flags = Flags::default();
    // The middle one is too small for a run without a plan, and enough for this run.
    flags.push(&["--memory-budget", random.pick(&["min", "min", "min", "min", "300MiB", "2GiB"])]);
    flags.push(&["--io", random.pick(&["auto", "direct", "buffered"])]);
    if random.chance(60) {
        flags.push(&["--resident", random.pick(&["1", "1", "2", "4"])]);
    }
    flags.push(&["--threads", random.pick(&["1", "1", "2"])]);
    flags.0
}
