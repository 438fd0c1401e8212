"""Times sar-single and DGL in memory on one generated graph, in turns, and prints medians, spreads and ratios: of medians, of the fastest
epochs, and of whole runs from start to end (ours also evaluate). With `--pyg` it times PyTorch Geometric, too; with `--fio` the disk.

    make build && python benches/against_dgl.py [--python PYTHON_WITH_DGL] [--model sage|gat|gcn] [--parts 4,8,16] [--rounds 2] [--fanouts 15,10,5]

Needs a Python with dgl, torch and their requirements (pip install dgl==2.1.0 torch==2.2.1 ...); everything else is in
this repository. The graph is kept in --folder for the next time.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
BINARY = os.path.join(HERE, "..", "target", "release", "sar-single")

arguments = argparse.ArgumentParser()
arguments.add_argument("--python", default=sys.executable)
arguments.add_argument("--model", default="sage", choices=["sage", "gat", "gcn"])
arguments.add_argument("--nodes", default="200000")
arguments.add_argument("--edges", default="4000000")
arguments.add_argument("--features", default="128")
arguments.add_argument("--part-json", help="use this graph instead of a generated one; --parts has to be its number of partitions")
arguments.add_argument("--classes", default="40")
arguments.add_argument("--layers", default=None)
arguments.add_argument("--hidden", default=None)
arguments.add_argument("--fanouts", help="train on samples, in batches of 1024")
arguments.add_argument("--threads", default="2")
arguments.add_argument("--binary", default=BINARY)
arguments.add_argument("--parts", default="4,8,16")
arguments.add_argument("--budgets", default="min,6GiB")
arguments.add_argument("--dtypes", default="f32,bf16")
arguments.add_argument("--epochs", type=int, default=7)
arguments.add_argument("--rounds", type=int, default=2)
arguments.add_argument("--pyg", action="store_true", help="time PyTorch Geometric in memory, too")
arguments.add_argument("--fio", action="store_true", help="show what fio takes for as many bytes, read and written side by side")
arguments.add_argument("--folder", default=os.path.join(tempfile.gettempdir(), "sar-single-bench"))
arguments = arguments.parse_args()

gat = arguments.model == "gat"
shape = ["--layers", arguments.layers or ("2" if gat else "3"), "--hidden", arguments.hidden or ("32" if gat else "128")]
shape += ["--heads", "4"] if gat else []


def graph(parts):
    if arguments.part_json:
        return arguments.part_json
    folder = os.path.join(arguments.folder, f"{arguments.nodes}-{arguments.edges}-{arguments.features}-{parts}")
    if not os.path.exists(f"{folder}/g.json"):
        flags = ["--nodes", arguments.nodes, "--edges", arguments.edges, "--features", arguments.features]
        flags += ["--classes", arguments.classes, "--num-parts", str(parts), "--seed", "0", "--out", folder]
        subprocess.run([arguments.binary, "generate", *flags], check=True, stdout=subprocess.DEVNULL)
    return f"{folder}/g.json"


def ours(parts, budget, dtype):
    with tempfile.TemporaryDirectory() as out:
        flags = ["--part-json", graph(parts), "--model", arguments.model, *shape, "--dropout", "0"]
        flags += ["--epochs", str(arguments.epochs), "--threads", arguments.threads, "--memory-budget", budget]
        flags += ["--compute-dtype", dtype]
        if arguments.fanouts:
            flags += ["--mode", "sample", "--fanouts", arguments.fanouts, "--batch-size", "1024"]
        begin = time.monotonic()
        run = subprocess.run([arguments.binary, *flags, "--overwrite", "--out", out], capture_output=True, text=True)
        if run.returncode:
            sys.exit(run.stderr)
        with open(f"{out}/metrics.jsonl") as file:
            lines = [json.loads(line) for line in file]
    whole = time.monotonic() - begin
    first, _, *epochs = [line for line in lines if line["event"] == "epoch"]
    last = epochs[-1]
    return {
        "epoch_s": [epoch["epoch_s"] for epoch in epochs],
        "whole_s": whole,
        "peak_bytes": lines[-1]["peak_memory_bytes"],
        "turns": last["lock_turns"],
        "written": last["bytes_written"],
        "read": last["bytes_read"],
        "cached": last["bytes_cached"],
        "first_s": first["epoch_s"],
        "processor": (last["user_s"], last["system_s"]),
    }


def in_memory(library, parts):
    script = os.path.join(HERE, "in_memory.py")
    flags = ["--library", library, "--model", arguments.model, *shape, "--epochs", str(arguments.epochs), "--threads", arguments.threads]
    if arguments.fanouts:
        flags += ["--fanouts", arguments.fanouts]
    begin = time.monotonic()
    run = subprocess.run(
        [arguments.python, script, graph(parts), *flags], capture_output=True, text=True
    )
    if run.returncode:
        sys.exit(run.stderr)
    return {**json.loads(run.stdout.splitlines()[-1]), "whole_s": time.monotonic() - begin}


def fio_seconds(run):
    """Seconds that fio takes for the bytes of an epoch that go past the page cache, most of them read and the rest written meanwhile."""
    read, written = run["read"] - run["cached"] / 2, run["written"] - run["cached"] / 2
    job = ["--name=sar-single-bench", f"--directory={tempfile.gettempdir()}", "--bs=1M", "--size=2G", "--fallocate=none", "--direct=1"]
    job += ["--ioengine=libaio", "--iodepth=4", "--rw=rw", f"--rwmixread={round(100 * read / (read + written))}", "--unlink=1"]
    job += ["--output-format=json"]
    shown = json.loads(subprocess.run(["fio", *job], check=True, capture_output=True, text=True).stdout)["jobs"][0]
    rate = shown["read"]["bw_bytes"] + shown["write"]["bw_bytes"]
    print(f"fio: {rate / 1e6:.0f} MB/s, {(read + written) / rate:.1f} s for the bytes of an epoch", flush=True)


parts = [int(part) for part in arguments.parts.split(",")]
results = {}
for _ in range(arguments.rounds):
    results.setdefault("DGL in memory", []).append(in_memory("dgl", parts[0]))
    if arguments.pyg:
        results.setdefault("PyTorch Geometric in memory", []).append(in_memory("pyg", parts[0]))
    for part in parts:
        for budget in arguments.budgets.split(","):
            for dtype in arguments.dtypes.split(","):
                name = f"{part} partitions, {budget}, {dtype}"
                results.setdefault(name, []).append(ours(part, budget, dtype))
                if arguments.fio:
                    fio_seconds(results[name][-1])

theirs = [t for run in results["DGL in memory"] for t in run["epoch_s"]]
whole = min(run["whole_s"] for run in results["DGL in memory"])
print("| run | s per epoch (least to most) | ratio | of the fastest | whole run, s | ratio | peak MiB | written MiB | read MiB | turns | first epoch, s | processor, user + system, s |")
print("|---|---|---|---|---|---|---|---|---|---|---|---|")
for name, runs in results.items():
    seconds = [t for run in runs for t in run["epoch_s"]]
    median = statistics.median(seconds)
    peak = max(run["peak_bytes"] for run in runs) >> 20
    rest = [f"{runs[-1][key] >> 20}" if key in runs[-1] else "" for key in ("written", "read")]
    turns = runs[-1].get("turns", "")
    first = min(run["first_s"] for run in runs) if "first_s" in runs[-1] else ""
    processor = "{:.2f} + {:.2f}".format(*runs[-1]["processor"]) if "processor" in runs[-1] else ""
    spread = f"{median:.3f} ({min(seconds):.3f} to {max(seconds):.3f})"
    ratios = f"{median / statistics.median(theirs):.2f} | {min(seconds) / min(theirs):.2f}"
    run_s = min(run["whole_s"] for run in runs)
    print(f"| {name} | {spread} | {ratios} | {run_s:.1f} | {run_s / whole:.2f} | {peak} | {rest[0]} | {rest[1]} | {turns} | {first and f'{first:.2f}'} | {processor} |")
