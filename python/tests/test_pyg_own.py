"""A user's own ``message`` and ``edge_update``: each gives what it gives in memory, or the operation over edges is refused by its name."""

from __future__ import annotations

import random
import re
import sys
from typing import Optional

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("torch_geometric")

import cloudpickle  # noqa: E402
import pyg_graphs  # noqa: E402
from torch_geometric.nn import MessagePassing  # noqa: E402

import sar_single as sar  # noqa: E402

cloudpickle.register_pickle_by_value(pyg_graphs)

_REMEDY = re.compile("torch_geometric.utils.softmax|torch.nn.functional.dropout")

# Steps from the values of edges, `m`, to others. Each edge keeps its own.
RIGHT = """
m * w.view(-1, 1)
softmax(m, index) * x_j
softmax(m[:, :1] + x_i[:, :1], index, num_nodes=size_i) * m
torch.softmax(m, 1)
F.normalize(m, dim=-1) + x_i
F.layer_norm(m, (6,))
F.dropout(m, 0.5) * 0 + x_j
F.prelu(m, torch.ones(6).double() / 4)
m.view(-1, 2, 3).softmax(1).flatten(1)
torch.cat([x_i, m], 1)[:, 3:9]
(x_i * m).sum(-1, keepdim=True) * x_j
torch.where(w.view(-1, 1) > 1, m, -x_i)
masked(m, w)
torch.einsum('ef,eg->efg', m, x_i).sum(1)
(m.view(-1, 1, 6) @ x_i.view(-1, 6, 1)).view(-1, 1) * x_j
m.t().softmax(0).t()
m.sort(dim=1)[0].flip(1)
torch.stack([m, x_i]).max(0)[0]
torch.eye(6).double()[kind] * m
m * torch.linspace(0, 1, 101).double().mean()
m * 1 if bool((w > 0).all()) else m
m - scatter(m, index, 0, size_i, 'mean')[index]
m * F.one_hot(kind, 3).sum(1, keepdim=True)
m.clone().mul_(2).add_(x_i.mul_(2))
m.gather(1, kind.view(-1, 1)) * m
m[torch.arange(len(m)), kind].view(-1, 1) * m
""".split("\n")[1:-1]

# Steps over several edges, by the name that the error has.
WRONG = """
mean: m * w.mean()
mean: m - m.mean(0)
mean: m - m.mean(0, keepdim=True)
mean: m * (m > 0).double().mean()
mean: m * w[w > 0.7].mean()
sum: m * w[w > 1].sum().item()
sum: m * (w > 1).sum()
max: m / m.max()
max: m / float(w.max())
norm: m / m.norm()
norm: F.normalize(m, dim=0)
prod: m * w.prod()
std: m * m.std(0)
median: m * m.median()
sort: m * m.quantile(0.5)
logsumexp: m * torch.logsumexp(w, 0)
argmax: m * m.argmax(0)
softmax: torch.softmax(m, 0)
softmax: m.t().softmax(-1).t()
softmax: m.flatten().softmax(0).view(m.shape)
softmax: (m @ m.t()).softmax(1) @ m
cumsum: m.cumsum(0)
sort: m.sort(dim=0)[0]
topk: m * w.topk(2)[0].sum()
flip: m.flip(0)
roll: m.roll(1)
select: m - m[0]
slice: m + m[1:].mean()
unbind: m * min(w)
mm: m @ (m.t() @ m)
dot: m * torch.dot(w, w)
layer_norm: F.layer_norm(m.t(), (len(m),)).t()
batch_norm: F.instance_norm(m.t()[None])[0].t()
convolution: F.conv1d(m.t()[None], torch.ones(6, 6, 3).double(), padding=1)[0].t()
qr: torch.linalg.qr(m)[0]
div: m / len(m)
tolist: m * sum(w.tolist())
numpy: m * float(w.numpy().mean())
any: m * (w > 1.4).any()
all: m * 2 if bool((w > 0.6).all()) else m
max: m * (kind.max() + 1)
sort: m[kind.argsort()]
min: m * F.one_hot(kind).sum(1, keepdim=True)
rand: m * torch.rand(len(m), 1)
bernoulli: F.dropout(m.reshape(-1, 1), 0.5).view(m.shape)
: m - scatter(m, index, 0, size_i, 'max').max()
: m / size_i
: m[kind]
: m.index_select(0, kind)
: m * scatter(w, kind, 0, 3, 'mean')[kind].view(-1, 1)
: m * torch.bincount(kind, minlength=3)[kind].view(-1, 1)
: m * torch.arange(len(m)).view(-1, 1)
: m.t().reshape(m.shape)
: m.repeat(2, 1).view(-1, 2, 6).sum(1)
""".split("\n")[1:-1]


