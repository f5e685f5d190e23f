"""Data sets of graphs: opened, made, and exchanged with PyTorch Geometric.

Modules here depend on neither batches nor models.
"""
