"""Blocks of messages, and the rows of their arguments."""

import pytest
import torch
from sar_single.graph import destinations
from sar_single.graph.rows import Rows
from torch.utils.checkpoint import checkpoint


@pytest.mark.parametrize("checkpointed", [False, True])
@pytest.mark.parametrize("elsewhere", [False, True])
def test_gradients_of_blocks_are_those_of_indexing(checkpointed, elsewhere):
    """Also if the tensor is used outside of blocks, and if backward runs twice."""
    taken = [slice(0, 3), torch.tensor([4, 1, 1]), torch.tensor([], dtype=torch.int64), slice(2, 2), torch.tensor([5])]
    given = torch.arange(14.0, dtype=torch.float64).view(7, 2).sin().requires_grad_()

    def loss(rows, tensor):
        total = given.new_zeros(())
        for which in taken:

            def block(which=which):
                return rows[which].exp().sum() * 3

            total = total + (checkpoint(block, use_reentrant=False) if checkpointed else block())
        return total + (tensor.square().sum() if elsewhere else 0)

    def both(x):
        rows = Rows(x)
        return rows, rows.tensor

    x = given * 2
    (expected,) = torch.autograd.grad(loss(x, x), given)
    found = loss(*both(given * 2))
    for _ in range(2):
        (gradient,) = torch.autograd.grad(found, given, retain_graph=True)
        torch.testing.assert_close(gradient, expected)


def test_tensors_without_gradients_stay_without():
    assert not Rows(torch.ones(3, 2))[torch.tensor([0])].requires_grad
    assert Rows(torch.arange(3))[slice(1, 2)].tolist() == [1]
    with torch.no_grad():
        assert not Rows(torch.ones(3, 2, requires_grad=True))[torch.tensor([0])].requires_grad


def test_blocks_of_wide_rows_have_fewer_edges():
    edges = destinations.edges_of_block
    assert edges([torch.empty(9)]) == edges([torch.empty(9, 4, 8)]) == destinations.EDGES
    assert edges([torch.empty(9, 128)] * 3) == 1 << 14
    assert edges([torch.empty(0, 1 << 30)]) == 1


@pytest.mark.parametrize("apart", [False, True])
def test_cuts_hold_each_destination_once(apart):
    degrees = torch.tensor([0, 0, 3, 1, 0, 9, 2, 0])
    for most in (1, 4, 100, None):
        blocks = destinations.cuts(degrees, most, apart=apart)
        assert [begin for begin, *_ in blocks] == [0, *[end for _, end, *_ in blocks][:-1]]
        assert [node for *_, first, last in blocks for node in range(first, last)] == list(range(8))
        assert all(end - begin == degrees[first:last].sum() for begin, end, first, last in blocks)
        assert all(end - begin <= most or last - first == 1 for begin, end, first, last in blocks if most is not None)
    assert destinations.cuts(degrees[:0], 4, apart=apart) == [(0, 0, 0, 0)]
