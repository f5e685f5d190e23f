"""Budgets, plans and training in blocks, which need torch: `plimsoll.budget`, `plimsoll.plan` and `plimsoll.fit`.

The name starts with an underscore because `plimsoll.fit` is the function: importing a module of a folder `fit` would
replace it.
"""

from plimsoll import _operators

_operators.load()
