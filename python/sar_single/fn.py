"""Messages and reducers in the form of ``dgl.function``, for environments without DGL."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Union


@dataclass(frozen=True)
class Copy:
    """A message that is a value of the source (``copy_u``) or of the edge (``copy_e``)."""

    name: str
    in_field: str
    out_field: str


@dataclass(frozen=True)
class Binary:
    """A message of two values, such as ``u_mul_e``: source times edge."""

    name: str
    lhs_field: str
    rhs_field: str
    out_field: str


@dataclass(frozen=True)
class Reduce:
    """A reducer of the messages of a node's in-edges: ``sum``, ``mean``, ``max`` or ``min``."""

    name: str
    msg_field: str
    out_field: str


Message = Union[Copy, Binary]


def copy_u(u: str, out: str) -> Copy:
    """The source's value."""
    return Copy("copy_u", u, out)


def copy_e(e: str, out: str) -> Copy:
    """The edge's value."""
    return Copy("copy_e", e, out)


def u_mul_e(lhs: str, rhs: str, out: str) -> Binary:
    """The source's value times the edge's."""
    return Binary("u_mul_e", lhs, rhs, out)


def u_add_v(lhs: str, rhs: str, out: str) -> Binary:
    """The sum of the values of source and destination."""
    return Binary("u_add_v", lhs, rhs, out)


def u_sub_v(lhs: str, rhs: str, out: str) -> Binary:
    """The source's value less the destination's."""
    return Binary("u_sub_v", lhs, rhs, out)


def u_mul_v(lhs: str, rhs: str, out: str) -> Binary:
    """The product of the values of source and destination."""
    return Binary("u_mul_v", lhs, rhs, out)


def u_dot_v(lhs: str, rhs: str, out: str) -> Binary:
    """The inner product over the last dimension, which becomes 1."""
    return Binary("u_dot_v", lhs, rhs, out)


def sum(msg: str, out: str) -> Reduce:
    """The sum; 0 without in-edges."""
    return Reduce("sum", msg, out)


def mean(msg: str, out: str) -> Reduce:
    """The mean; 0 without in-edges."""
    return Reduce("mean", msg, out)


def max(msg: str, out: str) -> Reduce:
    """The largest value; 0 without in-edges."""
    return Reduce("max", msg, out)


def min(msg: str, out: str) -> Reduce:
    """The smallest value; 0 without in-edges."""
    return Reduce("min", msg, out)
