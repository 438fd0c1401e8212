"""Processes that workers start: they hold nothing, end with the worker, and see its memory as it was when they were forked."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time

import pytest

torch = pytest.importorskip("torch")

from test_run import await_end  # noqa: E402

import sar_single as sar  # noqa: E402


def run(worker, karate, spill, **options):
    return sar.run(worker, karate, spill_dir=spill, memory_budget="min", **options)


def sleep(folder):
    (folder / "unfinished").write_text(str(os.getpid()))
    (folder / "unfinished").rename(folder / "child")
    time.sleep(600)


def forks(folder):
    if os.fork() == 0:
        sleep(folder)


def ignores_signals(folder):
    if os.fork() == 0:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        sleep(folder)


def starts_a_program(folder):
    code = "import sys, test_processes, pathlib; test_processes.sleep(pathlib.Path(sys.argv[1]))"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    subprocess.Popen([sys.executable, "-c", code, str(folder)], env=environment)


def starts_with(method, folder):
    multiprocessing.get_context(method).Process(target=sleep, args=(folder,)).start()


def has_a_pool(folder):
    global pool
    pool = multiprocessing.get_context("fork").Pool(1)
    pool.apply_async(sleep, (folder,))


STARTERS = {
    "os.fork": forks,
    "ignores SIGTERM": ignores_signals,
    "subprocess": starts_a_program,
    "fork": lambda folder: starts_with("fork", folder),
    "spawn": lambda folder: starts_with("spawn", folder),
    "forkserver": lambda folder: starts_with("forkserver", folder),
    "pool": has_a_pool,
}


ENDS = [(starter, "is killed") for starter in STARTERS] + [("fork", "returns"), ("pool", "returns"), ("os.fork", "raises")]


@pytest.mark.parametrize("starter, end", ENDS)
def test_the_run_ends_when_its_workers_have(karate, spill, tmp_path, starter, end):
    def worker(rank, start):
        if rank.index == 1:
            start(tmp_path)
            while not (tmp_path / "child").exists():
                time.sleep(0.01)
            if end == "raises":
                raise KeyError("the end")
            if end == "is killed":
                os.kill(os.getpid(), signal.SIGKILL)
        rank.barrier()
        return rank.index

    arguments = (STARTERS[starter],)
    if end == "returns":
        assert run(worker, karate, spill, args=arguments) == [0, 1]
    else:
        with pytest.raises(sar.WorkerError, match="the end" if end == "raises" else "was killed by SIGKILL"):
            run(worker, karate, spill, args=arguments)
    # The child sleeps for ten minutes.
    await_end([int((tmp_path / "child").read_text())])


def test_a_process_with_a_session_of_its_own_goes_on_and_holds_nothing(karate, spill, tmp_path):
    def worker(rank):
        if rank.index == 1 and os.fork() == 0:
            os.setsid()
            sleep(tmp_path)
        while not (tmp_path / "child").exists():
            time.sleep(0.01)

    run(worker, karate, spill)
    daemon = int((tmp_path / "child").read_text())
    os.kill(daemon, signal.SIGKILL)
    await_end([daemon])


def test_a_killed_server_is_reported_while_a_grandchild_lives_on(karate, tmp_path):
    def worker(rank):
        if rank.index == 1:
            if os.fork() == 0:
                sleep(tmp_path)
            while not (tmp_path / "child").exists():
                time.sleep(0.01)
            os.kill(os.getppid(), signal.SIGKILL)
        rank.barrier()

    with pytest.raises(sar.WorkerError, match="the server process of the run ended with exit code -9"):
        run(worker, karate, tmp_path)
    os.kill(int((tmp_path / "child").read_text()), signal.SIGKILL)
    assert run(lambda rank: rank.index, karate, tmp_path) == [0, 1]
    assert [path.name for path in tmp_path.iterdir()] == ["child"]


def test_a_forked_process_that_returns_is_no_second_worker(karate, spill, capfd):
    def worker(rank):
        child = os.fork()
        if child == 0 and rank.index == 0:
            return "child"
        if child == 0:
            raise KeyError("of the child")
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        rank.barrier()
        return code

    assert run(worker, karate, spill) == [0, 1]
    assert "of the child" in capfd.readouterr().err


def test_a_forked_process_keeps_its_memory_through_the_pauses_of_the_worker(karate, spill):
    """The worker's memory lies in files by then, which the forked process has mapped, too."""

    def worker(rank):
        values = [torch.full((1 << 20,), float(i)) for i in range(6)]
        words = [str(i) for i in range(300_000)]
        rank.barrier()
        reader, writer = os.pipe()
        answer, result = os.pipe()
        child = os.fork()
        if child == 0:
            os.read(reader, 1)
            same = all(bool((value == i).all()) for i, value in enumerate(values))
            same = same and words == [str(i) for i in range(300_000)]
            os.write(result, b"same" if same else b"other")
            os._exit(0)
        for step in range(3):
            for value in values:
                value.add_(1)
            words = [word + "." for word in words]
            rank.barrier()
        os.write(writer, b"!")
        told = os.read(answer, 10)
        code = os.waitpid(child, 0)[1]
        rank.barrier()
        return told, code, [float(value.double().mean()) for value in values], words[7]

    expected = b"same", 0, [3.0, 4.0, 5.0, 6.0, 7.0, 8.0], "7..."
    assert run(worker, karate, spill) == [expected, expected]


def test_batches_of_a_data_loader_with_workers_and_a_collective_each(karate, spill):
    def worker(rank):
        from torch.utils.data import DataLoader, TensorDataset

        data = TensorDataset(torch.arange(60_000.0))
        rank.barrier()
        total = 0.0
        loader = DataLoader(data, batch_size=10_000, num_workers=2, persistent_workers=True)
        for _ in range(2):
            for (batch,) in loader:
                total += rank.all_reduce(batch.double().sum().item())
        return total

    expected = 2.0 * 2 * sum(range(60_000))
    assert run(worker, karate, spill) == [expected, expected]
