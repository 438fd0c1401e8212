"""Modules of PyTorch Geometric, unmodified, on a rank's part of the graph.

``rank.edge_index`` stands for PyG's ``edge_index``. Workers patch PyG's modules when they are imported.
"""
