"""Whether two programs compute the same bits: the weights after two epochs of every model in every mode.

    python benches/same_bits.py BEFORE [AFTER]      # programs; AFTER is target/release/sar-single

One graph has one relation, the other four. Run it before and after a change that moves code. Settings that a program refuses are counted, and must be
refused by both.
"""
import hashlib
import pathlib
import random
import re
import subprocess
import sys
import tempfile

BINARY = pathlib.Path(__file__).resolve().parent.parent / "target/release/sar-single"
BEFORE, AFTER = [pathlib.Path(path).resolve() for path in (sys.argv[1:] + [BINARY])[:2]]
MODES = (
    "",
    "--no-remat",
    "--mfg",
    "--one-shot",
    "--dropout 0.4 --norm batch --residual",
    "--jk cat",
    "--compute-dtype bf16",
    "--memory-budget min",
    "--mode sample --fanouts 3,3 --batch-size 64",
    "--task link --fanouts 3,3 --batch-size 64",
    "--task link --score bilinear --fanouts 3,3 --batch-size 64",
)
RELATIONS = ("author:writes:paper", "paper:rev_writes:author", "paper:cites:paper", "author:knows:author")


def sar(program, words, folder):
    return subprocess.run([program, *words.split(), "--quiet"], cwd=folder, capture_output=True, text=True)


def weights(program, words, folder, name):
    done = sar(program, f"--hidden 8 --layers 2 --epochs 2 --seed 3 --threads 1 --out {name} {words}", folder)
    if done.returncode == 0:
        return hashlib.sha256((folder / name / "model.safetensors").read_bytes()).hexdigest()
    return "refused" if done.returncode in (1, 2) else done.stderr


def write(path, rows):
    path.write_text("".join(" ".join(map(str, row)) + "\n" for row in rows))


def several(folder):
    """A graph of authors and papers, cut in three."""
    draw = random.Random(1)
    words = ""
    for number, relation in enumerate(RELATIONS):
        write(folder / f"edges-{number}", [(draw.randrange(120), draw.randrange(120)) for _ in range(700)] + [(119, 119)])
        words += f" --edges {relation}=edges-{number}"
    for ntype in ("author", "paper"):
        write(folder / f"{ntype}-feat", [[draw.gauss(0, 1) for _ in range(6)] for _ in range(120)])
        words += f" --node-data {ntype}/feat={ntype}-feat"
    write(folder / "label", [(draw.randrange(3),) for _ in range(120)])
    words += " --node-data paper/label=label --split paper=random:0.6,0.2,0.2"
    sar(AFTER, f"partition --num-parts 3 --method random --out several {words}", folder).check_returncode()


def main():
    help_text = subprocess.run([AFTER, "--help-all"], capture_output=True, text=True, check=True).stdout
    kinds = re.search(r"--model <MODEL>.*?Possible values:\n(.*?)\n\n", help_text, re.S)[1]
    models = re.findall(r"^ +- (\w+):", kinds, re.M)
    graphs = ("one/g.json", "several/g.json", "several/g.json --hetero sum")
    settings = [f"--part-json {graph} --model {model} {mode}" for graph in graphs for model in models for mode in MODES]
    same = refused = 0
    differing = []
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        one = "generate --nodes 300 --edges 2400 --classes 3 --features 6 --num-parts 3 --out one"
        sar(AFTER, one, folder).check_returncode()
        several(folder)
        for number, words in enumerate(settings):
            before, after = (weights(program, words, folder, f"{number}-{side}") for side, program in enumerate((BEFORE, AFTER)))
            if before != after:
                differing.append(words)
            elif before == "refused":
                refused += 1
            else:
                same += 1
    print(f"{same} of {len(settings)} settings have the same bits, {refused} are refused by both, {len(differing)} differ")
    print(*differing, sep="\n")
    sys.exit(bool(differing))


main()