def programs():
    """Steps of modules and the name of the operation that is refused, if one is: every step alone, and 40 random sequences."""
    found = [([step], None) for step in RIGHT] + [([step], name) for name, step in (line.split(": ", 1) for line in WRONG)]
    for seed in range(40):
        draw = random.Random(seed)
        steps, name = draw.choices(RIGHT, k=draw.randint(1, 4)), None
        if draw.random() < 0.5:
            name, step = draw.choice(WRONG).split(": ", 1)
            steps.insert(draw.randint(0, len(steps)), step)
        found.append((steps, name))
    return found


class Own(MessagePassing):
    """Takes steps in ``message`` or in ``edge_update``."""

    # PyG looks the module up, and workers have none of this name.
    __module__ = "__main__"

    def __init__(self, steps, update):
        super().__init__(aggr="add")
        self.steps, self.updates = steps, update

    def forward(self, x, edge_index, w, kind):
        values = self.edge_updater(edge_index, x=x, w=w, kind=kind) if self.updates else None
        return self.propagate(edge_index, x=x, w=w, kind=kind, values=values)

    def message(self, x_j, x_i, w, kind, values, index, size_i):
        return self.taken(x_j, x_i, w, kind, index, size_i) if values is None else values

    def edge_update(self, x_j, x_i, w, kind, index, size_i):
        return self.taken(x_j, x_i, w, kind, index, size_i)

    def taken(self, x_j, x_i, w, kind, index, size_i):
        import torch
        import torch.nn.functional as F
        from torch_geometric.utils import scatter, softmax

        def masked(m, w):
            out = torch.zeros_like(m)
            out[w > 1] = m[w > 1].sin()
            return out

        known = {"torch": torch, "F": F, "scatter": scatter, "softmax": softmax, "masked": masked}
        m = x_j
        for step in self.steps:
            m = eval(step, {**known, "m": m, "x_j": x_j, "x_i": x_i, "w": w, "kind": kind, "index": index, "size_i": size_i})
        return m


def result(steps, update, x, edge_index, w, kind):
    """The output, and the gradient of its sum of squares."""
    x = x.clone().requires_grad_()
    out = Own(steps, update)(x, edge_index, w, kind)
    out.square().sum().backward()
    return out.detach(), x.grad


def worker(rank, cases, update):
    """Results by case, or the text of the error, and the numbers of the rank's nodes."""
    from sar_single.graph import destinations

    destinations.EDGES = 16
    found = []
    for steps, _ in cases:
        try:
            found.append(result(steps, update, rank.x, rank.edge_index, rank.edata["w"], rank.edata["kind"]))
        except sar.Refused as error:
            found.append(str(error))
    return found, rank.orig_ids


@pytest.mark.parametrize("num_parts, update", [(1, True), (3, False)], ids=["edge_update", "message"])
def test_own_messages_are_as_in_memory_or_refused(spill, tmp_path, num_parts, update):
    data, cases = pyg_graphs.graph(), programs()
    parts = pyg_graphs.cut(data, tmp_path, num_parts)
    ranks = sar.run(worker, parts, args=(cases, update), spill_dir=spill)
    ids = [own for _, own in ranks]
    function = "edge_update" if update else "message"
    for number, (steps, name) in enumerate(cases):
        found = [values[number] for values, _ in ranks]
        # A step that takes no notice of the values makes them right again.
        if name is not None and (len(steps) == 1 or any(isinstance(part, str) for part in found)):
            for text in found:
                assert isinstance(text, str), (steps, "is not refused")
                assert name in text.split(" of ")[0] and f"Own.{function}" in text and _REMEDY.search(text), (steps, text)
            continue
        assert not any(isinstance(part, str) for part in found), (steps, found)
        for ours, expected in zip(zip(*found), result(steps, update, *(data[key] for key in ("x", "edge_index", "w", "kind")))):
            assert pyg_graphs.difference(pyg_graphs.joined(list(ours), ids), expected) <= 1e-9, steps


