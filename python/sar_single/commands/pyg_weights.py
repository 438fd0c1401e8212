"""Conversion of state dicts between modules of PyG or DGL and the built-in models."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any, Dict, List, Mapping, NamedTuple, Set, Tuple, Union

from torch import Tensor

from .pyg_layers import KINDS, Kind, Layer, Weights

State = Dict[str, Tensor]
PathLike = Union[str, "os.PathLike[str]"]

# A relation in the keys of PyG's HeteroConv, and of DGL's HeteroGraphConv.
_RELATION = re.compile(r"^(.*?)\.?(?:convs\.)?<(.+?)___(.+?)___(.+)>\.$")
_MODULE = re.compile(r"^(.+)\.mods\.([^.]+)\.$")

# Learned rows of node types, and maps of their features. A module's list of maps has numbers in place of types.
_OF_TYPE = re.compile(r"(?:^|\.)(?:linears|embeds)\.(?!\d+\.)([^.]+)\.(?:weight|bias)$")

# The linear map that follows jumping knowledge, of the only target or of each.
_JUMP = re.compile(r"^(jumps\.[^.]+\.)?lin\.weight$")

# Keys of built-in models begin with one of these names.
_BUILT_IN = re.compile(r"(convs|norms|linears|embeds|layers|lins?|jumps|score)\.")


class Model(NamedTuple):
    """Settings of a model that its weights do not show."""

    kind: str
    residual: bool = False
    hops: int = 0
    learns_eps: bool = False
    # How the results of a node type's relations are merged.
    merge: str = ""


class _Place(NamedTuple):
    """Place of a layer: its number, and the name of its edge type if each type has a layer."""

    number: int
    relation: str = ""

    @property
    def scope(self) -> str:
        """The prefix of the layer's keys in built-in models."""
        return f"convs.{self.number}." + (f"mods.{self.relation}." if self.relation else "")


def to_pyg(state: State, model: Model, part_json: PathLike) -> State:
    """The weights under the names of PyG's modules in ``convs`` (a ``HeteroConv`` if each edge type has a layer), of its norms in ``norms``, and of
    linear layers in ``lin`` and ``lins``. ``part_json`` is the graph of the run.
    """
    layers, result = _our_layers(state), {}
    typed = any(_OF_TYPE.search(name) for name in state)
    if model.kind in ("egat", "sign") or model.kind == "rgcn" and typed:
        with_types = " with a layer per edge type" if typed else ""
        raise ValueError(f"PyG has no module with the weights of --model {model.kind}{with_types}: keep style='dgl'")
    _check_heads(state, model)
    check_order_of_rows(state, part_json)
    names = _names_in_pyg(part_json) if any(place.relation for place in layers) else {}
    last = -1 if any(map(_JUMP.match, state)) else max((place.number for place in layers), default=0)
    for place, weights in layers.items():
        # With a layer per edge type, the residual is that of the merged rows, which has no weights.
        layer = Layer(place.number == last, model.residual and not place.relation, model.hops, model.learns_eps)
        scope = f"convs.{place.number}."
        if place.relation:
            if place.relation not in names:
                raise ValueError(f"{os.fspath(part_json)}: the run has layers for edge type {place.relation}, which this graph lacks")
            scope += f"convs.<{names[place.relation]}>."
        result.update({scope + name: value for name, value in KINDS[model.kind].to_pyg(weights, layer).items()})
    batch = any(name.endswith("running_mean") for name in state)
    for name, value in state.items():
        if not name.startswith("convs."):
            name = re.sub(r"^layers\.", "lins.", name)
            result[re.sub(r"^(norms\..+)\.", r"\1.module.", name) if batch else name] = value
    return result


def _our_layers(state: State) -> Dict[_Place, Weights]:
    found: Dict[_Place, Weights] = {}
    for name, value in state.items():
        match = re.match(r"^convs\.(\d+)\.(?:mods\.([^.]+)\.)?(.+)$", name)
        if match:
            found.setdefault(_Place(int(match[1]), match[2] or ""), {})[match[3]] = value
    return found


def _names_in_pyg(part_json: PathLike) -> Dict[str, str]:
    """PyG's names of a graph's edge types, by relation and by canonical edge type."""
    names: Dict[str, str] = {}
    for text in _graph(part_json)["edge_map"]:
        etype = tuple(text.split(":"))
        if len(etype) == 3:
            names[etype[1]] = names[str(etype)] = "___".join(etype)
    return names


