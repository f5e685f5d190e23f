"""Makes batches from data sets and objects of PyTorch Geometric: graphs, neighbours, links, clusters and walks.

Modules here import `plimsoll.data`, but not `plimsoll._fit`.
"""
