"""A task of recommendation for the made-up shops: the shops in which a user orders in the next ten days."""

import numpy as np
import pytest

from relational_data import CUTS, DAY, START

K = 3
RELBENCH = ("kind: forecast\ntask_type: recommendation\nsrc_entity_table: users\nsrc_entity_col: user\ndst_entity_table: shops\n"
            f"dst_entity_col: shop\ntime_col: timestamp\ntimedelta: 10 days\neval_k: {K}\nsql: SELECT 1\n")


def write_visits(folder, orders, users=40):
    """Adds the task `visits` to a RelBench folder, and returns its lists by split: (user, time, shops)."""
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    task = folder / "tasks" / "visits"
    task.mkdir()
    (task / "manifest.yaml").write_text(RELBENCH)
    at, user, shop = np.array(orders["at"].cast("int64")), np.array(orders["user"].fill_null(-1)), np.array(orders["shop"].fill_null(-1))
    rows = {}
    for split, cuts in CUTS.items():
        rows[split] = []
        for cut in cuts if split == "train" else cuts[:1]:
            now = START + cut * DAY
            for u in range(users):
                shops = np.unique(shop[(user == u) & (shop >= 0) & (at > now) & (at <= now + 10 * DAY)]).tolist()
                if shops:
                    rows[split].append((u, now, shops))
        found = list(zip(*rows[split]))
        pq.write_table(pa.table({"timestamp": pa.array(found[1], pa.timestamp("s")), "user": found[0],
                                 "shop": pa.array(found[2], pa.list_(pa.int64()))}), task / f"{split}.parquet")
    return rows


def mean_average_precision(lists, targets, k):
    """relbench.metrics.map of RelBench 3, with the inputs that its task computes."""
    hits = np.stack([np.isin(row, target) for row, target in zip(lists, targets)])
    counts = np.array([len(target) for target in targets]).clip(max=k)
    precision = np.cumsum(hits, axis=1) / (np.arange(k) + 1)
    return ((precision * hits).sum(axis=1) / counts).mean()
