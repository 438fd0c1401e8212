"""Programs over ``rank.edge_index``: each gives on partitions what it gives in memory, or is refused."""

from __future__ import annotations

import random

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("torch_geometric")

import cloudpickle  # noqa: E402
import pyg_graphs  # noqa: E402

import sar_single as sar  # noqa: E402

cloudpickle.register_pickle_by_value(pyg_graphs)

# From edges to edges. `e` are edges, `x` values of nodes, `n` their number. Those in `WORKS` and `EDGES_WORK` have to work: what is refused is not
# silently wrong, but of no use.
EDGES_WORK = """
e[:, e[0] != e[1]]
e.flip(0)
torch.stack([e[0], e[1]])
torch.cat([e[:, e[0] == e[1]], e[:, e[0] != e[1]]], dim=-1)
u.add_self_loops(e, num_nodes=n)[0]
u.add_remaining_self_loops(e, num_nodes=n)[0]
u.remove_self_loops(e)[0]
u.dropout_edge(e, p=0.0)[0]
u.subgraph(x[:, 0] > 0, e)[0]
Data(x=x, edge_index=e).edge_index
""".split("\n")[1:-1]
EDGES = EDGES_WORK + """
e
e.clone()
e.contiguous().long().to('cpu')
copy.deepcopy(e)
e[:, ~(e[0] == e[1])]
e[:, (e[0] != e[1]) | (e[0] == e[1])]
e[..., e[0] == e[1]]
e[:, x[e[0]][:, 0] > x[e[1]][:, 0]]
torch.stack([e[1], e[0]])
torch.stack(list(e), dim=0)
torch.stack([e[0][e[0] != e[1]], e[1][e[0] != e[1]]])
torch.stack([e[0], e[0]])
torch.stack([e[0], e[1]], dim=1)
torch.stack(e.unbind(0)[::-1])
e.flip([0])
e.flip(1)
e[[1, 0]]
e[torch.tensor([1, 0])]
e.index_select(0, torch.tensor([1, 0]))
e.index_select(1, torch.arange(3))
e[:, :5]
e[:, ::2]
e[:, -1:]
e[:, torch.arange(e.size(1) - 1, -1, -1)]
e[:, torch.tensor([0, 1])]
e[0:1].repeat(2, 1)
e + 0
e % n
e.view(2, -1)
e.t().t()
e.t()[:3].t()
e.sort(1)[0]
e.unique(dim=1)
torch.cat([e, e], dim=1)
torch.cat([e, e.flip(0)], dim=1)
torch.cat([e, torch.arange(n).repeat(2, 1)], dim=1)
torch.cat([e, torch.tensor([[0], [1]])], dim=1)
torch.cat([e, torch.tensor([[0], [0]])], dim=1)
torch.cat([torch.arange(n).view(1, -1).repeat(2, 1), e], dim=1)
torch.cat([e[0].view(1, -1), e[1].view(1, -1)])
u.add_self_loops(e)[0]
u.add_remaining_self_loops(e)[0]
u.segregate_self_loops(e)[0]
u.segregate_self_loops(e)[2]
u.to_undirected(e)
u.coalesce(e)
u.sort_edge_index(e)
u.dropout_edge(e, p=0.0, force_undirected=True)[0]
u.subgraph(x[:, 0] > 0, e, relabel_nodes=True)[0]
u.remove_isolated_nodes(e)[0]
Data(x=x, edge_index=e).coalesce().edge_index
T.AddSelfLoops()(Data(x=x, edge_index=e)).edge_index
T.ToUndirected()(Data(x=x, edge_index=e)).edge_index
""".split("\n")[1:-1]

