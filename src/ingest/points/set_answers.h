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

/// Maximum number of classes of point sets.
inline constexpr int64_t kMaxSetClasses = 65536;

/// The labels or targets of point sets, in the order of the sets: an array (.npy), or a text with one line
/// per set and commas between numbers. Not thread-safe. Errors of all functions: InputError with file and
/// line or row; Failure; BudgetExceeded.
class SetAnswers {
 public:
  /// Opens classes: whole numbers [sets], -1 for no class; an array is of i64, i32, u32 or u8.
  static SetAnswers classes(const std::filesystem::path& path) { return SetAnswers(path, true); }
  /// Opens targets: f32 [sets] or [sets, width], NaN if unknown (nan in a text).
  static SetAnswers numbers(const std::filesystem::path& path) { return SetAnswers(path, false); }

  /// Number of targets per set; 1 for classes.
  int64_t width() const { return width_; }
  /// next_class() returns the class of the next set; next_numbers() replaces `row` with its targets, [width].
  /// Errors: also InputError after the last set.
  int64_t next_class();
  void next_numbers(Vector<float, Tag::ingest>& row);
  /// Must be called after all sets have been read, with their number. Errors: InputError if there are more
  /// rows than sets.
  void require_end(int64_t sets);

 private:
  SetAnswers(const std::filesystem::path& path, bool whole);
  void read_line();

  std::string path_;
  int64_t width_ = 1;
  int64_t at_ = 0;
  NpyView array_;  // Used only if lines_ is null.
  std::unique_ptr<LineReader> lines_;
  std::optional<std::string_view> line_;  // The next line.
};

}  // namespace plimsoll
