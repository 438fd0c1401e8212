"""Errors for operations on edges that cannot be right across partitions."""

from __future__ import annotations

from typing import Any

_NUMBERS = "each rank numbers nodes in its own way, so the numbers have no meaning for a model"
_BEFORE = "change the graph before sar.partition"
_MASK = "choose edges by a boolean mask that has a value per edge"
_RESULTS = "return or save what the model computes, or model.state_dict(); a layer with cached=True keeps edges"
_ROWS = "the number of this rank's nodes is x.size(0)"

# Reason for refusing an operation, and the remedy, by the operation's name.
_REASONS = {
    **dict.fromkeys("max min amax amin aminmax argmax argmin".split(), (_NUMBERS, _ROWS)),
    **dict.fromkeys("lt le gt ge __lt__ __le__ __gt__ __ge__".split(), (_NUMBERS, _BEFORE)),
    **dict.fromkeys(
        "eq ne __eq__ __ne__".split(),
        (_NUMBERS, "only sources and destinations of the same edges can be compared, as in edge_index[0] != edge_index[1]"),
    ),
    **dict.fromkeys("sort argsort unique unique_consecutive topk".split(), (_NUMBERS, _BEFORE)),
    **dict.fromkeys(
        "numpy __array__ tolist item __int__ __index__ __bool__ cpu_numpy __contains__ data_ptr".split(),
        (_NUMBERS, "rank.graph.edge_arrays() has the numbers"),
    ),
    **dict.fromkeys(
        "__getitem__ index_select masked_select narrow select split chunk".split(),
        ("each rank has its own edges in its own order, so an index means a different edge on every rank", _MASK),
    ),
    **dict.fromkeys(
        "cat concat stack vstack hstack".split(),
        (
            "sources of edges may lie in other partitions, and new edges would have to be sent to the ranks of their destinations; "
            "the only edges that can be added are self loops of all nodes",
            _BEFORE,
        ),
    ),
    **dict.fromkeys(
        "scatter scatter_ scatter_reduce scatter_reduce_ index_reduce index_reduce_ index_copy index_copy_ index_put index_put_ __setitem__".split(),
        (
            "edges that begin at a node lie in several partitions, so only sums over them can be made, by scatter_add_ or index_add_",
            "reduce over destinations, or add the reversed edges before sar.partition, with an edge type, and reduce over theirs",
        ),
    ),
    **dict.fromkeys(
        "scatter_max scatter_min segment_coo segment_csr".split(),
        ("torch_scatter reads the numbers itself, but sources lie in other partitions", "use torch_geometric.utils.scatter or softmax"),
    ),
    **dict.fromkeys("cuda to".split(), ("tensors of workers are int64 numbers of edges on the CPU", "leave .to(...) and .cuda() out")),
    **dict.fromkeys("__reduce_ex__ __reduce__ storage untyped_storage".split(), (_NUMBERS, _RESULTS)),
}


class Refused(ValueError):
    """An operation on a rank's edges that has no meaning across partitions.

    Neither a TypeError nor a RuntimeError: torch's operators turn the first into "unsupported operand", and PyG catches the second to look at numbers
    of edges.
    """


def refused(operation: str, what: str = "edge_index", why: str = "", remedy: str = "") -> Refused:
    """The error for an operation, with the known reason and remedy for its name, or the given ones."""
    reason, hint = _REASONS.get(
        operation.replace("torch_scatter.", "").split(".")[0] if operation.startswith("torch_scatter.") else operation,
        ("sources of edges lie in other partitions", f"pass it to a module unchanged, or {_BEFORE}"),
    )
    return Refused(f"{operation} of {what}: {why or reason}; {remedy or hint}")


def name_of(function: Any) -> str:
    """The name of a function of torch, or of the attribute that it reads or sets."""
    name = getattr(function, "__name__", None) or str(function)
    if name in ("__get__", "__set__"):
        return str(getattr(function.__self__, "__name__", name))
    return str(name).split(".")[0] if not name.startswith("__") else name
