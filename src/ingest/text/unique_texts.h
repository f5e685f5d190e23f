#pragma once

#include <cstdint>
#include <deque>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

#include "io/file.h"
#include "memory/vector.h"

namespace plimsoll {

/// Collects texts and returns each once, in byte order, in bounded memory. It sorts them in runs on disk and
/// merges the runs, in several passes if there are many. In a run, each text is stored without the
/// prefix that it shares with the previous text. Not thread-safe. Errors: Failure (disk), BudgetExceeded.
class UniqueTexts {
 public:
  /// Runs are stored in `folder`, with `name` in their file names. Adding uses `memory` bytes, but at least
  /// 152 KiB. take() frees them before it merges runs, for which it uses about as many.
  UniqueTexts(std::filesystem::path folder, std::string name, int64_t memory, FileSystem& files);
  ~UniqueTexts();
  UniqueTexts(const UniqueTexts&) = delete;
  UniqueTexts& operator=(const UniqueTexts&) = delete;

  static constexpr size_t kLongest = 64 << 10;  ///< Maximum bytes of a text.
  /// Describes a valid text in messages. add() accepts an empty text, too, so callers must refuse it.
  static constexpr const char* kExpected = "a node ID, a text of 1 to 65536 bytes";

  /// Adds a text. Errors: InputError for more than kLongest bytes.
  void add(std::string_view text);
  /// Calls next() for each text, which is valid during the call, then removes the runs. Must be called once,
  /// after all texts have been added.
  void take(const std::function<void(std::string_view)>& next);

 private:
  class RunReader;
  struct Place {
    uint64_t begin8 = 0;  // The first eight bytes as a big-endian number, which is enough for most
                          // comparisons.
    uint32_t at = 0;
    uint32_t size = 0;
  };
  std::string_view text(const Place& place) const { return {bytes_.data() + place.at, place.size}; }
  void release();
  void sort();
  void spill();
  void merge(size_t count, const std::function<void(std::string_view)>& next);
  std::filesystem::path next_path();
  void remove_first(size_t count);

  std::filesystem::path folder_;
  std::string name_;
  FileSystem& files_;
  int64_t memory_;
  Vector<char, Tag::ingest> bytes_;
  Vector<Place, Tag::ingest> places_;    // Texts since the last run, without duplicates.
  Vector<uint32_t, Tag::ingest> slots_;  // Hash table of places_.
  size_t max_bytes_;
  size_t max_places_;
  std::deque<std::filesystem::path> runs_;
  int64_t named_ = 0;
};

}  // namespace plimsoll
