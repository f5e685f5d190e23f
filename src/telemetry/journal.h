#pragma once

#include <filesystem>
#include <fstream>
#include <string>

#include "base/json.h"

namespace plimsoll {

/// A file of JSON lines, one an event, written and flushed as they happen. Not thread-safe.
class Journal {
 public:
  explicit Journal(const std::filesystem::path& path);
  /// Adds {"time": seconds since 1970, "event": event, ...fields}.
  void write(const std::string& event, const Json& fields);

 private:
  std::ofstream file_;
};

}  // namespace plimsoll