# From edges to a value: of nodes, or one number.
WORKS = """
total(e)
u.degree(e[0], n, dtype=x.dtype)
u.scatter(x[e[0]], e[1], 0, n, 'max')
u.scatter(x[e[1]], e[0], 0, n, 'sum')
u.scatter(u.softmax(x[e[0]] - x[e[1]], e[1], num_nodes=n) * x[e[0]], e[1], 0, n)
torch.bincount(e[1], minlength=n)
torch.ones(n, 6).double().scatter_add(0, e[0].unsqueeze(-1).expand(-1, 6), x[e[1]])
u.scatter(x.gather(0, e[0].view(-1, 1).expand(-1, 6)), e[1], dim_size=n)
u.scatter(x[e[0], 0], e[1], dim_size=n)
u.scatter(x[e[0], 1:4], e[1], dim_size=n)
u.scatter(x.t()[0, e[0]] * x.t()[..., e[1]][1], e[1], dim_size=n)
u.scatter(x.view(-1, 2, 3)[e[0], ..., 1], e[1], dim_size=n)
u.scatter(x[e].prod(0), e[1], dim_size=n)
torch.zeros(n, 6).double().scatter_add(0, e[1].unsqueeze(1).repeat(1, 6), x.gather(0, e[0].view(-1, 1).expand(-1, 6)))
""".split("\n")[1:-1]
VALUES = WORKS + """
total(e, reverse=True)
total(e, x.square().sum(1))
u.degree(e[1], n, dtype=x.dtype)
u.degree(e[1], dtype=x.dtype)
torch.bincount(e[1], minlength=n + 3)
torch.bincount(e[0], minlength=n)
u.scatter(x[e[0]], e[1], 0, n, 'sum')
u.scatter(x[e[0]], e[1], 0, n, 'mean')
u.scatter(x[e[0]], e[1], 0, n, 'mul')
u.scatter(x[e[1]], e[0], 0, n, 'mean')
u.scatter(x[e[1]], e[0], 0, n, 'max')
u.scatter(x[e[0]].t(), e[1], 1, n, 'sum').t()
u.scatter(x.t()[:, e[0]].t(), e[1], 0, n)
u.scatter(u.softmax(x[e[0]], e[0], num_nodes=n), e[1], 0, n)
u.scatter(x.index_select(0, e[0]), e[1], dim_size=n)
u.scatter(x[:, 0][e[0]] * x[:, 1][e[1]], e[1], 0, n)
u.scatter(2 * x[:, 0][e[0]] * x[:, 1][e[0]] / (x[:, 2][e[1]] + 9), e[0], 0, n)
u.scatter((x[:, 0][e[0]] * x[:, 0][e[1]]).view(-1, 1) * x[e[0]], e[1], 0, n)
u.scatter((x[:, 0][e[0]] > x[:, 0][e[1]]).double(), e[1], 0, n)
summed(e, x[:, 0][e[0]])
summed(e, x[:, 0][e[0]] * x[:, 1][e[1]])
summed(e, x[:, 0][e[1]].abs().sqrt() * torch.arange(1)[0] + 1)
summed(e, x[:, 0][e[0]].float())
summed(e, changed(x[:, 0][e[0]] * x[:, 1][e[1]], e[0] == e[1]))
summed(e, u.softmax(x[:, 0][e[0]], e[1], num_nodes=n))
summed(*gcn_norm(e, num_nodes=n, dtype=x.dtype))
summed(*gcn_norm(e, num_nodes=n, add_self_loops=False, dtype=x.dtype))
summed(*gcn_norm(e, x[:, 0][e[1]].abs(), n, improved=True))
later(e)
torch.zeros(n, 6).double().index_add(0, e[1], x[e[0]], alpha=2)
torch.zeros(n, 6).double().index_add_(0, e[0], x[e[1]], alpha=2)
torch.ones(n, 6).double().scatter_add(0, e[1].reshape(-1, 1).expand_as(x[e[0]]), x[e[0]])
torch.ones(n, 6).double().index_reduce(0, e[1], x[e[0]], 'amax')
torch.zeros(n).scatter_(0, e[1], 1.0)
torch.zeros(n + 1, 6).double().index_add(0, e[1], x[e[0]])
torch.zeros(7, 6).double().index_add(0, e[1] % 7, x[e[0]])
torch.eye(60).double()[e[1]].sum(0)
torch.eye(60).double()[e[0]].sum(0)
torch.arange(60.0)[e[1]].sum()
e.max()
e.min()
e[0].max() + 1
e[1].max() + 1
e.sum()
e[1].float().mean()
e[0].sum()
(e[0] < e[1]).sum()
(e[0] > e[1]).float().sum()
(e[0] == e[1]).sum()
(e[0] != e[1]).any()
bool((e[0] == e[1]).all())
(e[0] == 3).sum()
(e == 0).sum()
torch.tensor(e.tolist()).sum()
torch.as_tensor(e.numpy()).sum()
torch.tensor(np.asarray(e)).sum()
int(e[0, 0])
e[1, 0].item()
e[0] * n + e[1]
e.float().mean()
torch.where(e[0] == e[1], 1.0, 0.0).double()[:0].sum()
scripted(e)
torch.ops.aten.add(e, 1).sum()
torch.sparse_coo_tensor(e, torch.ones(e.size(1)).double(), (n, n)).to_dense().sum(1)
u.to_dense_adj(e, max_num_nodes=n)[0].sum(0)
u.contains_self_loops(e)
u.is_undirected(e)
u.homophily(e, (x[:, 0] > 0).long())
u.negative_sampling(e, num_nodes=n)
torch.zeros(n, 6).double().scatter_add(0, e[1].repeat(2).view(2, -1)[0], x[e[0]])
torch.zeros(n, 6).double().index_put((e[1],), x[e[0]], accumulate=True)
u.k_hop_subgraph(0, 2, e, num_nodes=n)[3].sum()
x[e[0], e[0]].sum()
len(e)
e.size(0)
e.dim()
""".split("\n")[1:-1]

LONGER = 150


