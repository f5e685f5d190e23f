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

  /// Parses the lengths of window and stride, such as "100" or "50ms"; an empty stride means 100 frames, or
  /// the window's length if that is a time. Throws UsageError if a length cannot be parsed, or if one is in
  /// frames and the other in time.
  void set_lengths(const std::string& window, const std::string& stride);
};

struct WindowsSetResult {
  bool already_there = false;  ///< The output was up to date, so nothing was done.
  int64_t graphs = 0;
};

/// `progress` gets the number of graphs written and the total. Throws what open_windows() throws, Failure if
/// the disk cannot be used or the output exists, and BudgetExceeded; the output is then unchanged.
WindowsSetResult make_windows_set(WindowsSetOptions options,
                                  const std::function<void(int64_t, int64_t)>& progress);

}  // namespace plimsoll
