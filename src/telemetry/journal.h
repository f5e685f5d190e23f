#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "base/json.h"
#include "io/file.h"

namespace plimsoll {

/// A file of JSON lines, one per event, each written immediately. Every line is complete: a line cut short by
/// a killed process or a full disk is removed. Not thread-safe.
class Journal {
 public:
  /// Opens the file; if it exists, removes what follows its last whole line and continues there. Errors:
  /// Failure.
  explicit Journal(const std::filesystem::path& path);
  /// Creates a journal that writes nothing, for ranks that write no files.
  Journal() = default;
  /// Adds {"time": seconds since 1970, "event": event, ...fields}; `fields` is an object or null. If an event
  /// cannot be written, it is lost and the work continues; later events are tried again. A message is printed
  /// to stderr the first time.
  void write(const std::string& event, const Json& fields);

 private:
  void append(const std::string& line);

  std::optional<File> file_;
  int64_t end_ = 0;  // End of the last whole line, in bytes.
  bool told_ = false;
};

}  // namespace plimsoll
