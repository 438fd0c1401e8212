"""Writes tables and graphs at random, cuts them with `sar-single partition`, and reads the partitions back.

    python tests/partition/tables target/release/sar-single --cases 100 [--seed 7] [--jobs 2]

Each case is a number. What is found must equal what was written, or be refused with exit code 1, one sentence and a hint; what the
book says is read must not be refused. A failing case is printed with its files; `--seed N --cases 1` plays it again, and `--keep DIR`
leaves its files there. Needs numpy, pandas, polars, pyarrow, scipy, networkx, h5py and zstandard.
"""

import argparse
import collections
import concurrent.futures
import contextlib
import os
import shlex
import subprocess
import sys
import tempfile
import traceback
import warnings

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from case import Case  # noqa: E402
from draw import Draw  # noqa: E402
from oracle import Difference, compare  # noqa: E402
from partition import Found  # noqa: E402
from scenes import scene  # noqa: E402


class Result:
    def __init__(self, case, outcome, problem=""):
        self.case, self.outcome, self.problem = case, outcome, problem


def play(binary, seed, folder):
    """Writes the case of a seed and reads it back."""
    case = Case(Draw(seed), folder)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        scene(case)
    least = sum(len(nodes.keys) for nodes in case.nodes.values())
    case.add("--num-parts", str(min(least, case.draw.one(1, 1, 2, 3))), "--memory", "1GiB", "--out", "out")
    if "--node-table" in case.arguments:
        # The numbers as they were written.
        case.add("--scale", "none")
    command = [os.path.abspath(binary), "partition", *case.arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, errors="replace", timeout=120)
    if done.returncode == 0:
        try:
            compare(case, Found(os.path.join(folder, "out")), done.stderr)
        except (Difference, AssertionError) as difference:
            return Result(case, "different", f"{difference}\n{remarks(done.stderr)}")
        return Result(case, "equal")
    errors = [line for line in done.stderr.splitlines() if line.startswith("error: ")]
    if done.returncode != 1 or len(errors) != 1 or os.path.exists(os.path.join(folder, "out")):
        return Result(case, "broken", f"exit code {done.returncode}\n{done.stderr}")
    if not case.refusable:
        return Result(case, "refused, but documented", done.stderr)
    if "hint: " not in done.stderr:
        return Result(case, "refused without a hint", done.stderr)
    return Result(case, "refused", done.stderr)


def remarks(said):
    return "\n".join(line for line in said.splitlines() if line.startswith(("note: ", "warning: ")))


def show(seed, result, folder):
    """The case as someone would type it."""
    case = result.case
    lines = [f"seed {seed}: {result.outcome}; {', '.join(case.traits) or 'nothing unusual'}",
             "  sar-single partition " + shlex.join(case.arguments)]
    for path, _, files in sorted(os.walk(folder)):
        if "/out" in path:
            continue
        for file in sorted(files):
            with open(os.path.join(path, file), "rb") as opened:
                content = opened.read(401)
            shown = content[:400].decode('utf-8', 'replace') if b'\0' not in content else content[:60]
            lines.append(f"  {os.path.relpath(os.path.join(path, file), folder)}: {shown!r}{'...' if len(content) > 400 else ''}")
    return "\n".join([*lines, *("  " + line for line in result.problem.splitlines())])


def one(binary, seed, keep):
    with tempfile.TemporaryDirectory() as temporary:
        folder = temporary
        if keep:
            folder = os.path.join(keep, str(seed))
            os.makedirs(folder)
        try:
            result = play(binary, seed, folder)
        except Exception:  # noqa: BLE001
            return "not played", [], f"seed {seed}: {traceback.format_exc()}"
        return result.outcome, result.case.traits, show(seed, result, folder)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary")
    parser.add_argument("--cases", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--keep", help="folder for the files of all cases")
    parser.add_argument("--refusals", action="store_true", help="print what was refused, too")
    arguments = parser.parse_args()
    counts = collections.Counter()
    by_trait = collections.defaultdict(collections.Counter)
    with concurrent.futures.ProcessPoolExecutor(arguments.jobs) as pool:
        seeds = range(arguments.seed, arguments.seed + arguments.cases)
        results = pool.map(one, *zip(*((arguments.binary, seed, arguments.keep) for seed in seeds)), chunksize=4)
        for outcome, traits, shown in results:
            counts[outcome] += 1
            for trait in traits:
                by_trait[trait][outcome] += 1
            if outcome not in ("equal", "refused") or arguments.refusals and outcome == "refused":
                print(shown + "\n", flush=True)
    for trait, outcomes in sorted(by_trait.items()):
        print(f"{trait}: " + ", ".join(f"{count} {outcome}" for outcome, count in outcomes.most_common()))
    print(f"{arguments.cases} cases from seed {arguments.seed}: "
          + ", ".join(f"{count} {outcome}" for outcome, count in counts.most_common()))
    bad = sum(count for outcome, count in counts.items() if outcome not in ("equal", "refused"))
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    with contextlib.suppress(BrokenPipeError):
        main()
