"""How much of a slow disk's rate a run gets, beside fio, in turns: nothing is kept in memory, and the disk is throttled.

    sudo python benches/disk_bound.py PARTITION.json FOLDER [--mb-per-s 200] [--rounds 3]     # needs fio, control groups of version 1

FOLDER lies on the disk. A control group limits reads and writes to a number of megabytes per second each, of fio and of
the run alike. fio writes, reads, and does both at once, in requests of a megabyte, four in flight, around the page cache.
"""
import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys

BINARY = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../target/release/sar-single")
GROUP = "/sys/fs/cgroup/blkio/sar-single-disk-bound"

arguments = argparse.ArgumentParser()
arguments.add_argument("graph")
arguments.add_argument("folder")
arguments.add_argument("--mb-per-s", type=int, default=200)
arguments.add_argument("--rounds", type=int, default=3)
arguments = arguments.parse_args()


def throttle():
    device = os.stat(arguments.folder).st_dev
    os.makedirs(GROUP, exist_ok=True)
    for way in ("read", "write"):
        with open(f"{GROUP}/blkio.throttle.{way}_bps_device", "w") as file:
            file.write(f"{os.major(device)}:{os.minor(device)} {arguments.mb_per_s * 10**6}")


def run(command):
    """Runs a command in the group; gives what it prints."""

    def enter():
        with open(f"{GROUP}/cgroup.procs", "w") as file:
            file.write(str(os.getpid()))

    done = subprocess.run(command, capture_output=True, text=True, preexec_fn=enter)
    if done.returncode:
        sys.exit(done.stderr)
    return done.stdout


def fio(way, *more):
    """Megabytes read and written per second."""
    file = f"{arguments.folder}/fio-file"
    command = ["fio", "--name=disk", f"--filename={file}", "--bs=1M", "--size=1G", f"--rw={way}", "--direct=1"]
    command += ["--ioengine=libaio", "--iodepth=4", "--fallocate=none", "--output-format=json", *more]
    job = json.loads(run(command))["jobs"][0]
    return job["read"]["bw_bytes"] / 1e6, job["write"]["bw_bytes"] / 1e6


def ours(out):
    """Seconds of an epoch, and megabytes it reads and writes."""
    shutil.rmtree(out, ignore_errors=True)
    command = [BINARY, "--part-json", arguments.graph, "--hidden", "128", "--dropout", "0", "--epochs", "4"]
    run([*command, "--memory-budget", "min", "--overwrite", "--out", out, "--spill-dir", arguments.folder])
    with open(f"{out}/metrics.jsonl") as file:
        epochs = [line for line in map(json.loads, file) if line["event"] == "epoch"][1:]
    last = epochs[-1]
    return statistics.median(e["epoch_s"] for e in epochs), last["bytes_read"] / 1e6, last["bytes_written"] / 1e6


throttle()
out = f"{arguments.folder}/disk-bound-run"
print("| fio: write, read, both at once, MB/s | an epoch | MB/s | of fio, one way after the other | of fio, both at once |")
print("|---|---|---|---|---|")
for _ in range(arguments.rounds):
    writes, reads = fio("write")[1], fio("read")[0]
    seconds, read, written = ours(out)
    mixed = fio("rw", f"--rwmixread={round(100 * read / (read + written))}")
    after, rate = read / reads + written / writes, (read + written) / seconds
    print(f"| {writes:.0f}, {reads:.0f}, {mixed[0]:.0f} + {mixed[1]:.0f} | {seconds:.1f} s: {read:.0f} MB read, "
          f"{written:.0f} written | {rate:.0f} | {after / seconds:.2f} | {rate / sum(mixed):.2f} |", flush=True)
os.remove(f"{arguments.folder}/fio-file")
shutil.rmtree(out)
os.rmdir(GROUP)