def programs(seed=3):
    """All steps alone, and longer programs at random: lists of steps, the last of which gives a value."""
    draw = random.Random(seed)
    found = [["e", value] for value in VALUES] + [[edges, value] for edges in EDGES for value in ("total(e)", "total(e, reverse=True)")]
    fine = [edges for edges in EDGES if "e" in edges]
    return found + [[*draw.choices(fine, k=draw.randint(2, 4)), draw.choice(VALUES)] for _ in range(LONGER)]


def played(steps, x, e):
    """The value that a program gives."""
    import copy

    import numpy as np
    import torch_geometric.transforms as T
    import torch_geometric.utils as u
    from torch_geometric.data import Data

    from torch_geometric.nn import SimpleConv
    from torch_geometric.nn.conv.gcn_conv import gcn_norm

    n = x.size(0)

    def summed(e, weight):
        return SimpleConv(aggr="sum")(x, e, weight)

    def changed(values, where):
        values[where] *= 3
        return values

    def later(e):
        values = x[:, 0].clone()
        weights = values[e[0]] * values[e[1]]
        values.zero_()
        return summed(e, weights)

    def total(e, values=None, reverse=False):
        row, col = e if not reverse else (e[1], e[0])
        values = x if values is None else values
        return values.new_zeros(values.shape).index_add(0, col, values[row])

    scripted = torch.jit.CompilationUnit("def last(e: Tensor):\n    return e[1][-1] * 2 + 1\n").last
    names = {**locals(), "torch": torch}
    for step in steps:
        names["e"] = eval(step, names)
    return torch.as_tensor(names["e"])


def worker(rank, all_steps):
    found = []
    for steps in all_steps:
        try:
            found.append(played(steps, rank.x, rank.edge_index))
        except (sar.Refused, TypeError, RuntimeError, NotImplementedError) as error:
            found.append(f"{type(error).__name__}: {error}")
    return found, rank.orig_ids


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    folder = tmp_path_factory.mktemp("edges")
    data, all_steps = pyg_graphs.graph(), programs()
    cloudpickle.register_pickle_by_value(__import__(__name__))
    parts = pyg_graphs.cut(data, folder, 4)
    ranks = sar.run(worker, parts, args=(all_steps,), memory_budget="2GiB", spill_dir=folder / "spill")
    return data, all_steps, ranks


def test_programs_give_what_they_give_in_memory_or_are_refused(results):
    data, all_steps, ranks = results
    ids = [ids for _, ids in ranks]
    wrong, equal = [], 0
    for number, steps in enumerate(all_steps):
        found = [values[number] for values, _ in ranks]
        if any(isinstance(value, str) for value in found):
            continue
        try:
            expected = played(steps, data["x"], data["edge_index"])
        except Exception as error:
            wrong.append((steps, f"in memory: {error}"))
            continue
        of_nodes = expected.dim() > 0 and len(expected) == pyg_graphs.NODES and all(len(v) == len(i) for v, i in zip(found, ids))
        parts = [pyg_graphs.joined(found, ids)] if of_nodes else found
        if max(pyg_graphs.difference(part, expected) for part in parts) > 1e-9:
            wrong.append((steps, "another value"))
        equal += 1
    assert not wrong
    assert equal > 80


def test_common_operations_are_not_refused(results):
    _, all_steps, ranks = results
    refused = {tuple(steps): value for steps, value in zip(all_steps, ranks[0][0]) if isinstance(value, str)}
    wanted = [("e", step) for step in WORKS] + [(step, "total(e)") for step in EDGES_WORK]
    assert not {steps: refused[steps] for steps in wanted if steps in refused}


MESSAGES = {
    ("e", "e.max()"): "max of edge_index: each rank numbers nodes in its own way.*x.size",
    ("e[:, :5]", "total(e)"): "__getitem__ of edge_index: each rank has its own edges in its own order.*boolean mask",
    ("torch.cat([e, e.flip(0)], dim=1)", "total(e)"): "cat of edge_index: .*change the graph before sar.partition",
    # Old versions of torch leave the text of the exception out.
    ("e", "scripted(e)"): "compiled code reads the numbers themselves|failed in the TorchScript interpreter",
    ("e", "u.k_hop_subgraph(0, 2, e, num_nodes=n)[3].sum()"): "k_hop_subgraph of edge_index: .*rank.loader",
    ("e", "torch.zeros(n, 6).double().index_put((e[1],), x[e[0]], accumulate=True)"): "index_put of destinations of edges: .*index_add_",
    ("e", "x[e[0], e[0]].sum()"): "__getitem__ of sources of edges: .*index by the edges first",
    ("e", "(e[0] == e[1]).sum()"): "sum of a mask of edges: .*rank.all_reduce",
}


def test_refusals_name_the_operation_the_reason_and_the_remedy(results):
    import re

    _, all_steps, ranks = results
    for steps, pattern in MESSAGES.items():
        message = ranks[0][0][all_steps.index(list(steps))]
        assert re.search(pattern, str(message), re.S), (steps, message)
