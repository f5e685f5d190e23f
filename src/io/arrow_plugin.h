#pragma once

#include <cstdint>

#include "io/arrow_stream.h"

// The interface of lib/libplimsoll_arrow.so, the only file that is linked with libarrow and libparquet. It
// has C linkage and no exceptions, so that the plugin shares no code with the program. The program loads it
// only when it reads files of tables: Parquet, Arrow IPC or CSV.

extern "C" {

/// The ledger as the plugin sees it. All of Arrow's buffers are entered in it. `take` returns 0 on success.
/// It returns another number if the bytes do not fit, or if 0 bytes are requested and the user has
/// interrupted the program.
struct PlimsollArrowPool {
  int (*take)(int64_t bytes);
  void (*give)(int64_t bytes);
  /// Return memory, or null, and release it. `alignment` is a power of 2.
  void* (*allocate)(int64_t bytes, int64_t alignment);
  void (*release)(void* piece, int64_t bytes);
  int64_t (*free)();  ///< Bytes that the budget has left.
};

/// An object as a store describes it.
struct PlimsollObject {
  int64_t bytes;      ///< -1: there is no such object.
  char version[128];  ///< The ETag, which changes with the content.
};

// `store` is the URI of an object store, as in io/location.h, and empty for files on disk. All functions
// return 0, or an errno with a text of at most `error_bytes` bytes.

/// Opens a Parquet or Arrow IPC file as a stream of batches of at most `rows` rows, which the caller
/// releases.
using PlimsollArrowOpen = int (*)(const char* store, const char* path, const PlimsollArrowPool* pool,
                                  int64_t rows, struct ArrowArrayStream* stream, char* error,
                                  int64_t error_bytes);

/// Opens CSV files (.csv or .csv.gz) with the same columns as one stream in the same way.
using PlimsollArrowOpenCsv = int (*)(const char* store, const char* const* paths, int64_t count,
                                     const PlimsollArrowPool* pool, int64_t rows,
                                     struct ArrowArrayStream* stream, char* error, int64_t error_bytes);

/// Describes an object.
using PlimsollFindObject = int (*)(const char* store, const char* path, const PlimsollArrowPool* pool,
                                   struct PlimsollObject* found, char* error, int64_t error_bytes);

/// Calls `add` with the path of each object below a folder.
using PlimsollListObjects = int (*)(const char* store, const char* folder, const PlimsollArrowPool* pool,
                                    void (*add)(void* paths, const char* path), void* paths, char* error,
                                    int64_t error_bytes);

/// Reads the first `bytes` bytes of an object.
using PlimsollReadObject = int (*)(const char* store, const char* path, const PlimsollArrowPool* pool,
                                   char* text, int64_t bytes, char* error, int64_t error_bytes);

}  // extern "C"

namespace plimsoll {

// Names of the plugin's functions.
inline constexpr const char* kArrowOpen = "plimsoll_arrow_open";
inline constexpr const char* kArrowOpenCsv = "plimsoll_arrow_open_csv";
inline constexpr const char* kFindObject = "plimsoll_arrow_find_object";
inline constexpr const char* kListObjects = "plimsoll_arrow_list_objects";
inline constexpr const char* kReadObject = "plimsoll_arrow_read_object";

}  // namespace plimsoll
