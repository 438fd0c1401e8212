"""``sar.check``."""

from __future__ import annotations

import inspect
import os
import re
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any, Callable, Optional, Sequence, Union

import torch

from .._errors import WorkerError
from ..commands import graphs
from ..process.call_sites import is_of_library
from ..worker.run import run
from .findings import Comparison, Finding
from .parts import best, of_rank
from .remedies import remedy
from .small import PARTS, cut, small
from .watch import watched

_WORDS = {
    "parameter": "the parameter {}",
    "output": "the output of {}",
    "operation": "the result of {}",
    "loss": "the loss of {}()",
    "gradient": "the gradient of {}",
    "log": "{} in rank.log",
    "result": "the worker's {}",
}


class Check:
    """Result of ``sar.check``: true if the program gives the same values on three partitions as on one."""

    def __init__(self, compared: "Counter[str]", finding: Optional[Finding] = None, failure: str = "") -> None:
        self.finding, self.failure, self._compared = finding, failure, compared

    def __bool__(self) -> bool:
        return self.finding is None and not self.failure

    def __repr__(self) -> str:
        if self.failure:
            return f"sar.check: the program runs on one partition, but not on {PARTS}: {self.failure}"
        if self.finding is None:
            compared = ", ".join(f"{count} {_plural(kind)}" for kind, count in sorted(self._compared.items()))
            return f"sar.check: the program gives the same values on {PARTS} partitions as on one ({compared or 'nothing to compare'})"
        return f"sar.check: {_described(self.finding)}\nhint: {remedy(self.finding, PARTS)}"

    __str__ = __repr__


def _plural(kind: str) -> str:
    return "losses" if kind == "loss" else f"{kind}s"


def _described(finding: Finding) -> str:
    event, cause = finding.event, finding.cause
    if event.kind == "draw":
        return f"{event.name} at {event.site} draws other random numbers on {PARTS} partitions than on one"
    place = f" {event.site}" if event.kind == "gradient" else f" at {event.site}" if event.site else ""
    text = f"{_WORDS[event.kind].format(event.name)}{place} differs between one partition and {PARTS}"
    text += f" by {finding.by:.2g} of its largest value" if finding.by != float("inf") else ", or is not a number"
    text += f", after the module {finding.after}" if finding.after else ""
    if cause is not None:
        text += f"; it uses the result of {cause.name} at {cause.site}, which covers only each rank's own rows"
    return text


def check(program: Any, data: Any, *, args: Sequence[Any] = (), nodes: int = 300, steps: int = 2) -> Check:
    """Runs a program on a small graph in one partition and in three, and names the first value that differs.

    ``program`` is a worker as for ``sar.run``, with its ``args``, or a module, which is called with the rank's data that its
    ``forward`` names (``x``, ``edge_index``, ``graph``, ...). ``data`` is a graph for ``sar.partition``, or the path of partitions; about ``nodes`` of its nodes
    are used, with the edges between them. All values are in float64 and without dropout. Operations, random draws, outputs of modules, losses and gradients are
    compared in the first ``steps`` steps of optimizers; logged and returned values are always compared.

    Raises ``WorkerError`` if the program fails on one partition.
    """
    worker = program if _is_worker(program) else _of_module(program)
    with tempfile.TemporaryDirectory(prefix="sar-single-check-") as folder:
        spill = Path(folder) / "spill"
        if isinstance(data, (str, os.PathLike)):
            graph = best(run(of_rank, data, args=(nodes,), spill_dir=spill))
            assert graph is not None, "a partitioned graph has at least one partition"
        else:
            graph = small(graphs.describe(data), nodes)
        whole, parts = cut(graph, Path(folder))
        (expected,) = run(watched, whole, args=(worker, tuple(args), steps), spill_dir=spill)
        try:
            ranks = run(watched, parts, args=(worker, tuple(args), steps), spill_dir=spill)
        except (WorkerError, ValueError) as error:
            return Check(Counter(), failure=failure_of(error))
        comparison = Comparison(expected, ranks)
        return Check(comparison.counts, comparison.first())


def failure_of(error: Exception) -> str:
    """The error, and the last line of the user's program that ran."""
    text = str(error).split("\n\nTraceback")[0]
    frames = re.findall(r'File "(.+)", line (\d+), in (.+)', getattr(error, "traceback", ""))
    own = [f"{os.path.basename(file)}:{line} in {function}" for file, line, function in frames if not is_of_library(file)]
    return f"{text}\nat {own[-1]}" if own else text


def _is_worker(program: Any) -> bool:
    if not callable(program):
        raise TypeError(f"sar.check takes a worker or a module, not {type(program).__name__}")
    return not hasattr(program, "named_parameters")


# Attributes of a rank for a module's forward, by the name of the argument.
_GIVEN = {
    **dict.fromkeys(("x", "feat", "features", "h", "inputs", "node_feat"), "x"),
    **dict.fromkeys(("graph", "g"), "graph"),
    **{name: name for name in "edge_index edge_attr edge_weight edge_type x_dict edge_index_dict edge_attr_dict".split()},
}


def _of_module(module: Any) -> Callable[[Any], Any]:
    """A worker that calls a module once and sums its outputs to a loss."""
    parameters = inspect.signature(module.forward).parameters.values()
    needed = [p.name for p in parameters if p.default is p.empty and p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
    # PyG's HeteroConv names none of them: it takes a dict per argument of its layers.
    needed = needed or ["x_dict", "edge_index_dict"]
    unknown = [name for name in needed if name not in _GIVEN]
    if unknown:
        raise TypeError(
            f"sar.check does not know what {type(module).__name__}.forward takes as {unknown[0]!r}: pass a worker, a function of the rank that calls it"
        )

    def worker(rank: Any) -> Any:
        own, given = module.double(), [getattr(rank, _GIVEN[name]) for name in needed]
        if any(map(torch.nn.parameter.is_lazy, own.parameters())):
            with torch.no_grad():
                own(*given)
        rank.sync_params(own)
        output = own(*given)
        loss = sum(_loss(rank, value) for value in _outputs(output))
        if getattr(loss, "requires_grad", False):
            loss.backward()  # type: ignore[union-attr]
            rank.gather_grads(own)
        return output

    return worker


def _loss(rank: Any, output: Any) -> Any:
    """A sum over rows; of an output that is the same on all ranks, a share."""
    total = output.sin().sum()
    counts = [rank.graph.num_nodes(), *(count for _, count in rank.ndata.types)]
    everywhere = rank.all_reduce(int(output.dim() > 0 and len(output) in counts), op="min")
    return total if everywhere else total / rank.world_size


def _outputs(output: Any) -> Any:
    parts: Union[Any, Sequence[Any]] = output.values() if isinstance(output, dict) else output if isinstance(output, (tuple, list)) else [output]
    return [part for part in parts if hasattr(part, "is_floating_point") and part.is_floating_point()]
