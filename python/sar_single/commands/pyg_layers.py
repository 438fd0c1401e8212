"""Weights of one layer, under the names of DGL's module, which files use, and of PyG's."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Callable, Dict, List, Mapping, NamedTuple, Tuple

import torch
from torch import Tensor

Weights = Dict[str, Tensor]


class Layer(NamedTuple):
    """Facts about a layer that its weights do not show."""

    # Whether rows of several heads are averaged, as in the last layer, or joined.
    averages: bool
    residual: bool = False
    hops: int = 0
    learns_eps: bool = False


@dataclass(frozen=True)
class Kind:
    """A kind of layer: a key of DGL's module that PyG's lacks, the keys that identify PyG's, and conversions both ways."""

    ours: str
    theirs: Tuple[str, ...]
    to_pyg: Callable[[Weights, Layer], Weights]
    from_pyg: Callable[[Weights, Layer], Weights]

    def in_dgl(self) -> "Kind":
        """The same kind of layer with DGL's keys in place of PyG's."""
        return Kind(self.ours, (self.ours,), lambda weights, layer: weights, lambda weights, layer: weights)


def renaming(ours: str, theirs: str, names: Mapping[str, str]) -> Kind:
    """A kind whose weights differ in names only."""
    back = {new: old for old, new in names.items()}
    return Kind(ours, (theirs,), lambda weights, layer: _renamed(weights, names), lambda weights, layer: _renamed(weights, back))


def _renamed(weights: Weights, names: Mapping[str, str]) -> Weights:
    return {names.get(name, name): value for name, value in weights.items()}


_SAGE = {
    "fc_neigh.weight": "lin_l.weight",
    "fc_self.weight": "lin_r.weight",
    "fc_self.bias": "lin_l.bias",
    "fc_pool.weight": "lin.weight",
    "fc_pool.bias": "lin.bias",
}
_GCN_SAGE = {"fc_neigh.weight": "lin_l.weight", "bias": "lin_l.bias"}


def _sage_to_pyg(weights: Weights, layer: Layer) -> Weights:
    return _renamed(weights, _SAGE if "fc_self.weight" in weights else _GCN_SAGE)


def _sage_from_pyg(weights: Weights, layer: Layer) -> Weights:
    names = _SAGE if "lin_r.weight" in weights else _GCN_SAGE
    bias = weights.get("lin_l.bias", weights["lin_l.weight"].new_zeros(len(weights["lin_l.weight"])))
    return _renamed({**weights, "lin_l.bias": bias}, {theirs: ours for ours, theirs in names.items()})


def _gcn_to_pyg(weights: Weights, layer: Layer) -> Weights:
    return {"lin.weight": weights["weight"].t().contiguous(), "bias": weights["bias"]}


def _gcn_from_pyg(weights: Weights, layer: Layer) -> Weights:
    weight = weights["lin.weight"]
    return {"weight": weight.t().contiguous(), "bias": weights.get("bias", weight.new_zeros(len(weight)))}


def _averaged(rows: Tensor, heads: int, layer: Layer) -> Tensor:
    """Rows of all heads in PyG's form: one head's where heads are averaged."""
    return rows.reshape(heads, -1, *rows.shape[1:]).mean(0) if layer.averages else rows


def _of_all_heads(rows: Tensor, heads: int, width: int) -> Tensor:
    """Rows of all heads, made from one row that stands for their mean."""
    return rows.repeat(heads, *[1] * (rows.dim() - 1)) if heads > 1 and len(rows) == width else rows


def _around_attention(weights: Weights, heads: int, width: int, inputs: int, layer: Layer) -> Weights:
    """PyG's bias and residual of an attention layer."""
    weight = weights.get("res_fc.weight")
    bias = weights.get("res_fc.bias", weights.get("bias", torch.zeros(heads * width)))
    result = {"bias": _averaged(bias.flatten(), heads, layer)}
    if layer.residual:
        result["res.weight"] = _averaged(torch.eye(inputs) if weight is None else weight, heads, layer)
    return result


def _residual_from_pyg(weights: Weights, heads: int, width: int) -> Weights:
    """Bias and residual of an attention layer; a residual that changes nothing has no weight."""
    zeros = weights[next(iter(weights))].new_zeros(heads * width)
    bias = _of_all_heads(weights.get("bias", zeros), heads, width)
    if "res.weight" not in weights:
        return {"bias": bias}
    residual = _of_all_heads(weights["res.weight"], heads, width)
    if residual.shape[0] == residual.shape[1] and torch.equal(residual, torch.eye(len(residual), dtype=residual.dtype)):
        return {"bias": bias}
    return {"res_fc.weight": residual, "res_fc.bias": bias}


def _gat_to_pyg(weights: Weights, layer: Layer) -> Weights:
    _, heads, width = weights["attn_l"].shape
    return {
        "att_src": weights["attn_l"],
        "att_dst": weights["attn_r"],
        "lin.weight": weights["fc.weight"],
        **_around_attention(weights, heads, width, weights["fc.weight"].shape[1], layer),
    }


def _gat_from_pyg(weights: Weights, layer: Layer) -> Weights:
    if "att_edge" in weights:
        raise ValueError("GATConv with edge_dim: --model gat takes no features of edges; gatv2 does")
    _, heads, width = weights["att_src"].shape
    weight = weights.get("lin.weight", weights.get("lin_src.weight"))
    other = weights.get("lin_dst.weight", weight)
    if weight is None or other is None or not torch.equal(weight, other):
        raise ValueError("GATConv with two linear maps: --model gat has one for sources and destinations")
    around = _residual_from_pyg(weights, heads, width)
    return {"attn_l": weights["att_src"], "attn_r": weights["att_dst"], "fc.weight": weight, **around}


