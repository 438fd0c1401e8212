"""Mistakes of a worker's author, and what else a worker may do: each ends in a result or in an error that says why."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import threading

import pytest

torch = pytest.importorskip("torch")

import sar_single as sar  # noqa: E402


def run(worker, karate, spill, **options):
    return sar.run(worker, karate, **{"spill_dir": spill, "memory_budget": "min", **options})


def returns_early(rank):
    if rank.index == 0:
        rank.barrier()


def takes_another_way(rank):
    (rank.barrier if rank.index else rank.graph.out_degrees)()
    rank.graph.halo(torch.ones(rank.graph.num_nodes(), 2))


def exits_without_a_word(rank):
    if rank.index == 0:
        os._exit(0)
    rank.barrier()


def makes_another_exchange(rank):
    if rank.index == 0:
        rank.all_reduce(1.0)
    else:
        rank.all_gather(torch.ones(1))


def goes_back_alone(rank):
    total = rank.graph.halo(torch.ones(rank.graph.num_nodes(), 2, requires_grad=True)).sum()
    if rank.index == 0:
        total.backward()
    rank.mean(torch.ones(3, 2))


def brings_other_shapes(rank):
    rank.all_reduce(torch.ones(rank.index + 1))


def has_rows_of_another_graph(rank):
    sar.edge_softmax(rank.graph, torch.ones(4, 2))


def attends_to_another_graph(rank):
    rank.graph.attend(torch.ones(5, 2, 3), torch.ones(5, 2), torch.ones(5, 2))


def returns_a_lock(rank):
    return threading.Lock()


MISTAKES = {
    returns_early: r"rank . is in collective 1 .*, but rank . sent a message of collective 1 .*\nhint: all ranks have to make the same collectives"
    r"(?=[^$]*rank 0: barrier at test_misuse.py:\d+ in returns_early)[^$]*rank 1: the end of the worker",
    takes_another_way: r"sent a message of .*\nhint: all ranks have to make the same collectives[^$]*rank 1: barrier at test_misuse.py:\d+ in takes_another_way",
    exits_without_a_word: r"rank 0 .*ended with exit code 0 before its work was complete.*\nrank 1 waits: barrier at test_misuse.py:\d+ in exits_without",
    makes_another_exchange: r"rank . is in all_\w+, but rank . is in all_\w+\nhint: all ranks have(?=[^$]*rank 0: all_reduce at test_misuse)[^$]*rank 1: all_gather at ",
    goes_back_alone: r"hint: all ranks have(?=[^$]*rank 0: the gradient of an operation over edges at test_misuse.py)[^$]*rank 1: all_reduce at test_misuse.py",
    brings_other_shapes: r"all_reduce: rank . brings \[.\] of torch.float32, but rank . \[.\] of torch.float32\nrank .: all_reduce at test_misuse.py",
    has_rows_of_another_graph: "a value of edges has 4 rows, but this rank needs",
    attends_to_another_graph: "messages has 5 rows, but this rank needs",
    returns_a_lock: "cannot pickle",
}


@pytest.mark.parametrize("worker", MISTAKES, ids=lambda worker: worker.__name__)
def test_a_mistake_ends_the_run_and_is_named(karate, spill, worker):
    with pytest.raises(sar.WorkerError, match=MISTAKES[worker]) as error:
        run(worker, karate, spill)
    assert "internal error" not in str(error.value)


ARGUMENTS = [
    ({"memory_budget": "lots"}, ValueError, "memory_budget 'lots' does not begin with a number"),
    ({"memory_budget": -1}, ValueError, "memory_budget is -1"),
    ({"memory_budget": float("nan")}, ValueError, "memory_budget is nan"),
    ({"memory_budget": None, "threads": 0}, ValueError, "threads is 0"),
    ({"resident": -2}, ValueError, "resident is -2"),
]


@pytest.mark.parametrize("options, kind, text", ARGUMENTS)
def test_wrong_arguments_are_named_before_anything_starts(karate, spill, options, kind, text):
    with pytest.raises(kind, match=text):
        run(lambda rank: None, karate, spill, **options)
    with pytest.raises(TypeError, match="worker is a function of the rank, not str"):
        run("worker", karate, spill)


def test_a_budget_that_is_too_small_is_named_as_the_user_gave_it(karate, spill):
    def worker(rank):
        kept = []
        while True:
            kept.append(torch.ones(1 << 22))
            rank.barrier()
            for tensor in kept:
                tensor.add_(1)

    with pytest.raises(MemoryError, match="the memory budget is 50.0 MiB"):
        run(worker, karate, spill, memory_budget="50MiB")


def test_workers_may_use_threads_processes_and_loaders_between_pauses(karate, spill):
    def worker(rank):
        import subprocess
        from concurrent.futures import ThreadPoolExecutor

        from torch.utils.data import DataLoader, TensorDataset

        torch.set_num_threads(2)
        square = torch.ones(600, 600)
        rank.barrier()
        product = (square @ square).sum().item()
        with ThreadPoolExecutor(2) as pool:
            squares = list(pool.map(lambda i: i * i, range(5)))
            with pytest.raises(RuntimeError, match="main thread"):
                pool.submit(rank.barrier).result()
        rank.barrier()
        batches = DataLoader(TensorDataset(torch.arange(100.0)), batch_size=10, num_workers=2)
        total = sum(batch.sum().item() for (batch,) in batches)
        rank.barrier()
        print("x" * 200_000)
        return product, squares, total, subprocess.check_output(["echo", "said"])

    assert run(worker, karate, spill) == [(600.0**3, [0, 1, 4, 9, 16], 4950.0, b"said\n")] * 2


@pytest.mark.parametrize("closed", [">&-", ">&- 2>&-", ">&- 2>&- <&-", "<&-"])
def test_closed_standard_streams_do_not_matter(karate, spill, tmp_path, closed):
    script = tmp_path / "script.py"
    script.write_text(
        "import sys, sar_single as sar\n"
        "def worker(rank):\n"
        "    print('printed')\n"
        "    rank.log(epoch=0, loss=1.0)\n"
        "    rank.barrier()\n"
        "    return rank.index\n"
        "results = sar.run(worker, sys.argv[1], spill_dir=sys.argv[2], memory_budget='min')\n"
        "open(sys.argv[3], 'w').write(repr(results))\n"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    words = [sys.executable, str(script), str(karate), str(spill), str(tmp_path / "results")]
    done = subprocess.run(["bash", "-c", f"{shlex.join(words)} {closed}"], env=environment)
    assert done.returncode == 0 and (tmp_path / "results").read_text() == "[0, 1]"


def test_runs_of_several_threads_do_not_meet(karate, tmp_path):
    results, spill = {}, tmp_path

    def start(number):
        results[number] = run(lambda rank: rank.all_reduce(number + rank.index), karate, spill)

    threads = [threading.Thread(target=start, args=(number,)) for number in (10, 20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == {10: [21, 21], 20: [41, 41]}
    assert list(tmp_path.iterdir()) == []
