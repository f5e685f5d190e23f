#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>

#include "ingest/text/line_reader.h"
#include "io/npy.h"
#include "memory/vector.h"

namespace plimsoll {

inline constexpr int64_t kMaxSetClasses = 65536;

/// What is to be learned of each point set, in their order: an array (.npy), or a text with a line a set and
/// commas between numbers. Not thread-safe. Errors of all: InputError with file and line or row.
class SetAnswers {
 public:
  /// Classes, -1 for none: whole numbers [sets].
  static SetAnswers classes(const std::filesystem::path& path) { return SetAnswers(path, true); }
  /// Numbers, f32 [sets] or [sets, width], NaN where unknown (a text says nan).
  static SetAnswers numbers(const std::filesystem::path& path) { return SetAnswers(path, false); }

  int64_t width() const { return width_; }
  /// Of the next set: its class, or its numbers into `row`. Errors: also where there is none left.
  int64_t next_class();
  void next_numbers(Vector<float, Tag::ingest>& row);
  /// When all sets were read. Errors: InputError where there is more.
  void require_end(int64_t sets);

 private:
  SetAnswers(const std::filesystem::path& path, bool whole);
  void read_line();

  std::string path_;
  int64_t width_ = 1;
  int64_t at_ = 0;
  NpyView array_;  // or
  std::unique_ptr<LineReader> lines_;
  std::optional<std::string_view> line_;  // the next one
};

}  // namespace plimsoll
