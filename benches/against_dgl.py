"""Times sar-single and DGL in memory on one generated graph, in turns, and prints medians, spreads and ratios.

    make build && python benches/against_dgl.py [--python PYTHON_WITH_DGL] [--model sage|gat] [--parts 4,8,16] [--rounds 2]

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

HERE = os.path.dirname(os.path.abspath(__file__))
BINARY = os.path.join(HERE, "..", "target", "release", "sar-single")

arguments = argparse.ArgumentParser()
arguments.add_argument("--python", default=sys.executable)
arguments.add_argument("--model", default="sage", choices=["sage", "gat"])
arguments.add_argument("--nodes", default="200000")
arguments.add_argument("--edges", default="4000000")
arguments.add_argument("--parts", default="4,8,16")
arguments.add_argument("--budgets", default="min,6GiB")
arguments.add_argument("--dtypes", default="f32,bf16")
arguments.add_argument("--epochs", type=int, default=7)
arguments.add_argument("--rounds", type=int, default=2)
arguments.add_argument("--folder", default=os.path.join(tempfile.gettempdir(), "sar-single-bench"))
arguments = arguments.parse_args()

if arguments.model == "gat":
    shape = ["--layers", "2", "--hidden", "32", "--heads", "4"]
else:
    shape = ["--layers", "3", "--hidden", "128"]


def graph(parts):
    folder = os.path.join(arguments.folder, f"{arguments.nodes}-{arguments.edges}-{parts}")
    if not os.path.exists(f"{folder}/g.json"):
        flags = ["--nodes", arguments.nodes, "--edges", arguments.edges, "--features", "128"]
        flags += ["--classes", "40", "--num-parts", str(parts), "--seed", "0", "--out", folder]
        subprocess.run([BINARY, "generate", *flags], check=True, stdout=subprocess.DEVNULL)
    return f"{folder}/g.json"


def ours(parts, budget, dtype):
    with tempfile.TemporaryDirectory() as out:
        flags = ["--part-json", graph(parts), "--model", arguments.model, *shape, "--dropout", "0"]
        flags += ["--epochs", str(arguments.epochs), "--threads", "2", "--memory-budget", budget]
        flags += ["--compute-dtype", dtype]
        run = subprocess.run([BINARY, *flags, "--overwrite", "--out", out], capture_output=True, text=True)
        if run.returncode:
            sys.exit(run.stderr)
        with open(f"{out}/metrics.jsonl") as file:
            lines = [json.loads(line) for line in file]
    epochs = [line for line in lines if line["event"] == "epoch"][2:]
    last = epochs[-1]
    return {
        "epoch_s": [epoch["epoch_s"] for epoch in epochs],
        "peak_bytes": lines[-1]["peak_memory_bytes"],
        "turns": last["lock_turns"],
        "written": last["bytes_written"],
        "read": last["bytes_read"],
    }


def dgl(parts):
    script = os.path.join(HERE, "dgl_in_memory.py")
    flags = ["--model", arguments.model, *shape, "--epochs", str(arguments.epochs)]
    run = subprocess.run(
        [arguments.python, script, graph(parts), *flags], capture_output=True, text=True
    )
    if run.returncode:
        sys.exit(run.stderr)
    return json.loads(run.stdout.splitlines()[-1])


parts = [int(part) for part in arguments.parts.split(",")]
results = {}
for _ in range(arguments.rounds):
    results.setdefault("DGL in memory", []).append(dgl(parts[0]))
    for part in parts:
        for budget in arguments.budgets.split(","):
            for dtype in arguments.dtypes.split(","):
                name = f"{part} partitions, {budget}, {dtype}"
                results.setdefault(name, []).append(ours(part, budget, dtype))

reference = statistics.median(t for run in results["DGL in memory"] for t in run["epoch_s"])
print("| run | s per epoch (least to most) | ratio | peak MiB | written MiB | read MiB | turns |")
print("|---|---|---|---|---|---|---|")
for name, runs in results.items():
    seconds = [t for run in runs for t in run["epoch_s"]]
    median = statistics.median(seconds)
    peak = max(run["peak_bytes"] for run in runs) >> 20
    rest = [f"{runs[-1][key] >> 20}" if key in runs[-1] else "" for key in ("written", "read")]
    turns = runs[-1].get("turns", "")
    spread = f"{median:.2f} ({min(seconds):.2f} to {max(seconds):.2f})"
    print(f"| {name} | {spread} | {median / reference:.2f} | {peak} | {rest[0]} | {rest[1]} | {turns} |")
