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


MODULE = """
import torch, sar_single as sar
from torch_geometric.nn import MessagePassing
class Mine(MessagePassing):
    def __init__(self):
        super().__init__(aggr="add")
        self.scale = torch.nn.Parameter(torch.tensor(2.0))
    def forward(self, x, edge_index):
        return self.propagate(edge_index, x=x)
    def message(self, x_j):
        return self.scale * x_j
mine = Mine()
mine(torch.ones(2, 1), torch.tensor([[0], [1]])).tolist()
"""
# The graph has each edge in both directions.
SUMS = """
def sums(rank):
    x = rank.ndata["features"].double()
    rows = mine(x, rank.edge_index)
    rows.sum().backward()
    rank.gather_grads(mine)
    degrees = rank.graph.in_degrees()[:, None]
    found = torch.stack([rows.detach().sum(), mine.scale.grad.double() / rank.world_size, (degrees * x).sum()])
    return rank.all_reduce(found).tolist()
for found, gradient, expected in sar.run(sums, r"{graph}", memory_budget="min", spill_dir=r"{spill}"):
    assert abs(found - 2 * expected) < 1e-4 * abs(expected) and abs(gradient - expected) < 1e-4 * abs(expected)
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
    # Else the kernel refuses what comes within a moment after an error.
    request = client.execute(CELL.format(folder=tmp_path, graph=karate, spill=spill), stop_on_error=False)
    end = time.monotonic() + 120
    while len(list(tmp_path.glob("pid-*"))) < 2 or not all(path.read_text() for path in tmp_path.glob("pid-*")):
        assert manager.is_alive() and time.monotonic() < end
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


def test_a_class_of_pyg_that_a_cell_defines_trains_in_workers(kernel, karate, spill):
    pytest.importorskip("torch_geometric")
    client = kernel[1]
    reply, shown = executed(client, MODULE)
    assert reply["status"] == "ok" and "[[0.0], [2.0]]" in shown, shown
    # Again after the cell has run again, as users do: the class is another one then.
    for cell in (SUMS, MODULE, SUMS):
        reply, shown = executed(client, cell.format(graph=karate, spill=spill))
        assert reply["status"] == "ok", (shown, reply)
