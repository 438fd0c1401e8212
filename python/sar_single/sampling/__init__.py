"""Batches: seeds, samplers and loaders."""
