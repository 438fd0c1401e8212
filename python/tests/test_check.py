"""``sar.check`` names the mistakes that no stand-in for edges can see, and passes programs that are right."""

from __future__ import annotations

import re

import pytest

torch = pytest.importorskip("torch")
torch_geometric = pytest.importorskip("torch_geometric")

import torch.nn.functional as F  # noqa: E402
from torch_geometric.nn import GATConv, HeteroConv, MessagePassing, SAGEConv, global_mean_pool  # noqa: E402

import sar_single as sar  # noqa: E402
from sar_single.checking.check import Check, failure_of  # noqa: E402
from sar_single.checking.findings import Comparison  # noqa: E402
from sar_single.checking.small import cut, small  # noqa: E402
from sar_single.checking.watch import watched  # noqa: E402
from sar_single.commands import graphs  # noqa: E402

NODES, WIDTH, CLASSES = 240, 6, 3


def graph():
    draw = torch.Generator().manual_seed(1)
    return torch_geometric.data.Data(
        x=torch.randn(NODES, WIDTH, generator=draw),
        edge_index=torch.randint(0, NODES, (2, 1300), generator=draw),
        y=torch.randint(0, CLASSES, (NODES,), generator=draw),
        train_mask=torch.rand(NODES, generator=draw) < 0.4,
        val_mask=torch.rand(NODES, generator=draw) < 0.3,
    )


class OfTheUser(MessagePassing):
    """A module as a user writes it, with a message that is a function of both ends."""

    def __init__(self):
        super().__init__(aggr="max")
        self.lin = torch.nn.Linear(2 * WIDTH, 8)

    def forward(self, x, edge_index):
        return self.propagate(edge_index, x=x)

    def message(self, x_i, x_j):
        return self.lin(torch.cat([x_i, x_j - x_i], 1)).tanh()


class Net(torch.nn.Module):
    """Two layers with ``between`` in the middle."""

    def __init__(self, first=None, between=lambda rank, h: h):
        super().__init__()
        self.first = first or SAGEConv(WIDTH, 8)
        self.norm = torch.nn.BatchNorm1d(8)
        self.second = SAGEConv(8, CLASSES)
        self.between = between

    def forward(self, rank, x):
        h = F.dropout(self.norm(self.first(x, rank.edge_index)).relu(), 0.5, self.training)
        return self.second(self.between(rank, h), rank.edge_index)


class Single(torch.nn.Module):
    """A model that names single precision, as modules of DGL do."""

    def __init__(self):
        super().__init__()
        self.first, self.second = SAGEConv(WIDTH, 8), SAGEConv(8, CLASSES)
        self.scale = torch.nn.Parameter(torch.FloatTensor(size=(1, 8)).fill_(0.7))

    def forward(self, rank, x):
        h = self.first(x.to(torch.float32), rank.edge_index) * self.scale
        return self.second(h.float() + torch.ones(1, 8, dtype=torch.float32), rank.edge_index)


