"""``rank.mean_loss`` and ``rank.mean``: values and gradients of one process, with ranks of any number of rows."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

import torch.nn.functional as F  # noqa: E402

import sar_single as sar  # noqa: E402


def chosen(nodes, rows):
    """The mask of a rank's nodes of which it trains on some."""
    return torch.arange(nodes) < rows


def step(model, x, y, reduce):
    loss = reduce(model(x), y)
    loss.backward()
    return loss.detach(), [parameter.grad.clone() for parameter in model.parameters()]


def model(width):
    torch.manual_seed(1)
    return torch.nn.Linear(width, 3).double()


@pytest.mark.parametrize("rows", [(5, 12), (0, 7), (17, 1)])
def test_the_mean_loss_and_its_gradient_are_those_of_one_process(karate, spill, rows):
    def worker(rank):
        x = rank.ndata["features"].double()
        y = torch.arange(len(x)) % 3
        mask = chosen(len(x), rows[rank.index])
        net = model(x.shape[1])
        loss = rank.mean_loss(F.cross_entropy(net(x)[mask], y[mask]), mask)
        again = rank.mean_loss(F.cross_entropy(net(x)[mask], y[mask]), int(mask.sum()))
        assert torch.equal(loss, again)
        loss.backward()
        rank.gather_grads(net)
        return loss.detach(), [p.grad for p in net.parameters()], x[mask], y[mask]

    ranks = sar.run(worker, karate, memory_budget="min", spill_dir=spill)
    x, y = (torch.cat([rank[i] for rank in ranks]) for i in (2, 3))
    expected, gradients = step(model(x.shape[1]), x, y, F.cross_entropy)
    for loss, grads, _, _ in ranks:
        assert torch.allclose(loss, expected, atol=1e-12) and loss.isfinite()
        assert all(torch.allclose(a, b, atol=1e-12) for a, b in zip(grads, gradients))


def test_the_mean_of_rows_and_its_gradient_are_those_of_one_process(karate, spill):
    def worker(rank):
        x = rank.ndata["features"].double()[: 4 if rank.index else 0]
        net = model(x.shape[1])
        centred = net(x) - rank.mean(net(x))
        (centred**3).sum().backward()
        rank.gather_grads(net)
        assert torch.allclose(rank.mean(torch.full((rank.index, 2), 3)), torch.tensor([3.0, 3.0]))
        return [p.grad for p in net.parameters()], x

    ranks = sar.run(worker, karate, memory_budget="min", spill_dir=spill)
    x = torch.cat([x for _, x in ranks])
    net = model(x.shape[1])
    ((net(x) - net(x).mean(0)) ** 3).sum().backward()
    for grads, _ in ranks:
        assert all(torch.allclose(a, p.grad, atol=1e-10) for a, p in zip(grads, net.parameters()))


def test_means_of_nothing_are_refused_on_all_ranks(karate, spill):
    def worker(rank):
        with pytest.raises(ValueError, match="mean_loss: no rank has any row"):
            rank.mean_loss(torch.tensor(float("nan"), requires_grad=True), 0)
        with pytest.raises(ValueError, match="mean: no rank has any row"):
            rank.mean(torch.ones(0, 2))
        with pytest.raises(ValueError, match=r"one element, .*, but this one has the shape \[3\]"):
            rank.mean_loss(torch.ones(3), 3)
        for nodes in ([0, 4, 7], [0, 1]):
            with pytest.raises(ValueError, match=r"pass len\(train\), mask.bool\(\), or the sum of the weights"):
                rank.mean_loss(torch.tensor(1.0), torch.tensor(nodes))
        mask = chosen(rank.graph.num_nodes(), 5)
        for count in (torch.tensor([5]), mask.sum(0, keepdim=True), mask.long(), torch.ones(5, dtype=torch.uint8)):
            assert rank.mean_loss(torch.tensor(3.0), count) == 3
        with pytest.raises(ValueError, match="mean takes rows, but this is a single value"):
            rank.mean(torch.tensor(1.0))

    sar.run(worker, karate, memory_budget="min", spill_dir=spill)