class Plain(MessagePassing):
    __module__ = "__main__"

    def __init_subclass__(cls):
        cls.__module__ = "__main__"

    def forward(self, x, edge_index):
        return self.propagate(edge_index, x=x)

    def message(self, x_j):
        return x_j


class Aggregated(Plain):
    def aggregate(self, inputs, index, dim_size):
        from torch_geometric.utils import scatter

        return scatter(inputs, index, 0, dim_size, "max") + scatter(inputs, index, 0, dim_size, "mean")


class Centred(Plain):
    def aggregate(self, inputs, index, dim_size):
        from torch_geometric.utils import scatter

        return scatter(inputs - inputs.mean(0), index, 0, dim_size)


class Scaled(Plain):
    def aggregate(self, inputs, index, dim_size):
        from torch_geometric.utils import scatter

        out = scatter(inputs, index, 0, dim_size)
        return out / out.max()


class AtOnce(Plain):
    def message(self, x_j, edge_index_i):
        return x_j - x_j.mean(0)


class Pooled(Plain):
    def message(self, x_j):
        from torch_geometric.nn import global_mean_pool

        return x_j - global_mean_pool(x_j, None)


class Normalised(Plain):
    def forward(self, x, edge_index):
        self.norm = torch.nn.BatchNorm1d(6).double()
        return self.propagate(edge_index, x=x)

    def message(self, x_j):
        return self.norm(x_j) - x_j.mean(0)


class Stateful(Plain):
    def forward(self, x, edge_index):
        self.factors = x.new_ones(edge_index.size(1))
        return self.propagate(edge_index, x=x)

    def message(self, x_j):
        return x_j * self.factors.view(-1, 1) - x_j.mean(0)


class Asserted(Plain):
    def message(self, x_j):
        assert bool((x_j > -5).all()) and not bool((x_j.abs() < 1e-9).all()) and x_j.detach().abs().sum(1).ne(0.25).all()
        return x_j.sin()


class AssertedMean(Plain):
    """Made-up values are not below zero, so that all edges give another answer than these."""

    def message(self, x_j):
        assert not bool((x_j > 0).all())
        return x_j - x_j.mean(0)


class Answered(Plain):
    def message(self, x_j):
        return x_j - x_j.mean(0) if not bool((x_j > 0).all()) else x_j


class Propagated(Plain):
    """A user's own ``propagate``, which calls PyG's."""

    def propagate(self, edge_index, **kwargs):
        return 2 * MessagePassing.propagate(self, edge_index, **kwargs) + 1


class Updated(Plain):
    def forward(self, x, edge_index):
        return self.propagate(edge_index, x=x, weight=self.edge_updater(edge_index, x=x))

    def edge_updater(self, edge_index, **kwargs):
        return 3 * MessagePassing.edge_updater(self, edge_index, **kwargs)

    def edge_update(self, x_i, x_j):
        return (x_i * x_j).sum(1, keepdim=True)

    def message(self, x_j, weight):
        return x_j * weight


class Hooked(Plain):
    """A module with a hook, of the kind that its class has."""

    def forward(self, x, edge_index):
        getattr(self, f"register_{self.kind}_hook")(self.hook)
        return self.propagate(edge_index, x=x, weight=self.edge_updater(edge_index, x=x))

    def edge_update(self, x_i, x_j):
        return (x_i * x_j).sum(1, keepdim=True)

    def message(self, x_j, weight):
        return x_j * weight


class Recorded(Hooked):
    kind = "message_forward"

    @staticmethod
    def hook(module, inputs, output):
        module.seen = len(output)


class Doubled(Hooked):
    kind = "message_forward"

    @staticmethod
    def hook(module, inputs, output):
        return output * 2


class Replaced(Hooked):
    kind = "message_forward_pre"

    @staticmethod
    def hook(module, inputs):
        return {**inputs[0], "x_j": inputs[0]["x_j"].sin()}


class HookMean(Hooked):
    kind = "message_forward"

    @staticmethod
    def hook(module, inputs, output):
        return output - output.mean(0)


class HookInPlace(Hooked):
    kind = "message_forward"

    @staticmethod
    def hook(module, inputs, output):
        output.sub_(output.detach().mean(0))


