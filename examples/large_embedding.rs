//! Trains a `DistEmbedding` that is larger than memory: each step draws rows, pulls them towards a target and updates them with
//! `SparseAdam`, whose state is also on disk.
//!
//!     cargo run --release --example large_embedding -- [ROWS] [WIDTH] [STEPS] [ROWS PER STEP] [FOLDER]

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use rand::{RngExt, SeedableRng};
use sar::engine::comm::{NoHooks, Ranks};
use sar::graph::PartitionBook;
use sar::sampling::stores::{Adam, DistEmbedding, DistTensorConfig, PartitionPolicy, SparseAdam};
use sar::testing::on_ranks;

fn main() -> anyhow::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |i: usize, usual: u64| arguments.get(i).map_or(Ok(usual), |text| text.parse());
    let (rows, width, steps) = (number(0, 100_000)?, number(1, 128)? as usize, number(2, 20)?);
    let batch = number(3, 10_000)?;
    let parent = arguments.get(4).map_or("/var/tmp", String::as_str);
    let folder = tempfile::tempdir_in(parent)?;
    let book = PartitionBook::new(vec!["node".to_owned()], vec![], &[vec![rows]], &[vec![]])?;
    let book = Arc::new(book);
    let begin = Instant::now();
    let config = DistTensorConfig {
        folder: folder.path(),
        name: Some("embedding"),
        row_shape: &[width],
        policy: PartitionPolicy::Nodes(0),
        persistent: false,
    };
    on_ranks(1, 1, |context| {
        let embedding = DistEmbedding::create(&book, &config, |first, rows| {
            rows.iter_mut().zip(first..).for_each(|(value, i)| *value = (i % 7) as f32);
        })?;
        println!("{} GiB made after {:.1} s", gib(rows * width as u64 * 4), seconds(begin));
        let ranks = Ranks { group: &*context.group, hooks: &NoHooks };
        let mut optimizer = SparseAdam::new(vec![embedding], Adam::new(0.1), ranks)?;
        let mut random = rand_chacha::ChaCha8Rng::seed_from_u64(0);
        for step in 1..=steps {
            let ids: Vec<u64> = (0..batch).map(|_| random.random_range(0..rows)).collect();
            // Half the squared distance to 3.
            let values = optimizer.embeddings()[0].lookup(&ids)?;
            let gradients: Vec<f32> = values.iter().map(|value| value - 3.0).collect();
            let loss: f64 = gradients.iter().map(|g| f64::from(g * g) / 2.0).sum();
            optimizer.embeddings_mut()[0].accumulate(&ids, &gradients)?;
            optimizer.step(ranks)?;
            if step % 5 == 0 {
                let mean = loss / gradients.len() as f64;
                println!("step {step}: loss {mean:.4} after {:.1} s", seconds(begin));
            }
        }
        Ok(())
    })?;
    println!("peak of the process: {}", peak(Path::new("/proc/self/status")));
    Ok(())
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
