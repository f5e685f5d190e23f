#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

#include "base/json.h"

namespace plimsoll {

/// Follows a journal that another process writes. Not thread-safe.
class JournalReader {
 public:
  explicit JournalReader(std::filesystem::path path) : path_(std::move(path)) {}

  /// Calls `take` for each event that was added since the last read(). Only whole lines are read, and lines
  /// that are not JSON objects are skipped. A missing journal has no events. A journal that has become
  /// shorter is read from its start.
  void read(const std::function<void(const Json& event)>& take);

 private:
  const std::filesystem::path path_;
  int64_t end_ = 0;  // End of the bytes read.
};

}  // namespace plimsoll