class HookBefore(Hooked):
    kind = "message_forward_pre"

    @staticmethod
    def hook(module, inputs):
        return ({**inputs[0], "x_j": inputs[0]["x_j"] - inputs[0]["x_j"].mean(0)},)


class HookOfUpdate(Hooked):
    kind = "edge_update_forward"

    @staticmethod
    def hook(module, inputs, output):
        return output - output.mean(0)


class Explained(Plain):
    def forward(self, x, edge_index):
        self.explain, self._apply_sigmoid = True, False
        self._edge_mask = x.new_ones(edge_index.size(1))
        return self.propagate(edge_index, x=x)

    def message(self, x_j):
        return x_j - x_j.mean(0)


class OfHelper(Plain):
    """Reads a tensor with a row per edge in a method that ``message`` calls."""

    def forward(self, x, edge_index):
        self.factors = torch.arange(edge_index.size(1)).view(-1, 1) * 0 + x.new_ones(1, 6)
        return self.propagate(edge_index, x=x)

    def scaled(self, values):
        return values * self.factors

    def message(self, x_j):
        return self.scaled(x_j)


class OfEdges(Plain):
    """Keeps a value per edge where the code of ``message`` does not name it."""

    def forward(self, x, edge_index):
        self.keep(x[edge_index[0]].sum(1, keepdim=True))
        return self.propagate(edge_index, x=x)

    def keep(self, w):
        self.w = w

    def message(self, x_j):
        return x_j * self.found()


def weights(module):
    return module.w


class ByFunction(OfEdges):
    found = lambda self: weights(self)


class ByName(OfEdges):
    found = lambda self: getattr(self, "w", 1)


class ByProperty(OfEdges):
    found = property(lambda self: lambda: self.w)


class InDict(OfEdges):
    found = lambda self: self.store["w"][0]

    def keep(self, w):
        self.store = {"w": (w,)}


class InFunction(OfEdges):
    def keep(self, w):
        self.found = lambda: w


class InModule(OfEdges):
    found = lambda self: self.part.w

    def keep(self, w):
        self.part = torch.nn.Identity()
        self.part.w = w


class InArguments(Plain):
    def forward(self, x, edge_index):
        w = x[edge_index[0]].sum(1, keepdim=True)
        return self.propagate(edge_index, x=x, turned=w.t(), values=self.edge_updater(edge_index, x=x, pair=(w, 2)))

    def edge_update(self, x_j, pair):
        return x_j * pair[0] * pair[1]

    def message(self, x_j, turned, values):
        return x_j * turned.t() + values


class Inner(torch.nn.Module):
    def forward(self, x, edge_index, row):
        return x.new_zeros(x.shape).index_add(0, edge_index[1], x[row].sin())


class BackwardHook(Plain):
    """Has a part with a hook, through which torch passes all arguments."""

    def forward(self, x, edge_index):
        inner, x = Inner(), x.clone().requires_grad_()
        inner.register_full_backward_hook(lambda module, given, _: tuple(None if part is None else 2 * part for part in given))
        inner(x, edge_index, edge_index[0]).square().sum().backward()
        return x.grad


class OfNodes(Plain):
    def forward(self, x, edge_index):
        self.table = x.cos()
        return self.propagate(edge_index, x=x)

    def message(self, x_j, index):
        return x_j * self.table[index]


class Kept(Plain):
    """Keeps its messages, which are then computed."""

    def forward(self, x, edge_index):
        out = self.propagate(edge_index, x=x)
        return out * len(self.messages.shape)

    def message(self, x_j):
        self.messages = x_j
        return x_j


class Collected(Plain):
    """Keeps its messages in a list and in a dict, which have those of one call afterwards."""

    def forward(self, x, edge_index):
        self.seen, self.cache = [], {}
        out = self.propagate(edge_index, x=x)
        (seen,) = self.seen
        assert seen is self.cache["m"] and len(seen) == edge_index.size(1)
        return out

    def message(self, x_j):
        m = x_j * 2
        self.seen.append(m)
        self.cache["m"] = m
        return m


