#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "base/json.h"
#include "io/file.h"

namespace plimsoll {

/// A file of JSON lines, one per event, each written to the file at once. Every line is whole: a line cut
/// short by a killed process or a full disk is removed. Not thread-safe.
class Journal {
 public:
  /// Continues after the last whole line if the file exists. Errors: Failure.
  explicit Journal(const std::filesystem::path& path);
  /// A journal that keeps nothing, for ranks that write no files.
  Journal() = default;
  /// Adds {"time": seconds since 1970, "event": event, ...fields}. If an event cannot be written, stderr says
  /// so the first time, the work continues, and the next event is tried again.
  void write(const std::string& event, const Json& fields);

 private:
  void append(const std::string& line);

  std::optional<File> file_;
  int64_t end_ = 0;  // End of the last whole line, in bytes.
  bool told_ = false;
};

}  // namespace plimsoll
