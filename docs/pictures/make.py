"""Makes the pictures of terminals and traces in the book, from real runs.

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


def main(program):
    program = os.path.realpath(program)
    os.makedirs(PICTURES, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        def train(out, more=""):
            return [program, *f"--part-json graph/g.json --hidden 64 --epochs 4 --out {out} {more}".split()]

        sizes = "generate --nodes 200000 --edges 2000000 --num-parts 4 --out graph --quiet"
        subprocess.run([program, *sizes.split()], cwd=folder, check=True, stdout=subprocess.DEVNULL)
        for columns in (80, 40):
            command = train(f"run{columns}", "--memory-budget min")
            prompt, lines = drawn(columns, command, folder, r"epoch 3/4 \[.* left")
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

        for name, budget in [("min", "min"), ("budget", "3GiB")]:
            command = train(name, f"--memory-budget {budget} --trace {name}.json --quiet")
            subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL)
            path = os.path.join(folder, f"{name}.json")
            trace.main([path, os.path.join(PICTURES, f"trace-{name}.svg")])
            print(f"--memory-budget {budget}")
            trace.main([path])


if __name__ == "__main__":
    main(sys.argv[1])
