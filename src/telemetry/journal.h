#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "base/json.h"
#include "io/file.h"

namespace plimsoll {

/// A file of JSON lines, one an event, each in the file as soon as it is written. Every line is whole: one
/// that a killed process or a full disk cut short is taken away. Not thread-safe.
class Journal {
 public:
  /// Goes on after the last whole line, if the file is there. Errors: Failure.
  explicit Journal(const std::filesystem::path& path);
  /// One that keeps nothing: of a rank that writes no files.
  Journal() = default;
  /// Adds {"time": seconds since 1970, "event": event, ...fields}. An event that cannot be written ends
  /// nothing: stderr is told the first time, and the next one is tried again.
  void write(const std::string& event, const Json& fields);

 private:
  void append(const std::string& line);

  std::optional<File> file_;
  int64_t end_ = 0;  // of the last whole line, in bytes
  bool told_ = false;
};

}  // namespace plimsoll
