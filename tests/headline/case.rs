//! A run that is drawn from a seed.

use std::fmt;

#[path = "../simulator/linux/random.rs"]
#[allow(dead_code)]
mod random;

use random::Random;

use super::graphs::Division;

/// Budgets, in multiples of what the run takes with `--memory-budget min`.
pub(crate) const BUDGETS: [f64; 3] = [1.15, 1.5, 3.0];

/// Graphs, and widths of layers: either most of the memory is in the rows of nodes, or in parameters and in the outputs of many classes.
const GRAPHS: [([&str; 8], [&str; 3]); 3] = [
    (
        ["--nodes", "30000", "--edges", "300000", "--features", "64", "--classes", "8"],
        ["32", "64", "128"],
    ),
    (
        ["--nodes", "3000", "--edges", "30000", "--features", "300", "--classes", "47"],
        ["16", "256", "700"],
    ),
    (
        ["--nodes", "10000", "--edges", "40000", "--features", "16", "--classes", "600"],
        ["16", "32", "64"],
    ),
];

/// A model in a mode, with the flags that its memory depends on.
pub(crate) struct Case {
    seed: u64,
    pub(crate) parts: usize,
    pub(crate) division: Division,
    /// Flags of `generate`.
    pub(crate) graph: [&'static str; 8],
    pub(crate) flags: Vec<String>,
}

impl Case {
    pub(crate) fn draw(seed: u64, models: &[String]) -> Self {
        let mut random = Random::new(seed, "budget");
        let mut flags: Vec<String> = Vec::new();
        let mut add = |more: &[&str]| flags.extend(more.iter().map(|flag| (*flag).to_owned()));
        let model = models[random.below(models.len() as u64) as usize].as_str();
        add(&["--model", model]);
        let (even, types) = (Division::Even, Division::Types);
        let division = random.pick(&[even, even, Division::Skewed, types]);
        if division == types && model != "rgcn" {
            add(&["--hetero", random.pick(&["sum", "mean", "max"])]);
        }
        let modes: [&[&str]; 9] = [
            &[],
            &["--mfg"],
            &["--one-shot"],
            &["--no-remat"],
            &["--mode", "sample", "--batch-size", "512"],
            // Most edges are held out, as an epoch would take half a minute with all of them.
            &["--mode", "sample", "--task", "link", "--batch-size", "8192", "--split", "test=60%"],
            &["--mode", "sample", "--batch-size", "512", "--eval-every", "2"],
            &["--mode", "sample", "--batch-size", "512", "--sampler-threads", "1"],
            &["--mode", "sample", "--eval-every", "2", "--eval-fanouts", "20,20,20"],
        ];
        add(modes[random.below(modes.len() as u64) as usize]);
        let (graph, widths) = GRAPHS[random.below(GRAPHS.len() as u64) as usize];
        // Each relation has a layer of its own.
        let widths = if division == types { ["16", "32", "64"] } else { widths };
        add(&["--hidden", random.pick(&widths)]);
        for (chance, more) in [
            (30, ["--spill-dtype", "bf16"]),
            (30, ["--resident", "1"]),
            (20, ["--resident", "2"]),
            (30, ["--threads", "1"]),
            (20, ["--io", "direct"]),
            (20, ["--io", "buffered"]),
            (30, ["--dropout", "0.3"]),
            (30, ["--norm", "layer"]),
        ] {
            // The first of two values counts.
            if random.chance(chance) && !flags.contains(&more[0].to_owned()) {
                flags.extend(more.iter().map(|flag| (*flag).to_owned()));
            }
        }
        Case { seed, parts: random.pick(&[2, 4, 7]), division, graph, flags }
    }

    /// Whether training is on samples.
    pub(crate) fn samples(&self) -> bool {
        self.flags.iter().any(|flag| flag == "sample")
    }

    /// Whether the run predicts edges, for which `predict` needs pairs of nodes.
    pub(crate) fn predicts_edges(&self) -> bool {
        self.flags.iter().any(|flag| flag == "link")
    }
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Case { seed, parts, division, graph, flags } = self;
        let graph = if *division == Division::Types { String::new() } else { graph.join(" ") };
        write!(f, "seed {seed}: {parts} parts, {division:?} {graph} {}", flags.join(" "))
    }
}
