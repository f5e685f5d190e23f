"""Reads table files with lib/libplimsoll_arrow.so in this process, and prints what its pool and Arrow's own pool held as JSON.

    python arrow_plugin_reader.py PLUGIN STORE PATH...
"""

import ctypes
import json
import sys

import pyarrow as pa

READS = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int64)
GIVES = ctypes.CFUNCTYPE(None, ctypes.c_int64)
ALLOCATES = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)
RELEASES = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64)
FREE = ctypes.CFUNCTYPE(ctypes.c_int64)


class Pool(ctypes.Structure):
    """PlimsollArrowPool."""

    _fields_ = [("take", READS), ("give", GIVES), ("allocate", ALLOCATES), ("release", RELEASES), ("free", FREE)]


held = {"now": 0, "peak": 0}
libc = ctypes.CDLL(None)
libc.aligned_alloc.restype = ctypes.c_void_p
libc.aligned_alloc.argtypes = [ctypes.c_size_t, ctypes.c_size_t]
libc.free.argtypes = [ctypes.c_void_p]


def take(size):
    held["now"] += size
    held["peak"] = max(held["peak"], held["now"])
    return 0


def give(size):
    held["now"] -= size


POOL = Pool(READS(take), GIVES(give), ALLOCATES(lambda size, alignment: libc.aligned_alloc(alignment, -(-size // alignment) * alignment)),
            RELEASES(lambda piece, size: libc.free(piece)), FREE(lambda: 1 << 26))


def read(plugin, store, paths):
    stream, error = ctypes.create_string_buffer(64), ctypes.create_string_buffer(1024)
    rest = [ctypes.byref(POOL), ctypes.c_int64(8192), stream, error, ctypes.c_int64(len(error))]
    if ".csv" in paths[0]:
        words = (ctypes.c_char_p * len(paths))(*[path.encode() for path in paths])
        code = plugin.plimsoll_arrow_open_csv(store.encode(), words, ctypes.c_int64(len(paths)), *rest)
    else:
        code = plugin.plimsoll_arrow_open(store.encode(), paths[0].encode(), *rest)
    assert code == 0, error.value.decode()
    return pa.RecordBatchReader._import_from_c(ctypes.addressof(stream))


def types_in(kind):
    """Counts a type and the types of its fields and values."""
    inner = kind.num_fields
    fields = [kind.field(place).type for place in range(inner)] if inner else []
    return 1 + sum(map(types_in, fields)) + (1 if pa.types.is_dictionary(kind) else 0)


if __name__ == "__main__":
    reader = read(ctypes.CDLL(sys.argv[1]), sys.argv[2], sys.argv[3:])
    rows, types = 0, 1 + sum(types_in(field.type) for field in reader.schema)
    for batch in reader:
        rows += batch.num_rows
    del batch, reader
    print(json.dumps({"rows": rows, "types": types, "ledger": held["peak"], "left": held["now"],
                      "past_the_ledger": pa.default_memory_pool().max_memory()}))
