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

  /// Gives the events that have come since the last call, whole lines alone; those that are no JSON objects
  /// are passed over. A journal that is missing has none; one that got shorter is read from its start.
  void read(const std::function<void(const Json& event)>& take);

 private:
  const std::filesystem::path path_;
  int64_t end_ = 0;  // of what was read, in bytes
};

}  // namespace plimsoll
