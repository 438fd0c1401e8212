"""Memory of waiting workers lies on disk, and that changes no bit."""

from __future__ import annotations

import multiprocessing
import time
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

import sar_single as sar  # noqa: E402


def private_bytes():
    with open("/proc/self/smaps_rollup") as file:
        lines = [line.split() for line in file]
    return sum(int(line[1]) << 10 for line in lines if line[0] in ("Private_Dirty:", "Private_Clean:"))


class Awkward(torch.nn.Module):
    """In-place operations, dropout, a checkpointed part, shared weights and two outputs."""

    def __init__(self, width, hidden):
        super().__init__()
        self.first = sar.nn.SAGEConv(width, hidden, "mean")
        self.shared = sar.nn.SAGEConv(hidden, hidden, "mean")
        self.attention = sar.nn.GATConv(hidden, hidden, 2)
        self.out = torch.nn.Linear(2 * hidden, 3)

    def forward(self, graph, x):
        from torch.utils.checkpoint import checkpoint

        h = self.first(graph, x).relu_()
        h = torch.nn.functional.dropout(h, 0.5, self.training)
        h = checkpoint(self.shared, graph, h, use_reentrant=False)
        h = self.shared(graph, h).mul_(0.5)
        h = self.attention(graph, h).flatten(1)
        return self.out(h), h


def train(rank, rows):
    torch.manual_seed(rank.index)
    ballast = torch.randn(rows, 256)  # A local that lives across all pauses.
    x = rank.ndata["features"].float()
    torch.manual_seed(0)
    model = Awkward(x.shape[1], 64)
    rank.sync_params(model)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    waiting = []
    for epoch in range(3):
        torch.manual_seed(100 * epoch + rank.index)
        logits, hidden = model(rank.graph, x)
        loss = logits.square().sum() + hidden.abs().sum() + (ballast[: len(x), :64] * hidden[:, :64]).sum()
        optimizer.zero_grad()
        loss.backward()
        rank.gather_grads(model)
        optimizer.step()
        ballast.mul_(1.01)
        rank.barrier()
        waiting.append(private_bytes())  # What was not touched since the pause is still on disk.
    total = ballast.double().sum().item()
    return [parameter.detach() for parameter in model.parameters()], loss.item(), total, min(waiting)


def test_the_bits_do_not_depend_on_the_budget_and_waiting_workers_own_little(karate, spill):
    rows = 50_000  # 49 MiB
    least = sar.run(train, karate, args=(rows,), memory_budget="min", spill_dir=spill)
    most = sar.run(train, karate, args=(rows,), memory_budget="6GiB", spill_dir=spill)
    for (ours, loss, total, waiting), (theirs, other_loss, other_total, _) in zip(least, most):
        assert all(torch.equal(a, b) for a, b in zip(ours, theirs))
        assert loss == other_loss and total == other_total
        assert waiting <= 25 << 20, f"a waiting worker owns {waiting >> 20} MiB"


def test_workers_share_the_modules_that_an_optimizer_imports(karate, spill):
    def worker(rank):
        import sys

        before = set(sys.modules)
        torch.optim.Adam([torch.zeros(2, requires_grad=True)])
        return sorted(set(sys.modules) - before)

    assert sar.run(worker, karate, memory_budget="min", spill_dir=spill) == [[]] * 2


def test_messages_of_ranks_are_added_up_one_at_a_time(karate, spill):
    def worker(rank):
        import weakref

        from sar_single.worker import rank as worker_rank

        theirs, alive = worker_rank.unpacked, []

        def unpacked(message):
            assert all(part() is None for part in alive), "a message is kept while the next one is read"
            parts = theirs(message)
            alive[:] = map(weakref.ref, parts)
            return parts

        x, model = torch.full((1000,), rank.index + 0.5), torch.nn.Linear(30, 40)
        doubled = sar.DistributedDataParallel(model)
        worker_rank.unpacked = unpacked
        model(torch.ones(2, 30)).sum().backward()
        assert rank.all_reduce(x).tolist() == [2.0] * 1000 and rank.all_reduce(x, op="min").tolist() == [0.5] * 1000
        rank.gather_grads(model)
        assert model.weight.grad.unique().tolist() == [4.0]
        model.zero_grad()
        doubled(torch.ones(2, 30)).sum().backward()
        assert model.weight.grad.unique().tolist() == [2.0]

    sar.run(worker, karate, memory_budget="min", spill_dir=spill)


def test_processes_that_a_worker_starts_count(karate, spill):
    def hold():
        filled = b"1" * (400 << 20)
        time.sleep(1)
        return filled

    def worker(rank, starts):
        if starts and rank.index == 0:
            child = multiprocessing.get_context("fork").Process(target=hold)
            child.start()
            child.join()
        rank.barrier()
        rank.log(epoch=0, loss=0.0)

    def peak(starts):
        return sar.run(worker, karate, args=(starts,), memory_budget="3GiB", spill_dir=spill).metrics[-1]["peak_memory_bytes"]

    assert peak(True) > peak(False) + (300 << 20)


