#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

#include "can/windows/windows.h"
#include "store/shard.h"

namespace plimsoll {

/// Options of make_windows_set(), which makes a `graph_set` of the windows of frames (`plimsoll windows`).
struct WindowsSetOptions {
  std::filesystem::path frames = {};
  std::filesystem::path out = {};
  bool force = false;  ///< Replace an existing output.
  WindowOptions windows = {};
  Shard shard = {};  ///< The graphs to write.
  int threads = 1;

  /// Sets window, stride and unit of `windows` from two lengths such as "100" or "50ms"; an empty stride
  /// means 100 frames, or the window's length if that is a time. Throws UsageError if a length cannot be
  /// parsed, or if one is in frames and the other in time.
  void set_lengths(const std::string& window, const std::string& stride);
};

struct WindowsSetResult {
  bool already_there = false;  ///< The output was up to date, so nothing was done.
  int64_t graphs = 0;          ///< Number of graphs of the output.
};

/// Opens the windows of a `frames` set and writes their graphs, unless the output was made from the same set
/// with the same options. `progress` is as for write_graph_set(). Errors: those of open_windows() and
/// write_graph_set(), and InputError for a damaged set. On an error the output is unchanged.
WindowsSetResult make_windows_set(WindowsSetOptions options,
                                  const std::function<void(int64_t, int64_t)>& progress);

}  // namespace plimsoll