class KeptMask(Plain):
    """Keeps a mask that it draws for each block of edges."""

    def forward(self, x, edge_index):
        self.kept = []
        return self.propagate(edge_index, x=x)

    def message(self, x_j):
        self.kept.append(torch.rand(len(x_j)) > 0.5)
        return x_j * self.kept[-1].view(-1, 1)


class OfWeight(Plain):
    def message(self, x_j, w):
        return x_j * w


class Defaults(Plain):
    def forward(self, x, edge_index):
        if type(edge_index) is torch.Tensor:  # Old versions of PyG pass no default of a class whose code they cannot read.
            return self.propagate(edge_index, x=x, edge_weight=None, factor=2.0, added=1.0)
        with pytest.raises(TypeError, match="OfWeight.message needs 'w': pass it to propagate"):
            OfWeight()(x, edge_index)
        return self.propagate(edge_index, x=x)

    def message(self, x_j, edge_weight=None, factor=2.0):
        return x_j * factor if edge_weight is None else x_j * edge_weight

    def update(self, inputs, added=1.0):
        return inputs + added


class Agreed(Plain):
    """A number, and then a value per edge, for the same argument."""

    def forward(self, x, edge_index):
        values = x[edge_index[0]].sum(1) * 1.5
        out = self.propagate(edge_index, x=x, w=x.new_ones(1)) + self.propagate(edge_index, x=x, w=values)
        if type(edge_index) is not torch.Tensor:
            with pytest.raises(ValueError, match="'w' has 1 rows, .* or a tensor without dimensions"):
                self.propagate(edge_index, x=x, w=x.new_ones(1))
        return out

    def message(self, x_j, w):
        return (x_j * w.view(-1, 1)).sin()


class Wider(Plain):
    """Weights of more digits than the values."""

    def forward(self, x, edge_index):
        values = x[edge_index[0]].sum(1) * 1.5
        return self.propagate(edge_index, x=x.float(), w=values)

    def message(self, x_j, w):
        return x_j * w.view(-1, 1)


class Annotated(Plain):
    """Names types that the worker's ``__main__`` lacks."""

    def message(self, x_j: "Tensor", index: "Tensor", ptr: "OptTensor") -> "Tensor":
        return x_j.sin()


class Inferred(Plain):
    """Is first called in inference mode."""

    def forward(self, x, edge_index):
        with torch.inference_mode():
            self.propagate(edge_index, x=x)
        x = x.clone().requires_grad_()
        self.propagate(edge_index, x=x).square().sum().backward()
        return x.grad

    def message(self, x_j, x_i):
        return (x_j - x_i).sin()


# The operation that is refused, if one is.
_RIGHT = (Aggregated, Asserted, Propagated, Updated, Recorded, Doubled, Replaced, OfHelper, OfNodes, Kept)
_RIGHT += (Collected, Defaults, Agreed, Wider, Annotated, Inferred, BackwardHook)
_RIGHT += (ByFunction, ByName, ByProperty, InDict, InFunction, InModule, InArguments)
_MEANS = (AssertedMean, Answered, HookMean, HookInPlace, HookBefore, HookOfUpdate, Explained)
CLASSES = {**dict.fromkeys(_RIGHT), **dict.fromkeys(_MEANS, "mean"), Centred: "mean", Scaled: "aggregate", AtOnce: "mean", Pooled: "mean", Normalised: "mean", Stateful: "mean"}
CLASSES[KeptMask] = "rand"


def aggregating(rank, classes):
    """The output or the error of each class, and the numbers of the rank's nodes."""
    from sar_single.graph import destinations

    destinations.EDGES = 16
    found = []
    for cls in classes:
        try:
            found.append(cls()(rank.x, rank.edge_index))
        except sar.Refused as error:
            found.append(str(error))
    return found, rank.orig_ids


def test_aggregations_and_messages_of_all_edges_are_as_in_memory_or_refused(spill, tmp_path, monkeypatch):
    for name, value in (("Tensor", torch.Tensor), ("OptTensor", Optional[torch.Tensor])):
        monkeypatch.setattr(sys.modules["__main__"], name, value, raising=False)
    data = pyg_graphs.graph()
    ranks = sar.run(aggregating, pyg_graphs.cut(data, tmp_path, 3), args=(list(CLASSES),), spill_dir=spill)
    for number, (cls, name) in enumerate(CLASSES.items()):
        found = [outputs[number] for outputs, _ in ranks]
        if name is None:
            ours = pyg_graphs.joined(found, [ids for _, ids in ranks])
            assert pyg_graphs.difference(ours, cls()(data["x"], data["edge_index"])) <= 1e-9
        else:
            assert all(isinstance(text, str) and text.startswith(f"{name} of the values of edges in {cls.__name__}.") for text in found), (cls, found)


