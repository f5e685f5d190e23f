"""Budgets, plans and training in blocks: `plimsoll.budget`, `plimsoll.plan` and `plimsoll.fit`, which need torch.

Its name has an underscore because `plimsoll.fit` is the function: a folder `fit` would replace it when a module is imported.
"""

from plimsoll import _operators

_operators.load()
