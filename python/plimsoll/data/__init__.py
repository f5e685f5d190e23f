"""Opens and makes data sets of graphs, and exchanges them with PyTorch Geometric.

Modules here depend on neither batches nor models.
"""
