"""Modules of PyTorch Geometric, unmodified, on a rank's part of the graph.

``rank.edge_index`` stands in for PyG's ``edge_index``. Workers change the modules of PyG as soon as these are imported.
"""
