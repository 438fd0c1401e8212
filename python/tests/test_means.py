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

    sar.run(worker, karate, memory_budget="min", spill_dir=spill)
