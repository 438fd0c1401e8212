"""Conversion of state dicts between PyG's modules and the built-in models."""

from __future__ import annotations

import re
from typing import Any, Dict, List, Mapping, NamedTuple, Optional, Set, Tuple

from torch import Tensor

from .pyg_layers import KINDS, Kind, Layer, Weights

State = Dict[str, Tensor]

# A relation in the keys of PyG's HeteroConv.
_RELATION = re.compile(r"^(.*?)\.?(?:convs\.)?<(.+)___(.+)___(.+)>\.$")


class Model(NamedTuple):
    """Settings of a model that its weights do not show."""

    kind: str
    residual: bool = False
    hops: int = 0
    learns_eps: bool = False


class _Place(NamedTuple):
    """Place of a layer: its number, and its edge type if each type has a layer."""

    number: int
    etype: Optional[Tuple[str, str, str]] = None


def to_pyg(state: State, model: Model, etypes: List[Tuple[str, str, str]]) -> State:
    """The weights under the names of PyG's modules in ``convs`` (a ``HeteroConv`` if each edge type has a layer), of its norms in ``norms``, and of
    linear layers in ``lin`` and ``lins``.
    """
    if model.kind in ("egat", "sign"):
        raise ValueError(f"PyG has no module with the weights of --model {model.kind}: keep style='dgl'")
    layers, result = _our_layers(state, etypes), {}
    last = -1 if "lin.weight" in state else max((place.number for place in layers), default=0)
    for place, weights in layers.items():
        layer = Layer(place.number == last, model.residual, model.hops, model.learns_eps)
        scope = f"convs.{place.number}."
        if place.etype is not None:
            scope += "convs.<{}>.".format("___".join(place.etype))
        result.update({scope + name: value for name, value in KINDS[model.kind].to_pyg(weights, layer).items()})
    batch = any(name.endswith("running_mean") for name in state)
    for name, value in state.items():
        if not name.startswith("convs."):
            name = re.sub(r"^layers\.", "lins.", name)
            result[re.sub(r"^(norms\..+)\.", r"\1.module.", name) if batch else name] = value
    return result


def _our_layers(state: State, etypes: List[Tuple[str, str, str]]) -> Dict[_Place, Weights]:
    names: Dict[str, Tuple[str, str, str]] = {}
    for etype in etypes:
        names[etype[1]] = names[str(etype)] = etype
    found: Dict[_Place, Weights] = {}
    for name, value in state.items():
        match = re.match(r"^convs\.(\d+)\.(?:mods\.([^.]+)\.)?(.+)$", name)
        if match:
            place = _Place(int(match[1]), names[match[2]] if match[2] else None)
            found.setdefault(place, {})[match[3]] = value
    return found


def is_of_pyg(state: Mapping[str, Any], kind: str) -> bool:
    """Whether the state comes from PyG's modules rather than a built-in model."""
    if kind == "appnp":
        return not any(re.match(r"^layers\.\d+\.weight$", name) for name in state)
    if kind not in KINDS:
        return False
    if kind == "gcn2":
        return bool(_scopes(state, KINDS[kind])) and not any(re.match(r"^convs\.\d+\.bias$", name) for name in state)
    ours = KINDS[kind].ours
    return not any(re.match(rf"^convs\.\d+\.(mods\.[^.]+\.)?{re.escape(ours)}$", name) for name in state)


def from_pyg(state: State, model: Model) -> State:
    """The weights under the names of built-in models. Layers, norms and linear layers are taken in the order of the state, whatever their names."""
    state = dict(state)
    if model.kind == "appnp":
        return _numbered(_linear(state), "layers")
    kind = KINDS[model.kind]
    scopes = _scopes(state, kind)
    if not scopes:
        raise ValueError(
            f"init_params: none of its keys ends in {' or '.join(kind.theirs)}, as those of PyG's layers for --model {model.kind} do: {_some(state)}"
        )
    places = _places(scopes)
    etypes = {place.etype for place in places.values() if place.etype is not None}
    relations = [etype[1] for etype in etypes]
    result: State = {}
    for scope, place in places.items():
        weights = {name[len(scope) :]: state.pop(name) for name in list(state) if name.startswith(scope) and _belongs(name[len(scope) :], scope)}
        within = f"convs.{place.number}."
        if place.etype is not None:
            within += f"mods.{place.etype[1] if relations.count(place.etype[1]) == 1 else str(place.etype)}."
        layer = Layer(False, model.residual, model.hops, model.learns_eps)
        result.update({within + name: value for name, value in kind.from_pyg(weights, layer).items()})
    ntypes = {ntype for etype in etypes for ntype in (etype[0], etype[2])}
    result.update(_norms(state, ntypes))
    result.update(_maps(_linear(state), model.kind, ntypes))
    if state:
        raise ValueError(f"init_params: --model {model.kind} has no place for {_some(state)}")
    return result


def _scopes(state: Mapping[str, Any], kind: Kind) -> List[str]:
    """Prefixes of the weights of each layer, in order."""
    found = []
    for name in state:
        for theirs in kind.theirs:
            scope = name[: -len(theirs)]
            if (name == theirs or name.endswith(f".{theirs}")) and _is_layer(state, kind, scope) and scope not in found:
                found.append(scope)
    return found


def _is_layer(state: Mapping[str, Any], kind: Kind, scope: str) -> bool:
    """Tells apart layers whose weights have the same names: with attention or without, a layer or the linear map around one."""
    if kind.theirs == ("lin_l.weight",):
        return f"{scope}att" not in state
    if kind is KINDS["gcn"]:
        return scope != "" and f"{scope}lin.bias" not in state and f"{scope}att_src" not in state
    return True


def _belongs(name: str, scope: str) -> bool:
    return scope != "" or "." not in name


def _places(scopes: List[str]) -> Dict[str, _Place]:
    numbers: List[str] = []
    places = {}
    for scope in scopes:
        match = _RELATION.match(scope)
        outer = match[1] if match else scope
        if outer not in numbers:
            numbers.append(outer)
        places[scope] = _Place(numbers.index(outer), (match[2], match[3], match[4]) if match else None)
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
