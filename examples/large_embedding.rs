//! Trains a `DistEmbedding` that is larger than memory: each step draws rows, pulls them towards a target and updates them with
//! `SparseAdam`, whose state is also on disk. The ranks are those of the karate club, a worker process each; the budget changes no bit.
//!
//!     cargo run --release --example large_embedding -- [ROWS] [WIDTH] [STEPS] [ROWS PER STEP] [FOLDER]

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use rand::{RngExt, SeedableRng};
use sar::graph::PartitionBook;
use sar::run::{Job, Rank, launch};
use sar::sampling::stores::{Adam, DistEmbedding, DistTensorConfig, PartitionPolicy, SparseAdam};

const PARTS: &str = "data/karate/karate.json";

/// The rows that are learned, and the steps.
struct Work {
    rows: u64,
    width: usize,
    steps: u64,
    batch: u64,
}

fn main() -> anyhow::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |i: usize, usual: u64| arguments.get(i).map_or(Ok(usual), |text| text.parse());
    let (rows, width) = (number(0, 100_000)?, number(1, 128)? as usize);
    let work = Work { rows, width, steps: number(2, 20)?, batch: number(3, 10_000)? };
    let parent = arguments.get(4).map_or("/var/tmp", String::as_str);
    let folder = tempfile::tempdir_in(parent)?;
    let halves = [vec![rows / 2], vec![rows - rows / 2]];
    let book = PartitionBook::new(vec!["node".to_owned()], vec![], &halves, &[vec![], vec![]])?;
    let book = Arc::new(book);
    let run = |budget: &str| -> anyhow::Result<_> {
        let folder = folder.path().join(budget);
        std::fs::create_dir(&folder)?;
        let mut job = Job::new(PARTS);
        job.resources.memory_budget = budget.parse()?;
        Ok(launch(&job, &mut |_| {}, |rank| train(rank, &book, &folder, &work))?.swap_remove(0))
    };
    let losses = run("min")?;
    assert_eq!(run("4GiB")?, losses, "the budget changes no bit");
    assert!(losses[losses.len() - 1] < losses[0], "{losses:?}");
    println!("peak of the launcher: {}", peak(Path::new("/proc/self/status")));
    Ok(())
}

/// The mean loss of each step.
fn train(
    rank: &Rank<'_>,
    book: &Arc<PartitionBook>,
    folder: &Path,
    work: &Work,
) -> sar::Result<Vec<f64>> {
    let begin = Instant::now();
    let config = DistTensorConfig {
        folder,
        name: Some("embedding"),
        row_shape: &[work.width],
        policy: PartitionPolicy::Nodes(0),
        persistent: false,
    };
    let start = |first: u64, rows: &mut [f32]| {
        rows.iter_mut().zip(first..).for_each(|(value, i)| *value = (i % 7) as f32);
    };
    let embedding = DistEmbedding::on_all_ranks(book, &config, start, rank.ranks())?;
    let say = |text: String| {
        if rank.index() == 0 {
            println!("{text}");
        }
    };
    say(format!(
        "{} GiB made after {:.1} s",
        gib(work.rows * work.width as u64 * 4),
        seconds(begin)
    ));
    let mut optimizer = SparseAdam::new(vec![embedding], Adam::new(0.1), rank.ranks())?;
    let mut random = rand_chacha::ChaCha8Rng::seed_from_u64(rank.index() as u64);
    let mut losses = Vec::new();
    for step in 1..=work.steps {
        let ids: Vec<u64> = (0..work.batch).map(|_| random.random_range(0..work.rows)).collect();
        // Half the squared distance to 3.
        let values = optimizer.embeddings()[0].lookup(&ids)?;
        let gradients: Vec<f32> = values.iter().map(|value| value - 3.0).collect();
        let loss: f64 = gradients.iter().map(|g| f64::from(g * g) / 2.0).sum();
        optimizer.embeddings_mut()[0].accumulate(&ids, &gradients)?;
        optimizer.step(rank.ranks())?;
        let sums = rank.sum(&[loss, gradients.len() as f64])?;
        losses.push(sums[0] / sums[1]);
        if step % 5 == 0 {
            say(format!(
                "step {step}: loss {:.4} after {:.1} s",
                losses[step as usize - 1],
                seconds(begin)
            ));
        }
    }
    Ok(losses)
}

fn seconds(begin: Instant) -> f64 {
    begin.elapsed().as_secs_f64()
}

fn gib(bytes: u64) -> String {
    format!("{:.2}", bytes as f64 / f64::from(1 << 30))
}

fn peak(status: &Path) -> String {
    let text = std::fs::read_to_string(status).unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.map_or("unknown".to_owned(), |line| line.trim().to_owned())
}
