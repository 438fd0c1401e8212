"""``sar.run`` in a Jupyter kernel, which has threads and an event loop of its own."""

from __future__ import annotations

import os
import sys
import time

import pytest

pytest.importorskip("torch")
pytest.importorskip("ipykernel")
jupyter_client = pytest.importorskip("jupyter_client")

CELL = """
import os, sar_single as sar
def worker(rank):
    open(rf"{folder}/pid-{{rank.index}}", "w").write(str(os.getpid()))
    rank.barrier()
    while True:
        pass
sar.run(worker, r"{graph}", memory_budget="min", spill_dir=r"{spill}")
"""


@pytest.fixture
def kernel(tmp_path, monkeypatch):
    for name in ("JUPYTER_RUNTIME_DIR", "JUPYTER_CONFIG_DIR", "IPYTHONDIR"):
        monkeypatch.setenv(name, str(tmp_path / "jupyter"))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(sys.path))
    manager, client = jupyter_client.manager.start_new_kernel(startup_timeout=120, kernel_name="python3")
    yield manager, client
    client.stop_channels()
    manager.shutdown_kernel(now=True)


def reply_to(client, request):
    """The kernel's reply to a cell. Replies to what started the kernel may come before it."""
    while True:
        message = client.get_shell_msg(timeout=120)
        if message["parent_header"].get("msg_id") == request:
            return message["content"]


def executed(client, code):
    """The reply to a cell, and what it printed or gave."""
    request = client.execute(code)
    shown = ""
    while True:
        message = client.get_iopub_msg(timeout=120)
        if message["parent_header"].get("msg_id") != request:
            continue
        content = message["content"]
        shown += content.get("text") or content.get("data", {}).get("text/plain", "")
        if message["msg_type"] == "status" and content["execution_state"] == "idle":
            return reply_to(client, request), shown


def test_an_interrupt_of_the_kernel_ends_the_workers_and_the_kernel_goes_on(kernel, karate, spill, tmp_path):
    from test_run import await_end

    manager, client = kernel
    request = client.execute(CELL.format(folder=tmp_path, graph=karate, spill=spill))
    while len(list(tmp_path.glob("pid-*"))) < 2 or not all(path.read_text() for path in tmp_path.glob("pid-*")):
        assert manager.is_alive()
        time.sleep(0.02)
    pids = [int(path.read_text()) for path in tmp_path.glob("pid-*")]
    manager.interrupt_kernel()
    reply = reply_to(client, request)
    assert (reply["status"], reply["ename"]) == ("error", "KeyboardInterrupt")
    await_end(pids)
    assert not spill.exists()
    again = f'sar.run(lambda rank: rank.index, r"{karate}", memory_budget="min", spill_dir=r"{spill}")'
    reply, shown = executed(client, again)
    assert reply["status"] == "ok" and "[0, 1]" in shown
    assert executed(client, "1 + 1")[1] == "2"