class OfList(Plain):
    """Fails with other edges than those of ``forward``."""

    def forward(self, x, edge_index):
        self.factors = [x[edge_index[0]].sum(1, keepdim=True)]
        return self.propagate(edge_index, x=x)

    def message(self, x_j):
        return x_j * self.factors[0]


class Gated(Plain):
    """Scatters to as many rows as a tensor of nodes has."""

    def forward(self, x, edge_index):
        return self.propagate(edge_index, x=x, Bx=x.sin())

    def message(self, x_i, x_j):
        return torch.sigmoid(x_i + x_j)

    def aggregate(self, sigma, index, Bx_j, Bx):
        from torch_geometric.utils import scatter

        return scatter(sigma * Bx_j, index, 0, Bx.shape[0]) / (scatter(sigma, index, 0, Bx.shape[0]) + 1e-6)


class Attended(Plain):
    """Is given the number of nodes."""

    def forward(self, x, edge_index):
        return self.propagate(edge_index, x=x, num_nodes=x.size(0))

    def message(self, x_i, x_j, edge_index_i, num_nodes):
        from torch_geometric.utils import softmax

        return softmax((x_i * x_j).sum(-1, keepdim=True), edge_index_i, num_nodes=num_nodes) * x_j


UNTRIED = {OfList: "message could not be tried with made-up edges (RuntimeError: ", Gated: "message and aggregate could not be tried", Attended: "message could not be tried"}


def once(rank):
    return untried(rank.x, rank.edge_index), rank.orig_ids


def untried(x, edge_index):
    """Outputs and gradients of modules that made-up edges do not fit."""
    found = []
    for cls in UNTRIED:
        x = x.detach().requires_grad_()
        out = cls()(x, edge_index)
        found += [out.detach(), *torch.autograd.grad(out.square().sum(), x)]
    return torch.cat(found, 1)


@pytest.mark.parametrize("num_parts", [1, 2, 4])
def test_code_that_fails_with_made_up_edges_is_named_and_gets_all_edges(spill, tmp_path, capfd, num_parts):
    data = pyg_graphs.graph()
    if num_parts == 4:  # A rank with one edge, whose value fits any number of edges. Without it, there are as many edges as are made up.
        end = torch.tensor([[0], [int((data["part"] == 2).nonzero()[0])]])
        data.update(edge_index=torch.cat([data["edge_index"], end], 1), **{key: torch.cat([data[key], data[key][:1]]) for key in pyg_graphs.EDGE_KEYS})
    ranks = sar.run(once, pyg_graphs.cut(data, tmp_path, num_parts), spill_dir=spill)
    ours = pyg_graphs.joined(*map(list, zip(*ranks)))
    assert pyg_graphs.difference(ours, untried(data["x"], data["edge_index"])) <= 1e-9
    notes = capfd.readouterr().err
    for cls, text in UNTRIED.items():
        assert re.search(rf"{cls.__name__}.{re.escape(text)}.*\); .* sar.check", notes)


def tried(rank):
    """The modules whose functions were tried with made-up edges in two calls of each."""
    from torch_geometric.nn import EdgeConv, GATConv, GATv2Conv, GCNConv, SAGEConv

    from sar_single.pyg import patch

    names, check = [], patch.check_apart
    patch.check_apart = lambda module, *rest: names.append(type(module).__name__) or check(module, *rest)
    for module in (SAGEConv(6, 4), GCNConv(6, 4), GATConv(6, 4), GATv2Conv(6, 4), EdgeConv(torch.nn.Linear(12, 4))):
        for _ in range(2):
            module(rank.x.float(), rank.edge_index)
    return names


def test_messages_that_the_engine_computes_are_not_tried(spill, tmp_path):
    ranks = sar.run(tried, pyg_graphs.cut(pyg_graphs.graph(), tmp_path, 2), spill_dir=spill)
    assert ranks == [["EdgeConv", "EdgeConv"]] * 2
