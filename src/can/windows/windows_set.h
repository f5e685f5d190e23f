#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

#include "can/windows/windows.h"
#include "store/shard.h"

namespace plimsoll {

/// Frames to a `graph_set` of their windows: what `plimsoll windows` does.
struct WindowsSetOptions {
  std::filesystem::path frames = {};
  std::filesystem::path out = {};
  bool force = false;  ///< replace an existing output
  WindowOptions windows = {};
  Shard shard = {};  ///< which of the graphs
  int threads = 1;

  /// Takes window and stride as they are written ("100", "50ms"); a stride "" is 100 frames, or the window
  /// where that is time. Errors: UsageError (not understood, or one in frames and the other in time).
  void set_lengths(const std::string& window, const std::string& stride);
};

struct WindowsSetResult {
  bool already_there = false;  ///< the output held just this: nothing was done
  int64_t graphs = 0;
};

/// `progress` gets graphs done and in all. Errors: those of open_windows, Failure (disk; the output exists),
/// BudgetExceeded; the output is then as it was.
WindowsSetResult make_windows_set(WindowsSetOptions options,
                                  const std::function<void(int64_t, int64_t)>& progress);

}  // namespace plimsoll
