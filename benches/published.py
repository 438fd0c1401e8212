"""Runs on generated graphs of the shapes of published measurements: a command per row of a table, with the published figure.

    python benches/published.py ROW --folder FOLDER [--scale 8] [--budget 8GiB] [--parts 16] [--epochs 3] [--kind sbm|rmat] [--keep]

ROW is one of igb-gcn, products-gcn, papers-sage, papers-samples and papers-sign. Nodes and edges are those of the data set divided by SCALE (papers:
those of ogbn-papers100M in both directions). Features, classes and the shares of labelled nodes are those of the data set, and values are random:
nothing is downloaded. The graph comes from `sar-single generate` with seed 0; `--keep` keeps it in FOLDER for other rows.

A row has the median seconds of the epochs after the first, processor seconds of all workers (user + system), GiB written and read in an epoch,
the lower bound of `sar-single plan` on their sum, and the peak memory. The published figure is that of the whole data set.
"""
import argparse
import json
import pathlib
import shutil
import statistics
import subprocess

BINARY = pathlib.Path(__file__).resolve().parent.parent / "target/release/sar-single"

# Nodes, edges, features, classes, type of features in files, shares of labelled nodes.
SHAPES = {
    "igb": (10_000_000, 120_077_694, 1024, 19, "float16", "0.6,0.2,0.2"),
    "products": (2_449_029, 123_718_280, 100, 47, "float32", "0.08,0.016,0.904"),
    "papers": (111_059_956, 3_231_371_744, 128, 172, "float32", "0.01087,0.00113,0.00193"),
}
GCN = ["--model", "gcn", "--layers", 3, "--hidden", 256]
SAGE = ["--model", "sage", "--layers", 3, "--hidden", 256]
# Shape, flags, partitions, budget, published figure.
ROWS = {
    "igb-gcn": ("igb", GCN, 16, "8GiB", "GriNNder 102.4 s in 16 partitions; A5000 24 GB, 128 GB (arXiv 2605.11517)"),
    "products-gcn": ("products", GCN, 4, "4GiB", "GriNNder 1.55, 5.13, 6.73 s in 1, 2, 4 partitions; A5000 24 GB, 128 GB (arXiv 2605.11517)"),
    "papers-sage": ("papers", SAGE, 32, "8GiB", "SAR 7.4 s; 32 machines of 72 cores, 95 GB each: 17,000 core-seconds (arXiv 2111.06483)"),
    "papers-samples": ("papers", [*SAGE, "--mode", "sample", "--fanouts", "15,10,5", "--batch-size", 1024], 32, "8GiB",
                       "with GPUs: DiskGNN 76 s, MariusGNN 205 s, Ginex 580 s (arXiv 2405.05231)"),
    "papers-sign": ("papers", ["--model", "sign", "--hops", 3, "--layers", 2, "--hidden", 512, "--batch-size", 1024], 32, "8GiB",
                    "test accuracy 65.7 % (SIGN), 63.3 % (SGC) on the data set"),
}

arguments = argparse.ArgumentParser()
arguments.add_argument("row", choices=ROWS)
arguments.add_argument("--folder", type=pathlib.Path, required=True)
arguments.add_argument("--scale", type=int, default=8)
arguments.add_argument("--budget")
arguments.add_argument("--parts", type=int)
arguments.add_argument("--epochs", type=int, default=3)
arguments.add_argument("--kind", default="sbm")
arguments.add_argument("--keep", action="store_true")
arguments = arguments.parse_args()
shape, flags, parts, budget, published = ROWS[arguments.row]
parts, budget = arguments.parts or parts, arguments.budget or budget
folder = arguments.folder.absolute()
graph, out = folder / f"{shape}-{arguments.scale}-{parts}-{arguments.kind}", folder / f"{arguments.row}-run"
GIB = 2**30


def sar(*words):
    done = subprocess.run([BINARY, *map(str, words)], capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(done.stderr)
    return done.stdout


nodes, edges, features, classes, dtype, split = SHAPES[shape]
nodes, edges = nodes // arguments.scale, edges // arguments.scale
folder.mkdir(parents=True, exist_ok=True)
if not graph.exists():
    sar("generate", "--kind", arguments.kind, "--nodes", nodes, "--edges", edges, "--features", features, "--feature-dtype", dtype,
        "--classes", classes, "--split", split, "--num-parts", parts, "--out", graph)
run = ["--part-json", graph / "g.json", *flags, "--memory-budget", budget, "--spill-dir", folder]
bound = "none known"
if "--batch-size" not in flags:
    found = json.loads(sar("plan", *run, "--json"))["epoch"].get("bound")
    bound = "none known" if found is None else f"{found / GIB:.2f}"
sar(*run, "--epochs", arguments.epochs, "--out", out, "--overwrite")
lines = [json.loads(line) for line in (out / "metrics.jsonl").read_text().splitlines()]
epochs = [line for line in lines if line["event"] == "epoch"]
later = epochs[1:] or epochs
median = {key: statistics.median(line[key] for line in later) for key in ("epoch_s", "bytes_written", "bytes_read")}
cores = statistics.median(line["user_s"] + line["system_s"] for line in later)
peak = max(line["peak_memory_bytes"] for line in epochs)
shutil.rmtree(out)
if not arguments.keep:
    shutil.rmtree(graph)
print("| row | nodes, edges | s per epoch (the first) | core-s | written + read, GiB | bound, GiB | peak of budget | published, whole data set |")
print("|---|---|---|---|---|---|---|---|")
print(f"| {arguments.row}, {parts} partitions | 1/{arguments.scale}: {nodes:,}, {edges:,} | {median['epoch_s']:.2f} ({epochs[0]['epoch_s']:.2f}) | {cores:.1f} "
      f"| {median['bytes_written'] / GIB:.2f} + {median['bytes_read'] / GIB:.2f} | {bound} | {peak / GIB:.2f} of {budget} | {published} |")
