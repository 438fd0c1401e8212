"""Times the sparse kernels and DGL's on one random graph, in turns; prints medians, spreads and ratios.

    python benches/kernels_against_dgl.py [--rounds 3]        # needs dgl, torch and cargo

200,000 nodes, 4,094,614 edges, 128 columns, single precision, two threads. DGL's side of attention is what its GATConv does with scores
in hand: u_add_v, leaky ReLU, edge_softmax and u_mul_e_sum of four heads of 32, backwards through autograd.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
NODES, EDGES, HEADS, WIDTH = 200_000, 4_094_614, 4, 32

arguments = argparse.ArgumentParser()
arguments.add_argument("--rounds", type=int, default=3)
arguments.add_argument("--dgl", metavar="EDGES", help=argparse.SUPPRESS)
arguments = arguments.parse_args()


def dgls(path):
    """One round of DGL's, in its own process: medians in seconds."""
    import dgl
    import numpy as np
    import torch
    from dgl.nn.functional import edge_softmax

    torch.set_num_threads(2)
    dst, src = torch.from_numpy(np.fromfile(path, np.uint32).astype(np.int64)).view(2, EDGES)
    graph = dgl.graph((src, dst), num_nodes=NODES)
    graph.create_formats_()
    rows = torch.rand(NODES, HEADS, WIDTH, requires_grad=True)
    ends = [torch.rand(NODES, HEADS, 1, requires_grad=True) for _ in range(2)]
    flat, gradient = rows.detach().flatten(1), torch.rand(NODES, HEADS, WIDTH)

    def attention():
        scores = torch.nn.functional.leaky_relu(dgl.ops.u_add_v(graph, *ends), 0.2)
        return dgl.ops.u_mul_e_sum(graph, rows, edge_softmax(graph, scores))

    def timed(run, backward=None):
        begin = time.perf_counter()
        result = run()
        middle = time.perf_counter()
        if backward is not None:
            result.backward(backward)
        return middle - begin, time.perf_counter() - middle

    spmm = [timed(lambda: dgl.ops.copy_u_sum(graph, flat))[0] for _ in range(7)][2:]
    both = [timed(attention, gradient) for _ in range(5)][1:]
    forward, backward = zip(*both)
    medians = [statistics.median(times) for times in (spmm, forward, backward)]
    print(json.dumps(dict(zip(("spmm", "attention forward", "attention backward"), medians))))


def run(command, **environment):
    # Large tensors of a run lie in huge pages; here both sides get them from the allocator.
    environment |= {"GLIBC_TUNABLES": "glibc.malloc.hugetlb=1"}
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, env=os.environ | environment)
    if done.returncode:
        sys.exit(done.stderr)
    return done.stdout


def ours(path):
    run(["cargo", "bench", "--locked", "--bench", "kernels", "--", "sparse"], KERNEL_EDGES=path)
    medians = {}
    for name in ("spmm", "attention forward", "attention backward"):
        folder = f"{ROOT}/target/criterion/sparse/{name}/new"
        with open(f"{folder}/estimates.json") as file:
            medians[name] = json.load(file)["median"]["point_estimate"] * 1e-9
    return medians


def compare():
    import numpy as np

    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/edges"
        np.random.default_rng(0).integers(NODES, size=(2, EDGES), dtype=np.uint32).tofile(path)
        rounds = []
        for _ in range(arguments.rounds):
            theirs = json.loads(run([sys.executable, __file__, "--dgl", path], OMP_NUM_THREADS="2").splitlines()[-1])
            rounds.append((theirs, ours(path)))
    for both in rounds:
        for side in both:
            side["attention"] = side["attention forward"] + side["attention backward"]
    print("| kernel | DGL, ms (least to most) | ours, ms | times as fast, by round |")
    print("|---|---|---|---|")
    for name in rounds[0][0]:
        sides = [[1e3 * both[side][name] for both in rounds] for side in (0, 1)]
        texts = [f"{statistics.median(s):.0f} ({min(s):.0f} to {max(s):.0f})" for s in sides]
        ratios = ", ".join(f"{a / b:.2f}" for a, b in zip(*sides))
        print(f"| {name} | {texts[0]} | {texts[1]} | {ratios} |")


if arguments.dgl:
    dgls(arguments.dgl)
else:
    compare()
