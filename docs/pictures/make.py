"""Makes the pictures of terminals, traces and a page of `report` in the book, from real runs. The page needs chromium.

    python3 docs/pictures/make.py target/release/sar-single
"""

import os
import subprocess
import sys
import tempfile
import time

import terminal
import trace

PICTURES = os.path.join(os.path.dirname(__file__), "../src/pictures")


def keep(name, text):
    with open(os.path.join(PICTURES, name), "w", encoding="utf-8") as file:
        file.write(text)


def drawn(columns, command, folder, until=None):
    return ["$ " + " ".join(["sar-single", *command[1:]])], terminal.show(columns, command, folder, until)


def tables(folder):
    """A table of people, and one of who knows whom."""
    with open(os.path.join(folder, "people.csv"), "w", encoding="utf-8") as file:
        file.write("name,age,city,topic,part\n")
        for i in range(200_000):
            city, part = ["Oslo", "Rome", "Ulm"][i % 3], ["train", "val", "test", "train"][i % 4]
            file.write(f"person {i},{20 + i % 50},{city},{['graphs', 'sets'][i // 500 % 2]},{part}\n")
    with open(os.path.join(folder, "knows.csv"), "w", encoding="utf-8") as file:
        file.write("from,to\n")
        for i in range(200_000):
            for step in (1, 7, 60, 400):
                file.write(f"person {i},person {(i + step) % 200_000}\n")


def cut(program, folder):
    """A picture of `partition --num-parts auto` of node tables."""
    tables(folder)
    flags = "--node-table people.csv --id name --label topic --split part --edges knows.csv --header --undirected"
    run = "--memory-budget 250MiB --hidden 64"
    command = [program, *f"partition {flags} --num-parts auto {run} --out parts".split()]
    prompt, lines = drawn(120, command, folder)
    keep("partition.svg", terminal.svg(120, prompt + lines))


def page(program, folder):
    """A picture of the top of a page of `report`, which shows two runs."""
    sizes = "generate --nodes 2000 --edges 20000 --classes 4 --num-parts 4 --out small --quiet"
    flags = "--part-json small/g.json --epochs 30 --eval-every 1 --quiet"
    for command in (
        sizes,
        f"{flags} --hidden 16 --schedule cosine --out mean",
        f"{flags} --model gat --hidden 8 --lr 0.02 --out attention",
        "report mean attention",
    ):
        subprocess.run([program, *command.split()], cwd=folder, check=True, stdout=subprocess.DEVNULL)
    browser = "chromium --headless --no-sandbox --hide-scrollbars --window-size=1280,1330"
    picture = os.path.realpath(os.path.join(PICTURES, "../report.png"))
    subprocess.run([*browser.split(), f"--screenshot={picture}", "report.html"], cwd=folder, check=True)


def main(program):
    program = os.path.realpath(program)
    os.makedirs(PICTURES, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        def train(out, more=""):
            return [program, *f"--part-json graph/g.json --hidden 64 --epochs 4 --out {out} {more}".split()]

        sizes = "generate --nodes 200000 --edges 2000000 --num-parts 4 --out graph --quiet"
        subprocess.run([program, *sizes.split()], cwd=folder, check=True, stdout=subprocess.DEVNULL)
        for columns in (80, 40):
            command = train(f"run{columns}", "--memory-budget 8GiB")
            prompt, lines = drawn(columns, command, folder, r"(?s)epoch 2/4: .*epoch 3/4 \[[^\n]* left")
            keep(f"run-{columns}.svg", terminal.svg(columns, lines))

        command = train("watched", "--memory-budget min --quiet")
        run = subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL)
        status = [program, "status", "watched"]
        while "epoch 3" not in subprocess.run(status, cwd=folder, capture_output=True, text=True).stdout:
            if run.poll() is not None:
                raise SystemExit("the run ended too soon")
            time.sleep(0.05)
        prompt, lines = drawn(80, status, folder)
        keep("status.svg", terminal.svg(80, prompt + lines))
        run.wait()

        cut(program, folder)
        page(program, folder)
        for name, budget in [("min", "min"), ("budget", "3GiB")]:
            command = train(name, f"--memory-budget {budget} --trace {name}.json --quiet")
            subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL)
            path = os.path.join(folder, f"{name}.json")
            trace.main([path, os.path.join(PICTURES, f"trace-{name}.svg")])
            print(f"--memory-budget {budget}")
            trace.main([path])


if __name__ == "__main__":
    main(sys.argv[1])