def test_a_loss_with_weights_of_classes_has_their_sum_as_its_count(karate, spill):
    weights = torch.tensor([0.5, 1.25, 2.0], dtype=torch.float64)

    def worker(rank):
        torch.manual_seed(rank.index)
        logits, y = torch.randn(5, 3).double(), torch.arange(5) % (3 - rank.index)
        return rank.mean_loss(F.cross_entropy(logits, y, weight=weights), weights[y].sum()), logits, y

    ranks = sar.run(worker, karate, memory_budget="min", spill_dir=spill)
    expected = F.cross_entropy(*(torch.cat([rank[i] for rank in ranks]) for i in (1, 2)), weight=weights)
    assert all(torch.allclose(loss, expected, atol=1e-12) for loss, _, _ in ranks)


def test_sums_without_a_gradient_say_so(karate, spill):
    def worker(rank):
        x = torch.ones(2, requires_grad=True)
        with pytest.raises(RuntimeError, match="all_reduce has no gradient: use rank.mean, or pass x.detach"):
            rank.all_reduce(x).sum().backward()
        parts = rank.all_gather(x)
        assert torch.cat(parts).numpy().tolist() == [1.0] * 4
        parts[rank.index] = x * 3
        sum(parts).sum().backward()
        assert x.grad.tolist() == [3.0, 3.0]
        others = [rank.all_reduce(x, op="max"), rank.broadcast(x * 1), *rank.all_to_all([x, x]), rank.all_reduce(x.detach())]
        with torch.no_grad():
            others.append(rank.all_reduce(x))
        assert not any(result.requires_grad for result in others)

    sar.run(worker, karate, memory_budget="min", spill_dir=spill)


def test_values_that_ranks_cannot_add_are_named(karate, spill):
    def worker(rank):
        table, complex_ = torch.nn.Embedding(3, 2, sparse=True), torch.nn.Linear(2, 2, dtype=torch.complex64)
        table(torch.tensor([0])).sum().backward()
        doubled = sar.DistributedDataParallel(table), sar.DistributedDataParallel(complex_)
        wrong = [
            (TypeError, "the gradient of weight is sparse: use sparse=False, or dist.DistEmbedding", lambda: rank.gather_grads(table)),
            (TypeError, "DistributedDataParallel: the gradient of weight is sparse", lambda: doubled[0](torch.tensor([0])).sum().backward()),
            (TypeError, "gather_grads: weight is complex", lambda: rank.gather_grads(complex_)),
            (TypeError, "DistributedDataParallel: weight is complex", lambda: doubled[1](torch.ones(1, 2) * 1j).abs().sum().backward()),
            (ValueError, "parameters of rank 1 have other shapes.* sizes of a model", lambda: rank.gather_grads(torch.nn.Linear(2, rank.index + 1))),
            (TypeError, "all_reduce: the value is complex", lambda: rank.all_reduce(torch.ones(2) * 1j)),
            (TypeError, "are complex: use torch.view_as_real", lambda: rank.graph.halo(torch.ones(rank.graph.num_nodes(), 1) * 1j)),
            (ValueError, "this one is on meta: leave .to", lambda: rank.graph.halo(torch.ones(rank.graph.num_nodes(), 1, device="meta"))),
            (KeyError, r"values of the partition are rank.ndata\['feat'\]", lambda: rank.graph.ndata["feat"]),
        ]
        for kind, text, call in wrong:
            with pytest.raises(kind, match=text):
                call()
        x = torch.ones(rank.graph.num_nodes(), 2, dtype=torch.bfloat16, requires_grad=True)
        rank.graph.halo(x).sum().backward()
        assert x.grad.dtype == x.dtype and (x.grad >= 1).all()

    sar.run(worker, karate, memory_budget="min", spill_dir=spill)
