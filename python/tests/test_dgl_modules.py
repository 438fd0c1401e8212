"""Layers on partitions against DGL's on the whole graph: modules of ``dgl.nn``, unmodified, and those of ``sar_single.nn``."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("safetensors.torch")

import cloudpickle  # noqa: E402
import layer_cases  # noqa: E402

import sar_single as sar  # noqa: E402

cloudpickle.register_pickle_by_value(layer_cases)


def test_layers_give_what_dgl_gave_on_the_whole_graph(karate, spill):
    expected = layer_cases.recorded()
    del expected["edge weight norm"]  # Only DGL has that module.
    ranks = sar.run(
        layer_cases.worker, karate, args=("sar_single.nn", list(expected)), memory_budget="min", spill_dir=spill
    )
    layer_cases.compare(ranks, expected)


@pytest.mark.parametrize("layers", ["dgl.nn.pytorch", "sar_single.nn"])
def test_partitions_give_what_dgl_gives_on_the_whole_graph(karate, spill, layers):
    pytest.importorskip("dgl")
    expected = layer_cases.of_dgl(karate)
    ranks = sar.run(layer_cases.worker, karate, args=(layers, list(expected)), memory_budget="min", spill_dir=spill)
    layer_cases.compare(ranks, expected)
    for case, values in layer_cases.recorded().items():
        for key, value in values.items():
            layer_cases.close(value, expected[case][key], f"the recorded {case}: {key}")