class InTheMannerOfDgl(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = sar.nn.GATConv(WIDTH, 4, 2, attn_drop=0.4, allow_zero_in_degree=True), sar.nn.SAGEConv(8, CLASSES, "pool")

    def forward(self, rank, x):
        return self.second(rank.graph, F.elu(self.first(rank.graph, x).flatten(1)))


def mean_loss(rank, out, y, mask):
    return rank.mean_loss(F.cross_entropy(out[mask], y[mask]), mask)


def sum_of_losses(rank, out, y, mask):
    return F.cross_entropy(out[mask], y[mask], reduction="sum") / rank.all_reduce(mask.sum())


def train(rank, model, loss=mean_loss, gather=True, log=lambda rank, loss: rank.all_reduce(loss.item()) / rank.world_size):
    """A program of the user's but for what is passed."""
    rank.sync_params(model)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    x, y, mask = rank.x.float(), rank.y, rank.train_mask
    for epoch in range(4):
        out = model(rank, x)
        optimizer.zero_grad()
        step = loss(rank, out, y, mask)
        step.backward()
        if gather:
            rank.gather_grads(model)
        optimizer.step()
        rank.log(epoch=epoch, loss=log(rank, step))
    right = (out.argmax(1) == y)[rank.val_mask]
    return out.detach(), out.argmax(1).numpy(), rank.all_reduce(right.double().sum()), rank.orig_ids, rank.index


def of_its_own(rank):
    """A model whose parameters each rank draws from a seed of its own."""
    torch.manual_seed(rank.index)
    Net()(rank, rank.x)
    return {}


def between(function):
    return lambda rank: train(rank, Net(between=function))


def pooled_loss(rank, out, y, mask):
    return global_mean_pool(out, None).square().sum()


RIGHT = {
    "SAGEConv": lambda rank: train(rank, Net()),
    "GATConv": lambda rank: train(rank, Net(GATConv(WIDTH, 4, heads=2, dropout=0.5)), sum_of_losses, log=lambda rank, loss: rank.all_reduce(loss.item())),
    "a module of the user's": lambda rank: train(rank, Net(OfTheUser())),
    "single precision": lambda rank: train(rank, Single()),
    "layers as in DGL": lambda rank: train(rank, InTheMannerOfDgl()),
    "rank.mean": between(lambda rank, h: h - rank.mean(h)),
    "softmax with rank.mean": between(
        lambda rank, h: (h - rank.all_reduce(h.detach().amax(0), "max")).exp() / (rank.mean((h - rank.all_reduce(h.detach().amax(0), "max")).exp()) * rank.num_total_nodes)
    ),
    "numbers of own nodes": between(lambda rank, h: h[torch.arange(len(h))]),
    "numbers for all nodes": between(lambda rank, h: h * (torch.rand(rank.num_total_nodes, 1) < 0.5)[rank.orig_ids]),
    "numbers for columns": between(lambda rank, h: h * torch.rand(8) + F.dropout(torch.ones(3, 8)).mean(0)),
    "dropout by node": between(lambda rank, h: torch.nn.Dropout(0.3)(h)),
    "pairs for all ranks": lambda rank: train(rank, Net(), lambda rank, out, y, mask: sum_of_losses(rank, out, y, mask) + 0 * torch.randint(rank.num_total_nodes, (2, 9)).sum(), log=lambda *_: 0.0),
    "a pooled loss, divided": lambda rank: train(rank, Net(), lambda *args: pooled_loss(*args) / args[0].world_size, log=lambda rank, loss: 0.0),
}

# Programs, and what is said about them.
WRONG = {
    "mean": (between(lambda rank, h: h - h.mean(0)), r"result of sub at test_check.py.* after the module norm; .* result of mean at .*\nhint: rank.mean\(x\)"),
    "sum": (between(lambda rank, h: h / h.sum(0, keepdim=True).clamp(min=1)), r"result of sum at .*\nhint: rank.mean\(x\) \* rank.num_total_nodes"),
    "softmax": (between(lambda rank, h: F.softmax(h, dim=0)), r"result of softmax at .*after the module norm\nhint: over all nodes it is e / "),
    "variance": (between(lambda rank, h: h / (h.std(0) + 1)), r"result of std at .*\nhint: torch.nn.BatchNorm1d"),
    "batch norm of torch's core": (between(lambda rank, h: torch.batch_norm(h, None, None, None, None, True, 0.1, 1e-5, False)), "result of batch_norm at "),
    "maximum": (between(lambda rank, h: h / h.max(0).values.clamp(min=1)), r"result of max at .*\nhint: rank.all_reduce\(x.amax"),
    "order": (between(lambda rank, h: h.flip(0)), r"result of flip at .*before sar.partition"),
    "random numbers": (between(lambda rank, h: h * (torch.rand(len(h), 1) < 0.5)), r"rand at test_check.py:.* draws other .*\nhint: each rank draws for its own rows.*orig_ids"),
    "random numbers of each rank": (
        lambda rank: torch.manual_seed(rank.index) and train(rank, Net(between=lambda rank, h: h * torch.rand(len(h), 1))),
        r"result of mul at test_check.py.* uses the result of rand at .*\nhint: each rank draws",
    ),
    "a random order": (between(lambda rank, h: h + 0 * h[torch.randperm(len(h))[:5]].sum()), "randperm at test_check.py:.* draws other random numbers"),
    "random choices": (between(lambda rank, h: h + 0 * h[torch.multinomial(torch.ones(len(h)), 5)].sum()), "multinomial at test_check.py:.* draws other"),
    "random rows": (between(lambda rank, h: h + 0 * h[torch.randint(len(h), (5,))].sum()), "randint at test_check.py:.* draws other random numbers"),
    "dropout of columns": (between(lambda rank, h: F.alpha_dropout(h, 0.1, True)), "dropout at test_check.py:.* draws other random numbers"),
    "numbers in place": (between(lambda rank, h: h * torch.empty(len(h), 1).bernoulli_(0.5)), "bernoulli_ at test_check.py:.* draws other random numbers"),
    "dropout of some rows": (
        lambda rank: train(rank, Net(), lambda rank, out, y, mask: sum_of_losses(rank, out, y, mask) + 0 * F.dropout(out[mask]).sum()),
        r"dropout at test_check.py:.* draws other random numbers on 3 partitions than on one\nhint: .*F.dropout\(x\)\[mask\]",
    ),
    "a module's dropout of some rows": (
        lambda rank: train(rank, Net(), lambda rank, out, y, mask: sum_of_losses(rank, out, y, mask) + 0 * torch.nn.Dropout(0.1)(out[mask]).sum()),
        "dropout at test_check.py",
    ),
    "a number that depends on the cut": (lambda rank: train(rank, Net(), log=lambda rank, loss: rank.world_size**2.0), r"in rank.log differs .*\nhint: a rank has only some"),
    "a mean loss per rank": (lambda rank: train(rank, Net(), lambda rank, out, y, mask: F.cross_entropy(out, y)), r"the loss of backward\(\) at .*rank.mean_loss"),
    "a loss per rank that is not a number": (
        lambda rank: train(rank, Net(), lambda rank, out, y, mask: F.cross_entropy(out[mask], y[mask]), log=lambda *_: 0.0),
        r"the loss of backward\(\) at .*, or is not a number.*rank.mean_loss",
    ),
    "parameters of each rank": (of_its_own, r"parameter first.lin_l.weight differs .*\nhint: .*call rank.sync_params\(model\)"),
    "no sum of gradients": (lambda rank: train(rank, Net(), gather=False), r"gradient of first.lin_l.weight at the optimizer's step .*call rank.gather_grads"),
    "a pooled loss, counted by all": (lambda rank: train(rank, Net(), pooled_loss), r"gradient of .*it is 3 times as large.*divide it by rank.world_size"),
    "what one rank logs": (
        lambda rank: train(rank, Net(), sum_of_losses, log=lambda rank, loss: loss.item()),
        r"loss in rank.log differs .*rank.log reports rank 0's value",
    ),
    "what a rank returns": (lambda rank: {"share": F.softmax(rank.x, 0)}, r"result\['share'\] differs|result of softmax"),
}


def seen(rank, names):
    programs = {**RIGHT, **{name: program for name, (program, _) in WRONG.items()}}
    return {name: watched(rank, programs[name], (), 2) for name in names}


@pytest.fixture(scope="module")
def checks(tmp_path_factory):
    """Findings of all programs, which run one after the other in the same workers."""
    folder = tmp_path_factory.mktemp("check")
    whole, parts = cut(small(graphs.describe(graph()), 200), folder)
    names = [*RIGHT, *WRONG]
    (expected,), ranks = (sar.run(seen, path, args=(names,), spill_dir=folder / "spill") for path in (whole, parts))
    compared = {name: Comparison(expected[name], [rank[name] for rank in ranks]) for name in names}
    return {name: Check(comparison.counts, comparison.first()) for name, comparison in compared.items()}


@pytest.mark.parametrize("name", RIGHT)
def test_right_programs_pass(checks, name):
    assert checks[name], checks[name]
    assert "outputs" in str(checks[name]) and "gradients" in str(checks[name])


@pytest.mark.parametrize("name", WRONG)
def test_mistakes_are_found_and_named(checks, name):
    assert not checks[name], checks[name]
    assert re.search(WRONG[name][1], str(checks[name]), re.S), checks[name]


def test_a_collective_that_some_ranks_leave_out_is_named_with_both_places(tmp_path, monkeypatch):
    def worker(rank):
        if rank.train_mask.any():
            rank.barrier()
        return rank.all_reduce(1.0)

    found = sar.check(worker, graph(), nodes=150)
    assert not found
    assert "the program runs on one partition, but not on 3" in str(found)
    assert "barrier at test_check.py" in str(found) and "all_reduce at test_check.py" in str(found)


def test_a_failure_is_reported_with_the_last_line_of_the_program():
    traceback = (
        'Traceback (most recent call last):\n  File "/lib/sar_single/worker/server.py", line 108, in _work\n  File "/home/me/train.py", line 12, in worker\n    y.max()\n'
        '  File "/lib/torch/_tensor.py", line 7, in max\n'
    )
    assert failure_of(sar.WorkerError("rank 2: RuntimeError: no elements", 2, traceback)) == "rank 2: RuntimeError: no elements\nat train.py:12 in worker"


def test_a_module_and_partitions_are_taken_as_they_are(tmp_path):
    parts = sar.partition(tmp_path / "parts", graph(), num_parts=2)
    found = sar.check(SAGEConv(WIDTH, CLASSES), parts, nodes=100)
    assert found and "gradients" in str(found) and "outputs" in str(found)


def test_modules_of_several_types_are_checked():
    data = torch_geometric.data.HeteroData()
    draw = torch.Generator().manual_seed(2)
    for name, count, width in (("author", 60, 3), ("paper", 90, 5)):
        data[name].x = torch.randn(count, width, generator=draw)
    for begin, relation, end in (("author", "writes", "paper"), ("paper", "by", "author")):
        data[begin, relation, end].edge_index = torch.stack([torch.randint(0, data[name].num_nodes, (300,), generator=draw) for name in (begin, end)])
    module = HeteroConv({key: SAGEConv((-1, -1), 4) for key in data.edge_types})
    assert sar.check(module, data, nodes=120)


def test_what_cannot_be_checked_is_refused():
    with pytest.raises(TypeError, match="takes a worker or a module, not str"):
        sar.check("worker", graph())
    with pytest.raises(TypeError, match="does not know what Bilinear.forward takes as 'input1': pass a worker"):
        sar.check(torch.nn.Bilinear(2, 2, 2), graph())