_GATV2 = {
    "attn": "att",
    "fc_src.weight": "lin_l.weight",
    "fc_src.bias": "lin_l.bias",
    "fc_dst.weight": "lin_r.weight",
    "fc_dst.bias": "lin_r.bias",
    "fc_edge.weight": "lin_edge.weight",
}


def _gatv2_to_pyg(weights: Weights, layer: Layer) -> Weights:
    _, heads, width = weights["attn"].shape
    named = {_GATV2[name]: value for name, value in weights.items() if name in _GATV2}
    return {**named, **_around_attention(weights, heads, width, weights["fc_src.weight"].shape[1], layer)}


def _gatv2_from_pyg(weights: Weights, layer: Layer) -> Weights:
    """DGL's layer has no bias after the sum. A node's attention sums to one, so the sources' bias can take its place, provided that the destinations'
    bias compensates for it in the scores.
    """
    _, heads, width = weights["att"].shape
    found = {ours: weights[theirs] for ours, theirs in _GATV2.items() if theirs in weights}
    around = _residual_from_pyg(weights, heads, width)
    bias = around.pop("bias", None)
    zeros = found["fc_src.weight"].new_zeros(heads * width)
    shift = zeros if bias is None else bias
    found["fc_src.bias"] = found.get("fc_src.bias", zeros) + shift
    found["fc_dst.bias"] = found.get("fc_dst.bias", zeros) - shift
    return {**found, **around}


def _gin_to_pyg(weights: Weights, layer: Layer) -> Weights:
    eps = weights.get("eps", torch.zeros(1))
    return {"eps": eps, "nn.weight": weights["apply_func.weight"], "nn.bias": weights["apply_func.bias"]}


def _gin_from_pyg(weights: Weights, layer: Layer) -> Weights:
    maps: List[str] = sorted({name.rpartition(".")[0] for name in weights if name.startswith("nn.")})
    if len(maps) != 1 or weights[f"{maps[0]}.weight"].dim() != 2:
        raise ValueError(f"GINConv with {', '.join(maps)}: --model gin has one linear map in each layer")
    weight = weights[f"{maps[0]}.weight"]
    found = {"apply_func.weight": weight, "apply_func.bias": weights.get(f"{maps[0]}.bias", weight.new_zeros(len(weight)))}
    eps = weights.get("eps", torch.zeros(1)).reshape(1)
    if layer.learns_eps:
        found["eps"] = eps
    elif bool(eps != 0):
        raise ValueError(f"GINConv with eps={eps.item():.4g}: pass learn_eps=True, or its layer has eps=0")
    return found


def _tag_to_pyg(weights: Weights, layer: Layer) -> Weights:
    parts = weights["lin.weight"].chunk(layer.hops + 1, 1)
    return {"bias": weights["lin.bias"], **{f"lins.{hop}.weight": part.contiguous() for hop, part in enumerate(parts)}}


def _tag_from_pyg(weights: Weights, layer: Layer) -> Weights:
    parts = [weights[f"lins.{hop}.weight"] for hop in range(sum(name.startswith("lins.") for name in weights))]
    return {"lin.weight": torch.cat(parts, 1), "lin.bias": weights.get("bias", parts[0].new_zeros(len(parts[0])))}


def _gcn2_to_pyg(weights: Weights, layer: Layer) -> Weights:
    if bool(weights["bias"].any()):
        raise ValueError("PyG's GCN2Conv has no bias, but the trained layers have: keep style='dgl'")
    return {name: value for name, value in weights.items() if name != "bias"}


def _gcn2_from_pyg(weights: Weights, layer: Layer) -> Weights:
    return {"bias": weights["weight1"].new_zeros(len(weights["weight1"])), **weights}


def _rgcn_to_pyg(weights: Weights, layer: Layer) -> Weights:
    """PyG keeps each block as a matrix; DGL's row of a relation has the elements of all blocks."""
    weight, (inputs, outputs) = weights["linear_r.W"], weights["loop_weight"].shape
    if weight.dim() == 2:
        blocks = inputs * outputs // weight.shape[1]
        weight = weight.reshape(len(weight), blocks, inputs // blocks, outputs // blocks)
    return _renamed({**weights, "linear_r.W": weight}, _RGCN)


def _rgcn_from_pyg(weights: Weights, layer: Layer) -> Weights:
    weight = weights["weight"]
    flat = weight.flatten(1) if weight.dim() == 4 else weight
    return _renamed({**weights, "weight": flat}, {theirs: ours for ours, theirs in _RGCN.items()})


_RGCN = {"linear_r.W": "weight", "linear_r.coeff": "comp", "loop_weight": "root", "h_bias": "bias"}

KINDS: Dict[str, Kind] = {
    "sage": Kind("fc_neigh.weight", ("lin_l.weight",), _sage_to_pyg, _sage_from_pyg),
    "gcn": Kind("weight", ("lin.weight",), _gcn_to_pyg, _gcn_from_pyg),
    "gat": Kind("attn_l", ("att_src",), _gat_to_pyg, _gat_from_pyg),
    "gatv2": Kind("attn", ("att",), _gatv2_to_pyg, _gatv2_from_pyg),
    "gin": Kind("apply_func.weight", ("nn.weight", "nn.0.weight", "nn.lins.0.weight"), _gin_to_pyg, _gin_from_pyg),
    "rgcn": Kind("loop_weight", ("root",), _rgcn_to_pyg, _rgcn_from_pyg),
    "tag": Kind("lin.weight", ("lins.0.weight",), _tag_to_pyg, _tag_from_pyg),
    "gcn2": Kind("weight1", ("weight1",), _gcn2_to_pyg, _gcn2_from_pyg),
    "sgc": renaming("fc.weight", "lin.weight", {"fc.weight": "lin.weight", "fc.bias": "lin.bias"}),
}