def _graph(part_json: PathLike) -> Dict[str, Any]:
    try:
        result: Dict[str, Any] = json.loads(Path(part_json).read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise ValueError(f"{os.fspath(part_json)} is missing, but PyG's form of these weights depends on the graph: put it back, or use DGL's keys") from error
    return result


def check_order_of_rows(state: State, part_json: PathLike) -> None:
    """Raises ``ValueError`` if nodes have learned rows and the cut of the graph has changed the nodes' order."""
    rows = next((name for name in state if name.startswith("embeds.")), None)
    if rows is None:
        return
    graph = _graph(part_json)
    if "node_order" in graph or graph["num_parts"] > 1 and graph.get("part_method") != "range":
        raise ValueError(
            f"{rows}: a module has a row per node in the order before the cut, but the nodes of {os.fspath(part_json)} have another order: "
            "cut the graph with method='range', or use the keys of state_dict(style='dgl'), with rows in the order of the partitions"
        )


def _check_heads(state: State, model: Model) -> None:
    """Raises ``ValueError`` where PyG averages the last layer's heads before it merges edge types: the built-in model merges first."""
    heads = (value.shape[1] for name, value in state.items() if re.search(r"\.mods\..*\.attn(_l)?$", name))
    if model.merge in ("max", "min") and max(heads, default=1) > 1 and not any(map(_JUMP.match, state)):
        raise ValueError(
            f"PyG's HeteroConv averages the heads of the last layer before it takes their {model.merge}, but --hetero {model.merge} averages afterwards, "
            "so results differ: use --jk cat, or DGL's keys"
        )


def check_activation(module: Any, kind: str) -> None:
    """Raises ``ValueError`` if the module is or has a ``BasicGNN`` of PyG with another activation than the built-in model."""
    ours = "ELU" if kind in ("gat", "gatv2") else "ReLU"
    for part in module.modules() if hasattr(module, "modules") else ():
        if not any(cls.__name__ == "BasicGNN" for cls in type(part).__mro__) or part.num_layers == 1 and part.jk_mode is None:
            continue
        found = getattr(part.act, "__name__", type(part.act).__name__)
        if found.lower() != ours.lower():
            name = type(part).__name__
            raise ValueError(
                f"init_params: {name} has {found} between layers, but --model {kind} has {ours}: use {name}(..., act={ours.lower()!r}), or pass its "
                "state_dict() if the difference does not matter"
            )


def has_our_keys(state: Mapping[str, Any], kind: str) -> bool:
    """Whether the state has the keys of a built-in model rather than those of some module."""
    if kind == "appnp":
        form = r"^layers\.\d+\.weight$"
    elif kind in KINDS:
        ours = "bias" if kind == "gcn2" else KINDS[kind].ours
        form = rf"^convs\.\d+\.(mods\.[^.]+\.)?{re.escape(ours)}$"
    else:
        return True
    return all(map(_BUILT_IN.match, state)) and any(re.match(form, name) for name in state)


def to_built_in(state: State, model: Model) -> State:
    """The weights of a module of PyG or DGL under the names of built-in models. Layers, norms and linear layers are taken in the order of their numbers,
    without numbers in the order of the state, whatever their names.
    """
    state = _in_order_of_numbers(state)
    result = {name: state.pop(name) for name in list(state) if name.startswith("jumps.") or name == "score.weight" and "score.bias" not in state}
    if model.kind == "appnp":
        result.update(_numbered(_linear(state), "layers"))
    else:
        _move_stack(state, result, model)
    if state:
        raise ValueError(f"init_params: --model {model.kind} has no place for {_some(state)}")
    return result


def _in_order_of_numbers(state: Mapping[str, Tensor]) -> State:
    """The state with keys that differ in numbers only in the order of these numbers, as files may have ``convs.10`` before ``convs.2``."""
    alike: Dict[str, List[str]] = {}
    for name in state:
        alike.setdefault(re.sub(r"\d+", "0", name), []).append(name)
    sorted_names = {form: iter(sorted(names, key=lambda name: [int(digits) for digits in re.findall(r"\d+", name)])) for form, names in alike.items()}
    ordered = (next(sorted_names[re.sub(r"\d+", "0", name)]) for name in state)
    return {name: state[name] for name in ordered}


def _move_stack(state: State, result: State, model: Model) -> None:
    """Moves layers, norms and the linear maps around them to the result."""
    kind = KINDS[model.kind]
    of_pyg = _scopes(state, kind)
    form = kind if of_pyg else kind.in_dgl()
    scopes = of_pyg or _scopes(state, form)
    if not scopes:
        ends = " or ".join(kind.theirs + (kind.ours,))
        raise ValueError(f"init_params: none of its keys ends in {ends}, as those of layers of PyG or DGL for --model {model.kind} do: {_some(state)}")
    ntypes = {match[1] for match in map(_OF_TYPE.search, state) if match and not of_pyg}
    ntypes |= {ntype for match in map(_RELATION.match, scopes) if match for ntype in (match[2], match[4])}
    layer = Layer(False, model.residual, model.hops, model.learns_eps)
    for scope, place in _places(scopes, _RELATION if of_pyg else _MODULE).items():
        weights = {name[len(scope) :]: state.pop(name) for name in list(state) if name.startswith(scope) and _belongs(name[len(scope) :], scope)}
        result.update({place.scope + name: value for name, value in form.from_pyg(weights, layer).items()})
    result.update(_norms(state, ntypes))
    result.update(_maps(_linear(state), model.kind, ntypes))
    if of_pyg:
        _check_heads(result, model)


def _scopes(state: Mapping[str, Any], kind: Kind) -> List[str]:
    """Prefixes of the weights of each layer, in order."""
    found = []
    for name in state:
        for theirs in kind.theirs:
            scope = name[: -len(theirs)]
            if (name == theirs or name.endswith(f".{theirs}")) and _is_layer(state, kind, scope) and scope not in found:
                found.append(scope)
    return [scope for scope in found if scope] or found


def _is_layer(state: Mapping[str, Any], kind: Kind, scope: str) -> bool:
    """Tells apart layers whose weights have the same names: with attention or without, a layer or the linear map around one."""
    if kind.theirs == ("lin_l.weight",):
        return f"{scope}att" not in state
    if kind is KINDS["gcn"]:
        return scope != "" and f"{scope}lin.bias" not in state and f"{scope}att_src" not in state
    if kind.theirs == ("weight",):  # GraphConv's matrix has a column per output, that of a linear map a row.
        weight, bias = state[f"{scope}weight"], state.get(f"{scope}bias")
        return bias is not None and weight.dim() == 2 and weight.shape[1] == len(bias) and not _OF_TYPE.search(f"{scope}weight")
    return True


def _belongs(name: str, scope: str) -> bool:
    return scope != "" or "." not in name


def _places(scopes: List[str], form: "re.Pattern[str]") -> Dict[str, _Place]:
    """Places of layers, which are numbered in order. ``form`` finds the edge type or the relation in a scope."""
    matches = {scope: form.match(scope) for scope in scopes}
    etypes = {match.groups()[1:] for match in matches.values() if match}
    relations = [etype[1] for etype in etypes if len(etype) == 3]
    numbers: List[str] = []
    places = {}
    for scope, match in matches.items():
        outer, *etype = match.groups() if match else (scope,)
        if len(etype) == 3:
            etype = [etype[1] if relations.count(etype[1]) == 1 else str(tuple(etype))]
        if outer not in numbers:
            numbers.append(outer)
        places[scope] = _Place(numbers.index(outer), *etype)
    return places


def _norms(state: State, ntypes: Set[str]) -> State:
    """Takes normalisations out of a state: modules with running statistics, or with a one-dimensional weight."""
    scopes: List[str] = []
    for name, value in state.items():
        scope, _, last = name.rpartition(".")
        if (last == "running_mean" or last == "weight" and value.dim() == 1) and scope not in scopes:
            scopes.append(scope)
    result, numbers = {}, []
    for scope in scopes:
        plain = scope[: -len(".module")] if scope.endswith(".module") else scope
        outer, _, last = plain.rpartition(".")
        layer, within = (outer, f"{last}.") if last in ntypes else (plain, "")
        if layer not in numbers:
            numbers.append(layer)
        for name in [name for name in state if name.rpartition(".")[0] == scope]:
            result[f"norms.{numbers.index(layer)}.{within}{name.rpartition('.')[2]}"] = state.pop(name)
    return result


def _linear(state: State) -> Dict[str, Weights]:
    """Takes linear maps, and matrices without a bias, out of a state; returns them by name."""
    found = {}
    for name in [name for name in state if name.rpartition(".")[2] == "weight" and state[name].dim() == 2]:
        scope = name.rpartition(".")[0]
        found[scope] = {"weight": state.pop(name)}
        bias = f"{scope}.bias" if scope else "bias"
        if bias in state:
            found[scope]["bias"] = state.pop(bias)
    return found


def _maps(linear: Dict[str, Weights], kind: str, ntypes: Set[str]) -> State:
    """Linear maps around the layers: of each node type's features, before and after the layers of GCNII, or of jumping knowledge."""
    result: State = {}
    typed = {scope: scope.rpartition(".")[2] for scope in linear if scope.rpartition(".")[2] in ntypes}
    for scope, ntype in typed.items():
        part = linear.pop(scope)
        result.update({f"{'linears' if 'bias' in part else 'embeds'}.{ntype}.{name}": value for name, value in part.items()})
    if kind == "gcn2":
        result.update(_numbered(linear, "lins"))
    elif linear:
        (*_, last) = linear.values()
        result.update({f"lin.{name}": value for name, value in _with_bias(last).items()})
        if len(linear) > 1:
            raise ValueError(f"init_params: --model {kind} has one linear map after its layers, but here are {_some(linear)}")
    return result


def _with_bias(part: Weights) -> Weights:
    return {"bias": part["weight"].new_zeros(len(part["weight"])), **part}


def _numbered(linear: Dict[str, Weights], scope: str) -> State:
    parts = enumerate(linear.values())
    return {f"{scope}.{number}.{name}": value for number, part in parts for name, value in _with_bias(part).items()}


def _some(names: Mapping[str, Any]) -> str:
    first = list(names)[:6]
    return ", ".join(first) + (", ..." if len(names) > len(first) else "")
