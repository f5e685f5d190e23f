"""The tables of flights as NumPy columns, and trees of the latest rows that each seed may see."""

from types import SimpleNamespace

import numpy as np
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pyarrow.types as kinds

MAX_WORDS = 200  # as in the baselines: columns with more different strings are left out
KEYS = {"flights": "flight_id", "planes": "plane_id", "airports": "airport_id", "airlines": "carrier_id", "weather": None}
REFERENCES = {"flights": {"plane_id": "planes", "carrier_id": "airlines", "origin_id": "airports", "dest_id": "airports"},
              "weather": {"origin_id": "airports"}}


def scaled(column, known):
    """Two float32 columns: mean 0 and deviation 1 over `known` rows, and whether a value is missing."""
    values = column.to_numpy(zero_copy_only=False).astype(np.float64)
    mean, deviation = np.nanmean(values[:known]), np.nanstd(values[:known])
    missing = np.isnan(values)
    return [np.where(missing, 0, (values - mean) / (deviation or 1)).astype(np.float32), missing.astype(np.float32)]


def read_table(path, known, end):
    """Columns of the rows up to the time `end`; `known` is the time up to which statistics are taken."""
    table, name = pq.read_table(path), path.stem
    times = table.column("time").to_numpy().astype(np.int64) if "time" in table.column_names else None
    rows = table.num_rows if times is None else int(np.searchsorted(times, end, "right"))
    seen = rows if times is None else int(np.searchsorted(times, known, "right"))
    table, numbers, words = table.slice(0, rows), [], []
    for field in table.schema:
        column = table.column(field.name).combine_chunks()
        if field.name in ("time", KEYS[name], *REFERENCES.get(name, {})):
            continue
        if kinds.is_large_string(field.type):
            codes = pc.dictionary_encode(column)
            if len(codes.dictionary) <= MAX_WORDS:
                words.append(pc.fill_null(codes.indices, len(codes.dictionary)).to_numpy(zero_copy_only=False).astype(np.int64))
        else:
            numbers += scaled(column.cast("int64") if kinds.is_timestamp(field.type) else column, seen)
    keys = {key: pc.fill_null(table.column(key), -1).to_numpy() for key in REFERENCES.get(name, {})}
    return SimpleNamespace(size=rows, times=None if times is None else times[:rows], keys=keys, words=words,
                           numbers=np.stack(numbers, 1) if numbers else np.zeros((rows, 0), np.float32))


class History:
    """`tables` by name; `lists` by (source, name, target): for each row of the target, rows of the source in order of time.
    All tables with times are sorted by time."""

    def __init__(self, folder, known, end):
        self.tables = {path.stem: read_table(path, known, end) for path in sorted(folder.glob("*.parquet"))}
        self.lists = {}
        for name, keys in REFERENCES.items():
            for key, target in keys.items():
                values = self.tables[name].keys[key]
                rows = np.flatnonzero(values >= 0)
                self.lists[name, key, target] = self.sorted_pairs(values[rows], rows, self.tables[name].size)
                self.lists[target, f"rev_{key}", name] = self.sorted_pairs(rows, values[rows], self.tables[target].size)

    @staticmethod
    def sorted_pairs(targets, sources, size):
        return np.sort(targets * size + sources), size

    def neighbours(self, kind, rows, times, fan_out):
        """(position in `rows`, source row) of up to `fan_out` latest sources not later than `times`, for each of `rows`."""
        pairs, size = self.lists[kind]
        of_source = self.tables[kind[0]].times
        bound = size if of_source is None else np.searchsorted(of_source, times, "right")
        first, last = np.searchsorted(pairs, rows * size), np.searchsorted(pairs, rows * size + bound)
        first = np.maximum(first, last - fan_out)
        counts = last - first
        position = np.repeat(np.arange(len(rows)), counts)
        within = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
        return position, pairs[first[position] + within] % size

    def sample(self, entity, seeds, times, fan_outs):
        """A tree for each seed, in one forest: rows and ages by table, and edges [2, edges] by kind. Seeds come first."""
        empty = np.zeros(0, np.int64)
        rows, at = {name: [empty] for name in self.tables}, {name: [empty] for name in self.tables}
        edges = {kind: [np.zeros((2, 0), np.int64)] for kind in self.lists}
        counts = dict.fromkeys(self.tables, 0)
        rows[entity].append(seeds), at[entity].append(times)
        counts[entity] = len(seeds)
        frontier = {entity: (seeds, times, 0)}
        for fan_out in fan_outs:
            found = {}
            for kind in self.lists:
                source, _, target = kind
                if target in frontier:
                    of_rows, of_times, offset = frontier[target]
                    position, new = self.neighbours(kind, of_rows, of_times, fan_out)
                    edges[kind].append(np.stack([counts[source] + np.arange(len(new)), offset + position]))
                    rows[source].append(new), at[source].append(of_times[position])
                    found.setdefault(source, []).append((new, of_times[position], counts[source]))
                    counts[source] += len(new)
            frontier = {name: tuple(np.concatenate(column) for column in list(zip(*parts))[:2]) + (parts[0][2],)
                        for name, parts in found.items()}
        return self.forest(rows, at, edges, len(seeds))

    def forest(self, rows, at, edges, seeds):
        rows, at = ({name: np.concatenate(parts) for name, parts in columns.items()} for columns in (rows, at))
        ages = {name: np.zeros(len(rows[name])) if table.times is None else at[name] - table.times[rows[name]]
                for name, table in self.tables.items()}
        return SimpleNamespace(rows=rows, ages=ages, seeds=seeds,
                               edges={kind: np.concatenate(parts, 1) for kind, parts in edges.items()})
