"""Validation accuracy against seconds of training: the full graph and samples, ours and DGL's, on one generated graph, as a table and a picture.

    make build && python benches/time_to_accuracy.py --python PYTHON_WITH_DGL --folder FOLDER [--picture FILE.svg]

GraphSAGE, three layers, 128 wide, Adam with a rate of 0.01, two threads. Accuracies are those of the full graph after each epoch; the time that
they take does not count. All runs follow one another; the fastest epochs of `--rounds` runs count, as the machine disturbs some.
"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
SIZE = "--nodes 200000 --edges 4000000 --features 128 --classes 40 --num-parts 4 --seed 0".split()
SHAPE = "--layers 3 --hidden 128 --threads 2".split()
EPOCHS = {"full graph": 30, "samples": 4}
FANOUTS = "15,10,5"
LEVELS = [0.7, 0.75, 0.8, 0.85, 0.9]

parser = argparse.ArgumentParser()
parser.add_argument("--python", default=sys.executable)
parser.add_argument("--folder", type=pathlib.Path, default=pathlib.Path(tempfile.gettempdir()) / "sar-single-bench")
parser.add_argument("--sar-single", type=pathlib.Path, default=HERE.parent / "target/release/sar-single")
parser.add_argument("--rounds", type=int, default=2)
parser.add_argument("--picture", type=pathlib.Path)
arguments = parser.parse_args()
graph = arguments.folder / "200000-4000000-128-4/g.json"


def output(command):
    run = subprocess.run(list(map(str, command)), capture_output=True, text=True)
    if run.returncode:
        sys.exit(run.stderr)
    return run.stdout


def ours(way):
    """Seconds and accuracies of all epochs."""
    with tempfile.TemporaryDirectory() as out:
        flags = ["--part-json", graph, *SHAPE, "--dropout", 0, "--lr", 0.01, "--epochs", EPOCHS[way], "--eval-every", 1]
        flags += ["--mode", "sample", "--fanouts", FANOUTS, "--batch-size", 1024] if way == "samples" else []
        output([arguments.sar_single, *flags, "--memory-budget", "6GiB", "--overwrite", "--out", out])
        lines = [json.loads(line) for line in (pathlib.Path(out) / "metrics.jsonl").read_text().splitlines()]
    epochs = [line for line in lines if line["event"] == "epoch"]
    return [epoch["epoch_s"] for epoch in epochs], [epoch["val_acc"] for epoch in epochs]


def dgl(way):
    flags = [*SHAPE, "--epochs", EPOCHS[way], "--evaluate"] + (["--fanouts", FANOUTS] if way == "samples" else [])
    result = json.loads(output([arguments.python, HERE / "in_memory.py", graph, *flags]).splitlines()[-1])
    return result["all_epoch_s"], result["val_acc"]


def curve(run, way):
    """Points of seconds and accuracy, from the fastest of each epoch's times; all rounds have the same accuracies, or nearly."""
    rounds = [run(way) for _ in range(arguments.rounds)]
    seconds, points = 0, []
    for times, accuracy in zip(zip(*(times for times, _ in rounds)), rounds[0][1]):
        seconds += min(times)
        points.append((seconds, accuracy))
    return points


def picture(curves):
    """The curves as SVG, with a logarithmic axis of seconds."""
    import math

    width, height, left, bottom, colours = 640, 360, 50, 320, ["#1f6feb", "#1f6feb", "#d1242f", "#d1242f"]
    most = max(points[-1][0] for points in curves.values())
    least = min(points[0][0] for points in curves.values())
    x = lambda seconds: left + (width - left - 20) * math.log(seconds / least) / math.log(most / least)
    y = lambda accuracy: bottom - (bottom - 20) * accuracy
    lines = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="12">',
             f'<rect width="{width}" height="{height}" fill="white"/>']
    for tenth in range(0, 11, 2):
        lines.append(f'<path d="M{left} {y(tenth / 10):.0f}H{width - 20}" stroke="#ddd"/><text x="12" y="{y(tenth / 10) + 4:.0f}">{tenth / 10:.1f}</text>')
    for seconds in (s for s in (0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500) if least <= s <= most):
        lines.append(f'<path d="M{x(seconds):.0f} 20V{bottom}" stroke="#ddd"/><text x="{x(seconds) - 6:.0f}" y="{bottom + 16}">{seconds:g}</text>')
    lines.append(f'<text x="{left}" y="{height - 6}">seconds of training; validation accuracy</text>')
    for place, ((name, points), colour) in enumerate(zip(curves.items(), colours)):
        dash = ' stroke-dasharray="6 4"' if "samples" in name else ""
        path = "M" + "L".join(f"{x(seconds):.1f} {y(accuracy):.1f}" for seconds, accuracy in points)
        lines.append(f'<path d="{path}" fill="none" stroke="{colour}" stroke-width="2"{dash}/>')
        lines.append(f'<path d="M{width - 200} {230 + 20 * place}h30" stroke="{colour}" stroke-width="2"{dash}/>')
        lines.append(f'<text x="{width - 162}" y="{234 + 20 * place}">{name}</text>')
    return "\n".join([*lines, "</svg>", ""])


if not graph.exists():
    output([arguments.sar_single, "generate", *SIZE, "--out", graph.parent])
runs = {"sar-single": ours, "DGL": dgl}
curves = {f"{who}, {way}": curve(run, way) for who, run in runs.items() for way in EPOCHS}
print("| | " + " | ".join(f"{level:.2f}" for level in LEVELS) + " | best | s per epoch |\n|---|" + "---|" * (len(LEVELS) + 2))
for name, points in curves.items():
    reached = [next((f"{seconds:.1f}" for seconds, accuracy in points if accuracy >= level), "-") for level in LEVELS]
    best = max(accuracy for _, accuracy in points)
    print(f"| {name} | " + " | ".join(reached) + f" | {best:.3f} | {points[-1][0] / len(points):.2f} |")
if arguments.picture:
    arguments.picture.write_text(picture(curves))
