"""Partitions graphs of 100 and 500 million edges inside a memory control group, and compares the time per edge.

    sudo python benches/many_edges.py --folder FOLDER [--edges 100 500]     # in millions; needs numpy, control groups of version 1

The graphs are R-MAT (Graph500's quadrants, scrambled ids) with communities, written in pieces from a seed: 2^23 nodes per 100 million edges, rounded
down to a power of two; four in five edges stay in one of 1024 communities. Each is cut into 64 partitions with `--memory 2GiB`, or what is given, by a
process in a control group of that size and an eighth more, which counts the page cache, too; the input leaves the cache before. "Peak" is memory that
is not page cache. The input and the partitions of a graph go before the next one is made.
"""
import argparse
import os
import pathlib
import resource
import shutil
import subprocess
import time

import numpy as np

from peaks import largest, most_on_disk

PIECE = 1 << 22
QUADRANTS = (0.57, 0.76, 0.95)
COMMUNITIES = 10  # as a power of two
GROUP = pathlib.Path("/sys/fs/cgroup/memory/sar-single-many-edges")
BINARY = pathlib.Path(__file__).resolve().parent.parent / "target/release/sar-single"

parser = argparse.ArgumentParser()
parser.add_argument("--folder", type=pathlib.Path, required=True)
parser.add_argument("--edges", type=int, nargs="+", default=[100, 500])
parser.add_argument("--num-parts", type=int, default=64)
parser.add_argument("--memory", type=int, default=2048, help="in MiB")
parser.add_argument("--sar-single", type=pathlib.Path, default=BINARY)
arguments = parser.parse_args()
folder = arguments.folder.absolute()


def write_edges(nodes, edges):
    """The file of edges; a node's number is scrambled by a multiplication and two shifts, each of which can be undone."""
    levels = nodes.bit_length() - 1
    array = np.lib.format.open_memmap(folder / "edges.npy", mode="w+", dtype=np.int64, shape=(2, edges))
    for first in range(0, edges, PIECE):
        count = min(PIECE, edges - first)
        random = np.random.default_rng([0, first // PIECE])
        ends = np.zeros((2, count), np.uint64)
        for _ in range(levels):
            drawn = random.random(count, np.float32)
            upper, right = drawn < QUADRANTS[1], (drawn >= QUADRANTS[0]) & (drawn < QUADRANTS[1]) | (drawn >= QUADRANTS[2])
            ends[0] = ends[0] << np.uint64(1) | ~upper
            ends[1] = ends[1] << np.uint64(1) | right
        # The first bits are the community.
        inside, low = random.random(count, np.float32) < 0.8, np.uint64((nodes >> COMMUNITIES) - 1)
        ends[0, inside] = ends[0, inside] & low | ends[1, inside] & ~low
        for _ in range(2):
            ends = (ends ^ ends >> np.uint64(levels // 2)) * np.uint64(0x9E3779B1) % np.uint64(nodes)
        array[:, first : first + count] = ends
    array.flush()
    with open(folder / "edges.npy", "rb") as file:
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def own_memory():
    """Memory of the group's processes without the page cache, in bytes."""
    stat = (GROUP / "memory.stat").read_text().splitlines()
    return int(next(line for line in stat if line.startswith("total_rss ")).split()[1])


def partition(nodes):
    """Seconds of wall and of processor time, the most of the process's own memory in bytes, and what the command printed."""
    GROUP.mkdir(exist_ok=True)
    (GROUP / "memory.limit_in_bytes").write_text(str((arguments.memory * 9 // 8) << 20))
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    enter = f'echo $$ > {GROUP}/cgroup.procs && exec "$0" "$@"'
    command = ["sh", "-c", enter, arguments.sar_single, "partition", "--edges", folder / "edges.npy", "--num-nodes", nodes,
               "--num-parts", arguments.num_parts, "--method", "stream", "--memory", f"{arguments.memory}MiB", "--out", folder / "parts"]
    with largest(own_memory) as memory:
        done = subprocess.run(list(map(str, command)), capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"exit code {done.returncode}: {done.stderr}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
    return time.monotonic() - began, spent, memory[0], done.stdout + done.stderr


print("| million edges | million nodes | seconds | processor s | processor µs per edge | peak MiB | input, GiB | most on disk with the input, GiB | partitions, GiB | |")
print("|---|---|---|---|---|---|---|---|---|---|")
for millions in arguments.edges:
    edges = millions * 10**6
    nodes = 1 << (edges * 2**23 // 10**8).bit_length() - 1
    folder.mkdir(exist_ok=True, parents=True)
    write_edges(nodes, edges)
    given = os.path.getsize(folder / "edges.npy")
    with most_on_disk(folder) as most:
        wall, spent, memory, output = partition(nodes)
    made = sum(file.stat().st_size for file in (folder / "parts").rglob("*") if file.is_file())
    cut = "; ".join(line for line in output.splitlines() if line.startswith("edge cut"))
    numbers = [millions, f"{nodes / 1e6:.1f}", f"{wall:.0f}", f"{spent:.0f}", f"{spent / edges * 1e6:.2f}", f"{memory / 2**20:.0f}"]
    print("|", " | ".join([*map(str, numbers), *(f"{size / 2**30:.1f}" for size in (given, most[0], made)), cut]), "|", flush=True)
    shutil.rmtree(folder)
GROUP.rmdir()
