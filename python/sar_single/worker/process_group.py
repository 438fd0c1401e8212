"""``torch.distributed`` in workers: the ranks of the run are the program's process group, whatever backend it names."""

from __future__ import annotations

import pickle
from typing import Any, Callable, Dict, List, Optional

import torch
from torch import Tensor

from ..process.current import current
from ..process.imports import swap
from .data_parallel import DistributedDataParallel
from .sar import here

_connected = False
_backend = "gloo"

#: Operations of torch's process groups that ranks do not support.
_REFUSED = (
    "all_gather_into_tensor all_to_all_single batch_isend_irecv gather gather_object irecv isend new_group recv reduce_scatter reduce_scatter_tensor "
    "scatter scatter_object_list send"
).split()


def patch_distributed() -> None:
    """Lets ``init_process_group`` and what programs ask the group work between the ranks, and makes torch's ``DistributedDataParallel`` the package's."""
    if not torch.distributed.is_available():
        return
    ours: Dict[str, Callable[..., Any]] = {
        "all_gather": _all_gather,
        "all_gather_object": _all_gather_object,
        "all_reduce": _all_reduce,
        "all_to_all": _all_to_all,
        "barrier": lambda group=None, **_: here().barrier(),
        "broadcast": _broadcast,
        "broadcast_object_list": _broadcast_object_list,
        "destroy_process_group": _destroy,
        "get_backend": lambda group=None: _backend,
        "get_rank": lambda group=None: here().index,
        "get_world_size": lambda group=None: here().world_size,
        "init_process_group": _init,
        "is_initialized": lambda: _connected,
        "reduce": lambda tensor, dst=0, **options: _all_reduce(tensor, **options),
        **{name: _refusal(name) for name in _REFUSED},
    }
    for module in (torch.distributed, torch.distributed.distributed_c10d):
        for name, function in ours.items():
            swap(module, name, lambda theirs, name=name, function=function: _in_workers(theirs, name, function))  # type: ignore[misc]
    for module in (torch.nn.parallel, torch.nn.parallel.distributed):
        module.DistributedDataParallel = DistributedDataParallel  # type: ignore[attr-defined]


def _in_workers(theirs: Callable[..., Any], name: str, ours: Callable[..., Any]) -> Callable[..., Any]:
    always = name in ("init_process_group", "is_initialized")

    def either(*args: Any, **kwargs: Any) -> Any:
        is_ours = current() is not None and (always or _connected)
        return (ours if is_ours else theirs)(*args, **kwargs)

    return either


def _refusal(name: str) -> Callable[..., Any]:
    def refuse(*_: Any, **__: Any) -> Any:
        raise NotImplementedError(f"{name} between workers of sar_single.run: all ranks take part in each operation, so use all_gather, all_to_all or broadcast")

    return refuse


def _init(backend: Optional[str] = None, init_method: Any = None, timeout: Any = None, world_size: int = -1, rank: int = -1, **_: Any) -> None:
    global _connected, _backend
    own = here()
    for name, given, known in (("rank", rank, own.index), ("world_size", world_size, own.world_size)):
        if given not in (-1, known):
            raise ValueError(f"init_process_group: {name} is {given}, but this worker of sar_single.run has {known}")
    _connected, _backend = True, backend or _backend


def _destroy(group: Any = None) -> None:
    global _connected
    _connected = False


def _all_reduce(tensor: Tensor, op: Any = torch.distributed.ReduceOp.SUM, group: Any = None, async_op: bool = False) -> None:
    kinds = {torch.distributed.ReduceOp.SUM: "sum", torch.distributed.ReduceOp.MAX: "max", torch.distributed.ReduceOp.MIN: "min"}
    _checked(group, async_op)
    if op not in kinds:
        raise ValueError(f"all_reduce between ranks takes SUM, MAX or MIN, not {op}")
    with torch.no_grad():
        tensor.copy_(here().all_reduce(tensor, op=kinds[op]))


def _broadcast(tensor: Tensor, src: int = 0, group: Any = None, async_op: bool = False) -> None:
    _checked(group, async_op)
    with torch.no_grad():
        tensor.copy_(here().broadcast(tensor, src))


def _all_gather(tensor_list: List[Tensor], tensor: Tensor, group: Any = None, async_op: bool = False) -> None:
    _checked(group, async_op)
    with torch.no_grad():
        for place, value in zip(tensor_list, here().all_gather(tensor)):
            place.copy_(value)


def _all_to_all(output_tensor_list: List[Tensor], input_tensor_list: List[Tensor], group: Any = None, async_op: bool = False) -> None:
    _checked(group, async_op)
    with torch.no_grad():
        for place, value in zip(output_tensor_list, here().all_to_all(input_tensor_list)):
            place.copy_(value)


def _all_gather_object(object_list: List[Any], obj: Any, group: Any = None) -> None:
    _checked(group)
    object_list[:] = map(_unpickled, here().all_gather(_pickled(obj)))


def _broadcast_object_list(object_list: List[Any], src: int = 0, group: Any = None, device: Any = None) -> None:
    _checked(group)
    object_list[:] = _unpickled(here().broadcast(_pickled(list(object_list)), src))


def _pickled(value: Any) -> Tensor:
    return torch.frombuffer(bytearray(pickle.dumps(value)), dtype=torch.uint8)


def _unpickled(message: Tensor) -> Any:
    return pickle.loads(message.numpy().tobytes())


def _checked(group: Any, async_op: bool = False) -> None:
    if group is not None or async_op:
        raise ValueError("group and async_op: collectives of workers involve all ranks, and a rank waits for the others in its next turn")
