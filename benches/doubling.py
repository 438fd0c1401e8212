"""Trains on graphs of 1, 2, 4, ... million nodes in the same memory, and shows how time and bytes grow.

    sudo python benches/doubling.py --folder FOLDER [--memory 1024] [--nodes 1 2 4 8]     # in MiB and millions; control groups of version 1

GraphSAGE of three layers, 128 wide, on 16 edges and 128 features per node in 32 partitions, with `--spill-dtype bf16`. A run's processes are in a control
group of the memory and an eighth more, which counts the page cache, too. The second epoch counts; the run ends after it, without an evaluation.
"""
import argparse
import json
import pathlib
import shutil
import signal
import subprocess
import time

from peaks import most_on_disk

GROUP = pathlib.Path("/sys/fs/cgroup/memory/sar-single-doubling")
BINARY = pathlib.Path(__file__).resolve().parent.parent / "target/release/sar-single"

parser = argparse.ArgumentParser()
parser.add_argument("--folder", type=pathlib.Path, required=True)
parser.add_argument("--nodes", type=int, nargs="+", default=[1, 2, 4, 8])
parser.add_argument("--memory", type=int, default=1024)
parser.add_argument("--spill-dtype", default="bf16", choices=["f32", "bf16"])
parser.add_argument("--sar-single", type=pathlib.Path, default=BINARY)
arguments = parser.parse_args()
folder = arguments.folder.absolute()


def generate(millions):
    size = ["--nodes", millions * 10**6, "--edges", millions * 16 * 10**6, "--features", 128, "--classes", 40, "--num-parts", 32]
    command = [arguments.sar_single, "generate", *size, "--seed", 1, "--out", folder / "graph"]
    subprocess.run(list(map(str, command)), check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def epochs():
    """The epochs of the run so far."""
    metrics = folder / "run/metrics.jsonl"
    lines = metrics.read_text().splitlines() if metrics.exists() else []
    return [json.loads(line) for line in lines]


def train():
    """The first two epochs."""
    GROUP.mkdir(exist_ok=True)
    (GROUP / "memory.limit_in_bytes").write_text(str((arguments.memory * 9 // 8) << 20))
    enter = f'echo $$ > {GROUP}/cgroup.procs && exec "$0" "$@"'
    command = ["sh", "-c", enter, arguments.sar_single, "--part-json", folder / "graph/g.json", "--hidden", 128, "--layers", 3, "--dropout", 0,
               "--epochs", 3, "--spill-dtype", arguments.spill_dtype, "--memory-budget", f"{arguments.memory}MiB",
               "--spill-dir", folder, "--out", folder / "run", "--quiet"]
    run = subprocess.Popen(list(map(str, command)), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    while len(epochs()) < 2:
        if run.poll() is not None:
            raise SystemExit(run.stderr.read())
        time.sleep(0.2)
    run.send_signal(signal.SIGINT)
    run.communicate()
    return epochs()[:2]


print("| million nodes | million edges | first epoch, s | second, s | times | written, GiB | read, GiB | past the page cache, GiB | times | peak MiB | most on disk, GiB |")
print("|---|---|---|---|---|---|---|---|---|---|---|")
before = None
for millions in arguments.nodes:
    folder.mkdir(parents=True, exist_ok=True)
    generate(millions)
    with most_on_disk(folder) as most:
        first, second = train()
    past = second["bytes_written"] + second["bytes_read"] - second["bytes_cached"]
    times = [f"{second['epoch_s'] / before[0]:.2f}", f"{past / before[1]:.2f}"] if before else ["", ""]
    before = second["epoch_s"], past
    gib = [f"{bytes / 2**30:.2f}" for bytes in (second["bytes_written"], second["bytes_read"], past)]
    cells = [millions, 16 * millions, f"{first['epoch_s']:.1f}", f"{second['epoch_s']:.1f}", times[0], *gib, times[1],
             second["peak_memory_bytes"] >> 20, f"{most[0] / 2**30:.1f}"]
    print("|", " | ".join(map(str, cells)), "|", flush=True)
    shutil.rmtree(folder)
GROUP.rmdir()
