//! Guards against: temporary files that take more of the disk than is announced, or than 1.5 times the input.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::Duration;

use sar::io::{Dtype, npy_header};

const NODES: u64 = 200_000;
const EDGES: u64 = 8_000_000;

/// Edges without a pattern, nearly all of them between partitions, as (2, E) `int64`.
fn write_edges(path: &Path) {
    let mut file = BufWriter::new(File::create(path).unwrap());
    file.write_all(&npy_header(Dtype::I64, &[2, EDGES]).unwrap()).unwrap();
    let mut state = 1_u64;
    for _ in 0..2 * EDGES {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        file.write_all(&((state >> 33) % NODES).to_le_bytes()).unwrap();
    }
    file.flush().unwrap();
}

/// Bytes on disk of the unnamed files that a process has open.
fn unnamed(process: u32) -> u64 {
    let Ok(open) = fs::read_dir(format!("/proc/{process}/fd")) else { return 0 };
    let files = open.filter_map(|file| fs::metadata(file.ok()?.path()).ok());
    let files = files.filter(|file| file.is_file() && file.nlink() == 0);
    let sizes: HashMap<u64, u64> = files.map(|file| (file.ino(), file.blocks() * 512)).collect();
    sizes.values().sum()
}

#[test]
fn temporary_files_take_one_and_a_half_times_the_input() {
    let folder = tempfile::tempdir().unwrap();
    let (input, out) = (folder.path().join("edges.npy"), folder.path().join("parts"));
    let messages = folder.path().join("messages");
    write_edges(&input);
    let mut command = Command::new(env!("CARGO_BIN_EXE_sar-single"));
    command.arg("partition").arg("--edges").arg(&input).arg("--out").arg(&out);
    let flags = ["--num-parts", "8", "--method", "random", "--memory", "256MiB"];
    let mut process = command.args(flags).stderr(File::create(&messages).unwrap()).spawn().unwrap();
    let mut most = 0;
    let status = loop {
        most = unnamed(process.id()).max(most);
        if let Some(status) = process.try_wait().unwrap() {
            break status;
        }
        thread::sleep(Duration::from_millis(2));
    };
    assert!(status.success(), "{}", fs::read_to_string(&messages).unwrap());
    let of_input = most as f64 / (16 * EDGES) as f64;
    // Blocks of the buckets that are not full, and read-ahead of the runs, count little for larger inputs.
    assert!((0.8..1.6).contains(&of_input), "{of_input} times the input");
}
