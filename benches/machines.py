#!/usr/bin/env python3
"""Runs on 1, 2 and 4 machines, which are processes of this one: each in a memory control group with its own budget.

Shows, for each number of machines, the median seconds of an epoch, the bytes that machines send each other in an epoch, the fewest that they could
send, and the peak memory of each machine's processes with their page cache. All run in turns, so that other work on the machine slows all of them
down. Needs numpy, root and control groups of version 1 (/sys/fs/cgroup/memory); without those, the peaks are missing.

    benches/machines.py --sar-single target/mpi/release/sar-single --mpirun mpirun --folder /var/tmp/machines
"""
import argparse, json, os, pathlib, shutil, statistics, subprocess, sys

import numpy as np

GROUPS = pathlib.Path("/sys/fs/cgroup/memory")
NODES, EDGES, PARTS = 60_000, 900_000, 4
FEATURES, HIDDEN, CLASSES = 64, 64, 16
MODES = {
    "full graph": ["--layers", "3", "--hidden", str(HIDDEN), "--epochs", "6"],
    "sampled": "--mode sample --layers 2 --fanouts 10,10 --batch-size 512 --hidden 64 --epochs 3".split(),
}


def edges():
    """Edges between nodes of one partition, and every twelfth to any node."""
    rng = np.random.default_rng(1)
    target = rng.integers(0, NODES, EDGES)
    size = NODES // PARTS
    source = target // size * size + rng.integers(0, size, EDGES)
    anywhere = rng.random(EDGES) < 1 / 12
    source[anywhere] = rng.integers(0, NODES, np.count_nonzero(anywhere))
    return source, target


def make_graph(program, folder):
    folder.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(2)
    files = {
        "edges": np.stack(edges(), axis=1),
        "feat": rng.standard_normal((NODES, FEATURES), np.float32),
        "label": rng.integers(0, CLASSES, NODES),
        "train": np.arange(0, NODES, 2),
    }
    path = lambda name: str(folder / f"{name}.npy")
    for name, array in files.items():
        np.save(path(name), array)
    np.savetxt(folder / "parts.txt", np.arange(NODES) // (NODES // PARTS), "%d")
    data = ["--edges", path("edges"), "--node-data", "feat=" + path("feat"), "--node-data", "label=" + path("label")]
    data += ["--split", "train=" + path("train"), "--method", "file", "--assignment", str(folder / "parts.txt")]
    out = ["--num-parts", str(PARTS), "--name", "g", "--out", str(folder / "graph")]
    subprocess.run([program, "partition", *data, *out], check=True, stdout=sys.stderr)


def fewest_bytes(machines):
    """Rows that machines must send in an epoch on the full graph: each row of a hidden layer that another machine's nodes have as a neighbour
    goes there once, and a gradient of it comes back. The last layer's rows are multiplied first. Features are sent in the first epoch only."""
    source, target = (ids // (NODES // machines) for ids in edges())
    rows = np.unique((edges()[0] * machines + target)[source != target]).size
    return rows * 2 * 4 * (HIDDEN + CLASSES)


def group(machine):
    """A control group for a machine, or nothing."""
    path = GROUPS / f"sar-machine-{machine}"
    try:
        path.mkdir(exist_ok=True)
        (path / "memory.max_usage_in_bytes").write_text("0")
        return path
    except OSError:
        return None


def run(args, machines, mode, folder):
    """Trains on a number of machines; the epochs' lines of the metrics, and the peak of each machine."""
    out = folder / "run"
    shutil.rmtree(out, ignore_errors=True)
    groups = [group(machine) for machine in range(machines)]
    train = [args.sar_single, "--part-json", str(folder / "graph/g.json"), "--threads", "1", "--resident", "1"]
    train += ["--memory-budget", args.memory, "--out", str(out), "--quiet", *MODES[mode]]
    command = [args.mpirun] if machines > 1 else []
    for machine, path in enumerate(groups):
        enter = f"echo $$ > {path}/cgroup.procs && " if path else ""
        words = ["sh", "-c", enter + 'exec "$0" "$@"', *train, "--spill-dir", str(folder / f"spill-{machine}")]
        command += ([":"] if machine else []) + (["-n", "1"] if machines > 1 else []) + words
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    peaks = [int((path / "memory.max_usage_in_bytes").read_text()) for path in groups if path]
    lines = map(json.loads, (out / "metrics.jsonl").read_text().splitlines())
    return [line for line in lines if line["event"] == "epoch"], peaks


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sar-single", default="target/mpi/release/sar-single")
    parser.add_argument("--mpirun", default="mpirun")
    parser.add_argument("--folder", type=pathlib.Path, default=pathlib.Path("/var/tmp/sar-machines"))
    parser.add_argument("--memory", default="512MiB", help="budget of each machine")
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args()
    if not (args.folder / "graph/g.json").exists():
        make_graph(args.sar_single, args.folder)
    print("| | machines | median epoch | sent in an epoch | at least | peak memory of each machine |\n|---|---|---|---|---|---|")
    for mode in MODES:
        rounds = [{n: run(args, n, mode, args.folder) for n in (1, 2, 4)} for _ in range(args.rounds)]
        for n in (1, 2, 4):
            # The first epoch makes the graph ready.
            epochs = [line for of in rounds for line in of[n][0][1:]]
            seconds = statistics.median(line["epoch_s"] for line in epochs)
            sent = statistics.median(line.get("bytes_sent", 0) for line in epochs)
            peaks = [max(of[n][1][machine] for of in rounds) for machine in range(n)] if rounds[0][n][1] else []
            shown = ", ".join(f"{peak / 2**20:.0f}" for peak in peaks) + " MiB" if peaks else "-"
            least = f"{fewest_bytes(n) / 1e6:.1f} MB" if mode == "full graph" else ""
            print(f"| {mode} | {n} | {seconds:.2f} s | {sent / 1e6:.1f} MB | {least} | {shown} |", flush=True)
    for machine in range(4):
        path = GROUPS / f"sar-machine-{machine}"
        if path.is_dir():
            os.rmdir(path)


if __name__ == "__main__":
    main()
