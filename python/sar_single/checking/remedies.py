"""Replacements of operations over a rank's own rows."""

from __future__ import annotations

from .findings import Finding

_MEAN = "rank.mean(x) is the mean over the nodes of all ranks, with its gradient"
_SUM = "rank.mean(x) * rank.num_total_nodes is the sum over the nodes of all ranks, with its gradient; rank.all_reduce(x) is one without"
_SOFTMAX = (
    'over all nodes it is e / (rank.mean(e) * rank.num_total_nodes) with e = (x - rank.all_reduce(x.detach().amax(0), "max")).exp()'
)
_NORM = "torch.nn.BatchNorm1d, torch.nn.functional.batch_norm and PyG's norms take the statistics of all ranks; or use rank.mean"
_DRAW = (
    "each rank draws for its own rows, by their places: draw for all nodes and choose the rank's, as in "
    "torch.rand(rank.num_total_nodes, 8)[rank.orig_ids], or store the numbers as node data"
)
_DROPOUT = "dropout draws by node or edge where a tensor has a row for each of the rank's; call it before rows are chosen, as in F.dropout(x)[mask]"
_ORDER = "a rank has only some of the nodes, in its own order: do this before sar.partition, or after rank.all_gather"
_OTHER = "a rank has only some of the nodes: combine values of all of them with rank.mean, rank.all_reduce or rank.all_gather"
_LOSS = (
    "a mean over a rank's own rows is not the mean over all: use rank.mean_loss(loss, mask), "
    'or divide the sum of the rows\' losses by rank.all_reduce(mask.sum())'
)
_PARAMETERS = "ranks begin with their own parameters: call rank.sync_params(model), which copies rank 0's parameters to all"
_GATHER = "gradients belong to the rank's own loss until they are added up: call rank.gather_grads(model) between backward and step"

_BY_NAME = {
    **dict.fromkeys("mean nanmean".split(), _MEAN),
    **dict.fromkeys("sum nansum matmul __matmul__ mm bmm einsum norm prod".split(), _SUM),
    **dict.fromkeys("softmax log_softmax logsumexp softmin".split(), _SOFTMAX),
    **dict.fromkeys("max amax".split(), 'rank.all_reduce(x.amax(0), op="max") is the maximum over all ranks, without a gradient'),
    **dict.fromkeys("min amin".split(), 'rank.all_reduce(x.amin(0), op="min") is the minimum over all ranks, without a gradient'),
    **dict.fromkeys("var std var_mean std_mean batch_norm native_batch_norm instance_norm layer_norm group_norm normalize".split(), _NORM),
    **dict.fromkeys("sort argsort topk cumsum flip roll unique median quantile argmax argmin arange cdist".split(), _ORDER),
}


def remedy(finding: Finding, ranks: int) -> str:
    """The remedy for the first difference."""
    event = finding.cause or finding.event
    if event.kind == "operation":
        return _BY_NAME.get(event.name, _OTHER)
    if event.kind == "draw":
        return _DROPOUT if event.name == "dropout" else _DRAW
    if event.kind == "parameter":
        return _PARAMETERS
    if event.kind == "gradient" and finding.adds_up:
        return _GATHER
    if finding.factor is not None and abs(finding.factor - ranks) < 1e-6:
        return f"it is {ranks} times as large, because each of {ranks} ranks counts the whole loss: divide it by rank.world_size"
    if event.kind in ("loss", "gradient"):
        return _LOSS
    if event.kind == "log" and not finding.alike:
        return "rank.log reports rank 0's value: pass the value over all ranks, from rank.all_reduce or rank.mean_loss"
    return _OTHER
