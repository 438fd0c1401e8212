"""``sar.run``: results, collectives, and every way in which a run can end."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import threading
import time

import pytest

torch = pytest.importorskip("torch")

import sar_single as sar  # noqa: E402


def run(worker, karate, spill, **options):
    return sar.run(worker, karate, spill_dir=spill, memory_budget="min", **options)


def alive(pids):
    """The processes among some that have not ended. Their parent may not have asked for their exit code yet."""
    found = []
    for pid in pids:
        try:
            with open(f"/proc/{pid}/stat") as file:
                found += [pid] if file.read().rsplit(")", 1)[1].split()[0] not in "ZX" else []
        except OSError:
            continue
    return found


def await_end(pids, seconds=2):
    end = time.monotonic() + seconds * max(1, os.getloadavg()[0] / os.cpu_count())
    while alive(pids) and time.monotonic() < end:
        time.sleep(0.01)
    assert not alive(pids)


def test_results_collectives_and_tables(karate, spill, tmp_path):
    def worker(rank, factor):
        index = torch.tensor([float(rank.index)])
        linear = torch.nn.Linear(2, 2)
        with torch.no_grad():
            linear.weight.fill_(rank.index + 1)
        rank.sync_params(linear)
        linear(torch.full((1, 2), float(rank.index))).sum().backward()
        rank.gather_grads(linear)
        sent = [torch.full((rank.index + 1, p + 1), rank.index) for p in range(rank.world_size)]
        rank.log(epoch=0, loss=0.5)
        return {
            "sum": rank.all_reduce(index * factor),
            "number": rank.all_reduce(rank.index, op="max"),
            "root": rank.broadcast(index if rank.index == 1 else None, root=1),
            "received": [tuple(t.shape) for t in rank.all_to_all(sent)],
            "weight": linear.weight.detach(),
            "grad": linear.weight.grad,
            "shape": tuple(rank.ndata["features"].shape),
            "edges": rank.all_reduce(rank.graph.in_degrees().sum()).item(),
            "weights": len(rank.edata["weight"]) == rank.graph.num_edges(),
            "total": rank.num_total_nodes,
        }

    results = run(worker, karate, spill, args=(10,), out=tmp_path / "out")
    assert len(results) == 2
    for index, result in enumerate(results):
        assert result["sum"].item() == 10 and result["number"] == 1 and result["root"].item() == 1
        assert result["received"] == [(1, index + 1), (2, index + 1)]
        assert (result["weight"] == 1).all() and (result["grad"] == 1).all()
        assert result["shape"] == (17, 34) and result["edges"] == 190 and result["weights"] and result["total"] == 34
    (line,) = (tmp_path / "out" / "metrics.jsonl").read_text().splitlines()
    assert '"loss": 0.5' in line and "peak_memory_bytes" in line


def test_an_exception_names_rank_and_traceback_and_the_process_can_run_again(karate, spill):
    def worker(rank):
        rank.barrier()
        if rank.index == 1:
            raise KeyError("no such thing")
        rank.barrier()

    with pytest.raises(sar.WorkerError, match="rank 1: KeyError") as error:
        run(worker, karate, spill)
    assert error.value.rank == 1 and "no such thing" in error.value.traceback
    assert isinstance(error.value.__cause__, KeyError)
    assert run(lambda rank: rank.index, karate, spill) == [0, 1]


def test_an_exception_is_named_on_a_full_disk(karate, spill, capfd):
    def worker(rank):
        from sar_single.worker import server

        def full(path, content):
            raise OSError(errno.ENOSPC, "No space left on device", str(path))

        server._write = full
        raise KeyError("no such thing")

    with pytest.raises(sar.WorkerError, match="rank [01].*KeyError: 'no such thing'"):
        run(worker, karate, spill)
    assert "in worker" in capfd.readouterr().err


def test_sys_exit_ends_the_run(karate, spill):
    def worker(rank):
        if rank.index == 0:
            sys.exit(0)
        rank.barrier()

    with pytest.raises(sar.WorkerError, match=r"rank 0: called sys.exit\(0\)"):
        run(worker, karate, spill)


def test_a_killed_worker_ends_the_run(karate, spill, tmp_path):
    def worker(rank):
        (tmp_path / f"pid-{rank.index}").write_text(str(os.getpid()))
        rank.barrier()
        if rank.index == 1:
            os.kill(os.getpid(), signal.SIGKILL)
        rank.barrier()

    with pytest.raises(sar.WorkerError, match="rank 1 .* was killed by SIGKILL") as error:
        run(worker, karate, spill)
    assert error.value.rank == 1
    await_end([int(path.read_text()) for path in tmp_path.glob("pid-*")])


def test_an_interrupt_ends_all_while_a_worker_computes(karate, spill, tmp_path):
    def worker(rank):
        (tmp_path / f"pid-{rank.index}").write_text(str(os.getpid()))
        rank.barrier()
        while True:
            pass

    def interrupt():
        while len(list(tmp_path.glob("pid-*"))) < 2:
            time.sleep(0.01)
        ended.append(time.monotonic())
        os.kill(os.getpid(), signal.SIGINT)

    ended = []
    threading.Thread(target=interrupt, daemon=True).start()
    with pytest.raises(KeyboardInterrupt):
        run(worker, karate, spill)
    assert time.monotonic() - ended[0] < 10  # Two seconds on a machine that is not busy.
    await_end([int(path.read_text()) for path in tmp_path.glob("pid-*")])


def test_a_script_needs_no_main_guard(karate, spill, tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        "import sys, sar_single as sar\n"
        "SEEN = 5\n"
        "def worker(rank):\n"
        "    return rank.index + SEEN\n"
        "print(sar.run(worker, sys.argv[1], spill_dir=sys.argv[2], memory_budget='min'))\n"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, str(script), str(karate), str(spill)]
    assert subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout == "[5, 6]\n"


def test_workers_have_the_arguments_the_seed_and_the_dtype_of_the_program(karate, spill, tmp_path):
    (tmp_path / "constants.py").write_text("import torch\nONE = torch.ones(1)\n")
    script = tmp_path / "script.py"
    script.write_text(
        "import argparse, sys, torch, sar_single as sar\n"
        "import constants\n"
        "torch.manual_seed(7)\n"
        "torch.set_default_dtype(torch.float64)\n"
        "def worker(rank):\n"
        "    return sys.argv[3], torch.rand(1).item(), torch.ones(1).dtype, constants.ONE.dtype\n"
        "found = sar.run(worker, sys.argv[1], spill_dir=sys.argv[2], memory_budget='min')\n"
        "assert found == [('--epochs=3', torch.rand(1).item(), torch.float64, torch.float32)] * 2, found\n"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    subprocess.run([sys.executable, str(script), str(karate), str(spill), "--epochs=3"], env=environment, check=True)


def test_a_wrong_path_is_the_users_error(tmp_path, spill):
    with pytest.raises(ValueError, match="missing.json"):
        run(lambda rank: None, tmp_path / "missing.json", spill)
