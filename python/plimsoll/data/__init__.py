"""Data sets of graphs: opened, made, and exchanged with PyTorch Geometric.

Modules here know neither batches nor models.
"""
