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

  /// Passes the events that were added since the last call to `take`, whole lines only. Lines that are not
  /// JSON objects are skipped. A missing journal has no events; one that became shorter is read from its
  /// start.
  void read(const std::function<void(const Json& event)>& take);

 private:
  const std::filesystem::path path_;
  int64_t end_ = 0;  // End of the bytes read.
};

}  // namespace plimsoll
