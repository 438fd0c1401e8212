"""A fraction of the size of ogbn-papers100M, from raw files to predictions, with the plan next to the outcome.

    python benches/papers.py --folder FOLDER [--fraction 8]      # needs numpy; `make bench-papers` calls it

papers100M has 111 million nodes, 1.6 billion edges, 128 features and 172 classes. The script writes raw `.npy` files of a power-law graph
of that shape divided by FRACTION, in pieces and from a seed; cuts them into partitions in 2 GiB; trains GraphSAGE of three layers, 128 wide, in
4 GiB for three epochs, with the plan before it; predicts the classes of all nodes; and trains one epoch on samples. Raw files go as soon as the partitions
exist, and a run's folder as soon as its figures are taken. Sizes on disk include files without names that processes have open.
"""
import argparse
import json
import pathlib
import shutil
import subprocess
import time

import numpy as np

from peaks import most_on_disk

NODES, EDGES, FEATURES, CLASSES, TRAINED = 111_059_956, 1_615_685_872, 128, 172, 1_207_179
PIECE = 1 << 20
BINARY = pathlib.Path(__file__).resolve().parent.parent / "target/release/sar-single"

arguments = argparse.ArgumentParser()
arguments.add_argument("--folder", type=pathlib.Path, required=True)
arguments.add_argument("--fraction", type=int, default=8)
arguments.add_argument("--num-parts", type=int, default=32)
arguments.add_argument("--partition-memory", default="2GiB")
arguments.add_argument("--memory-budget", default="4GiB")
arguments.add_argument("--feature-dtype", default="float16", choices=["float16", "float32"])
arguments.add_argument("--spill-dtype", default="f32", choices=["f32", "bf16"])
arguments.add_argument("--mfg", action="store_true", help="message flow graphs: the last layers at 1 % of the nodes only")
arguments.add_argument("--seed", type=int, default=0)
arguments = arguments.parse_args()
folder = arguments.folder.absolute()
nodes, edges = NODES // arguments.fraction, EDGES // arguments.fraction


def pieces(count):
    """(first, last) of each piece of `count` rows, and a generator of random numbers for it."""
    for first in range(0, count, PIECE):
        yield first, min(first + PIECE, count), np.random.default_rng([arguments.seed, first // PIECE])


def array(name, dtype, shape):
    return np.lib.format.open_memmap(folder / f"raw/{name}.npy", mode="w+", dtype=dtype, shape=shape)


def write_raw():
    """Four in five citations of a node go to its own field, the others to any; popular nodes are cited more often."""
    (folder / "raw").mkdir(parents=True)
    label = array("label", np.int64, (nodes,))
    feat = array("feat", arguments.feature_dtype, (nodes, FEATURES))
    centers = np.random.default_rng([arguments.seed, 1 << 40]).standard_normal((CLASSES, FEATURES), np.float32)
    # Nodes of a class lie side by side, as papers of a field do in no data set: a fixed permutation scatters them.
    scatter = next(step for step in range(nodes * 5 // 8 | 1, nodes) if np.gcd(step, nodes) == 1)
    for first, last, random in pieces(nodes):
        classes = np.arange(first, last) * CLASSES // nodes
        at = np.arange(first, last) * scatter % nodes
        label[at] = classes
        feat[at] = centers[classes] + random.standard_normal((last - first, FEATURES), np.float32) * 4
    edge_index = array("edges", np.int64, (2, edges))
    for first, last, random in pieces(edges):
        cites = random.integers(0, nodes, last - first)
        share = random.random(last - first)
        # Popularity falls with the rank in the field, as a power law with exponent 2.5 for the degrees.
        rank = (share**2.5 * (nodes // CLASSES)).astype(np.int64)
        own = random.random(last - first) < 0.8
        field = np.where(own, cites // (nodes // CLASSES), random.integers(0, CLASSES, last - first))
        cited = field * (nodes // CLASSES) + rank
        edge_index[0, first:last] = np.minimum(cited, nodes - 1) * scatter % nodes
        edge_index[1, first:last] = cites * scatter % nodes
    del edge_index, feat, label
    order = np.random.default_rng([arguments.seed, 1 << 41]).permutation(nodes)
    trained = TRAINED // arguments.fraction
    for name, part in [("train", order[:trained]), ("valid", order[trained : trained * 11 // 10]),
                       ("test", order[trained * 11 // 10 : trained * 13 // 10])]:
        np.save(folder / f"raw/{name}.npy", np.sort(part))


def timed(name, work):
    """Does a step; prints its time and the most that the folder took on disk meanwhile."""
    began = time.monotonic()
    with most_on_disk(folder) as most:
        figures = work()
    print(f"| {name} | {time.monotonic() - began:.0f} | {figures} | {most[0] / 2**30:.1f} |", flush=True)


def run(*flags):
    done = subprocess.run([BINARY, *map(str, flags)], capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(done.stderr)
    return done.stdout + done.stderr


def partition():
    raw = folder / "raw"
    flags = ["--edges", raw / "edges.npy", "--node-data", f"feat={raw / 'feat.npy'}", "--node-data", f"label={raw / 'label.npy'}"]
    for name, mask in [("train", "train"), ("valid", "val"), ("test", "test")]:
        flags += ["--split", f"{mask}={raw / name}.npy"]
    flags += ["--num-parts", arguments.num_parts, "--memory", arguments.partition_memory, "--out", folder / "parts"]
    output = run("partition", *flags)
    shutil.rmtree(raw)
    return "; ".join(line for line in output.splitlines() if line.startswith("edge cut"))


TRAIN = ["--part-json", folder / "parts/g.json", "--model", "sage", "--layers", 3, "--hidden", 128,
         "--spill-dtype", arguments.spill_dtype, "--memory-budget", arguments.memory_budget, "--spill-dir", folder]


def train(name, flags):
    run(*TRAIN, *flags, "--out", folder / name)
    lines = [json.loads(line) for line in (folder / name / "metrics.jsonl").read_text().splitlines()]
    epochs = [line for line in lines if line["event"] == "epoch"]
    moved = [f"{line['epoch_s']:.0f} s, {line['bytes_written'] / 2**30:.1f} + {line['bytes_read'] / 2**30:.1f} GiB" for line in epochs]
    peak = lines[-1]["peak_memory_bytes"] / 2**30
    accuracy = next(line["test_acc"] for line in reversed(lines) if "test_acc" in line)
    return f"{'; '.join(moved)}; peak {peak:.2f} GiB; test {accuracy:.3f}"


def predict():
    out = folder / "predictions.parquet"
    run("predict", "--run", folder / "full", "--memory-budget", arguments.memory_budget, "--out", out)
    written = out.stat().st_size
    out.unlink()
    return f"{written / 2**30:.2f} GiB written"


print("| step | seconds | figures (per epoch: time, written + read) | most on disk, GiB |")
print("|---|---|---|---|")
timed(f"raw files: {nodes} nodes, {edges} edges", lambda: write_raw() or "")
timed(f"partition in {arguments.partition_memory}", partition)
FULL = ["--epochs", 3, *(["--mfg"] if arguments.mfg else [])]
timed("plan", lambda: " ".join(run("plan", *TRAIN, *FULL).split()))
timed(f"train 3 epochs in {arguments.memory_budget}", lambda: train("full", FULL))
timed("predict all nodes", predict)
shutil.rmtree(folder / "full")
timed("train 1 epoch on samples", lambda: train("sampled", ["--mode", "sample", "--fanouts", "15,10,5", "--batch-size", 1024, "--epochs", 1]))