def test_large_tensors_use_freed_memory_again_until_the_next_pause(karate, spill):
    def worker(rank):
        import resource

        def faults():
            return resource.getrusage(resource.RUSAGE_SELF).ru_minflt

        torch.ones(1 << 24)  # 64 MiB
        before = faults()
        for _ in range(40):
            torch.ones(1 << 24)
        again = faults() - before
        rank.barrier()
        return again, private_bytes()

    for faults, waiting in sar.run(worker, karate, memory_budget="min", spill_dir=spill):
        # A new one is 32 huge pages or 16,384 others.
        assert faults < 200
        assert waiting <= 25 << 20


def test_memory_that_grows_is_freed_and_is_changed_between_pauses_keeps_its_values(karate, spill):
    def worker(rank):
        values = list(range(700_000))  # A block of more than 4 MiB, which the C library moves as it grows.
        tensors = [torch.full((1 << 21,), float(i)) for i in range(6)]
        for step in range(5):
            rank.barrier()
            values.extend(range(700_000 * (step + 1), 700_000 * (step + 2)))
            tensors[step].add_(step)
            tensors[5][step::7] = step
            if step == 2:
                del tensors[1:3]
                tensors[1:1] = [torch.full((1 << 22,), 9.0), torch.zeros(10)]
        rank.barrier()
        spilled = sum(path.stat().st_blocks * 512 for path in Path(rank._engine.folder).rglob("*") if path.is_file())
        expected = values == list(range(len(values)))
        return expected, [float(t.double().sum()) for t in tensors], spilled

    least = sar.run(worker, karate, memory_budget="min", spill_dir=spill)
    most = sar.run(worker, karate, memory_budget="6GiB", spill_dir=spill)
    for (same, sums, spilled), (other_same, other_sums, _) in zip(least, most):
        assert same and other_same and sums == other_sums
        assert spilled < 500 << 20


def test_a_budget_that_is_too_little_is_named_as_it_was_given(karate, spill):
    def worker(rank):
        for _ in range(300):
            kept = torch.ones(20 << 20)
            rank.barrier()
        return kept

    with pytest.raises(MemoryError, match="the memory budget is 20.0 MiB; rank") as error:
        sar.run(worker, karate, memory_budget="20MiB", spill_dir=spill)
    assert "hint: raise `memory_budget`" in str(error.value)


@pytest.mark.parametrize("budget", ["20 apples", "-1GiB", 0, -5, [1], float("nan"), float("inf"), True])
def test_a_budget_that_is_no_size_is_refused_with_its_name(karate, budget):
    with pytest.raises((ValueError, TypeError), match="memory_budget"):
        sar.run(lambda rank: None, karate, memory_budget=budget)


def test_arrays_that_ranks_share_leave_memory_while_they_wait(tmp_path, spill):
    draw = torch.Generator().manual_seed(0)
    edges = torch.randint(20_000, (2, 2_000_000), generator=draw)
    parts = sar.partition(tmp_path / "parts", edge_index=(edges[0].numpy(), edges[1].numpy()), node_data={"x": edges[0, :20_000].float().numpy()[:, None]}, num_parts=2)

    def mapped(folder):
        """Bytes in memory of the arrays in a folder."""
        total, inside = 0, False
        for line in Path("/proc/self/smaps").read_text().splitlines():
            if "-" in line.split(" ")[0]:
                inside = str(folder) in line and line.endswith(".npy")
            elif inside and line.startswith("Rss:"):
                total += int(line.split()[1]) << 10
        return total

    def worker(rank):
        from sar_single import dist

        g = dist.DistGraph("g")
        rows = dist.DistTensor((20_000, 256), torch.float32)  # 20 MiB
        sums = []
        for step in range(3):
            drawn = sar.sample_neighbors(rank.graph, torch.arange(20_000), -1)
            own = torch.arange(10_000) * 2 + rank.index
            rows[own] = rows[own] + step
            used = mapped(rank._engine.folder)
            rank.barrier()
            waiting = mapped(rank._engine.folder)
            sums.append((int(drawn.edges()[0].sum()), float(rows[0:20_000].double().sum())))
            g.barrier()
        return used, waiting, sums

    least = sar.run(worker, parts, memory_budget="min", spill_dir=spill)
    most = sar.run(worker, parts, memory_budget="6GiB", spill_dir=spill)
    for (used, waiting, sums), (_, stays, others) in zip(least, most):
        assert sums == others and used > 40 << 20
        assert waiting < 1 << 20 and stays > 40 << 20, (waiting >> 20, stays >> 20)
