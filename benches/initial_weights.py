#!/usr/bin/env python3
"""Test accuracy with the initial weights of DGL and of PyG (--init), seeds 0 to 9, of two layers on each of some graphs.

    python3 benches/initial_weights.py target/release/sar-single FOLDER [NAME=]PART_JSON ...

Graphs are generated into FOLDER; those of the command line come first.
"""

import itertools
import json
import pathlib
import statistics
import subprocess
import sys

SEEDS = range(10)
MODELS = {
    "sage": ["--hidden", "64"],
    "gat": ["--hidden", "16", "--heads", "4"],
}
GENERATED = {
    "2,000 nodes": ["--nodes", "2000", "--edges", "20000", "--classes", "4"],
    "5,000 nodes": ["--nodes", "5000", "--edges", "100000", "--features", "64", "--classes", "10"],
    "PubMed's size": ["--nodes", "19717", "--edges", "88648", "--features", "500", "--classes", "3"],
}


def accuracy(binary, graph, out, model, flags):
    """Test accuracy after the last epoch, in percent."""
    run = [binary, "--part-json", graph, "--model", model, "--layers", "2", "--epochs", "100", "--threads", "1", "--overwrite", "--quiet", "--out", out]
    subprocess.run([*run, *flags], check=True, stdout=subprocess.DEVNULL)
    lines = map(json.loads, (out / "metrics.jsonl").read_text().splitlines())
    return next(100 * line["test_acc"] for line in lines if line["event"] == "evaluation")


def main():
    binary, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    graphs = dict(given.rpartition("=")[::2] for given in sys.argv[3:])
    for name, size in GENERATED.items():
        out = folder / name.split()[0].replace(",", "").replace("'", "")
        if not out.exists():
            subprocess.run([binary, "generate", *size, "--num-parts", "1", "--out", out], check=True, stdout=subprocess.DEVNULL)
        graphs[name] = out / "g.json"
    for (name, graph), (model, flags) in itertools.product(graphs.items(), MODELS.items()):
        row = name.ljust(16) + model.ljust(8)
        for init in ("dgl", "pyg"):
            found = [accuracy(binary, graph, folder / "run", model, [*flags, "--init", init, "--seed", str(seed)]) for seed in SEEDS]
            row += f"{init} {statistics.mean(found):5.1f} ± {statistics.stdev(found):3.1f}   "
        print(row, flush=True)


if __name__ == "__main__":
    main()
