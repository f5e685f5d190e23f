#pragma once

#include <cstdint>
#include <string_view>

#include "memory/vector.h"

namespace plimsoll {

/// The distinct texts of a column, numbered in the order in which they first occur. Not thread-safe. Errors:
/// BudgetExceeded.
class TextVocabulary {
 public:
  /// Limits up to which a column of texts is a category unless the user says so.
  static constexpr int64_t kMaxTexts = 65536;
  static constexpr int64_t kMaxBytes = 4 << 20;

  /// Returns the number of a text, which is added if it is new.
  int32_t add(std::string_view text);
  /// Whether the texts exceed the limits. The answer does not depend on the order of the texts.
  bool exceeds_limits() const {
    return count() > kMaxTexts || static_cast<int64_t>(bytes_.size()) > kMaxBytes;
  }
  int64_t count() const { return static_cast<int64_t>(ends_.size()); }
  std::string_view text(int64_t number) const;
  /// Returns the numbers in the order of the bytes of their texts.
  Vector<int32_t, Tag::ingest> sorted() const;

 private:
  void grow();

  Vector<char, Tag::ingest> bytes_;
  Vector<int64_t, Tag::ingest> ends_;     // End of each text in bytes_.
  Vector<uint64_t, Tag::ingest> hashes_;  // [texts]
  Vector<int32_t, Tag::ingest> slots_;    // Hash table of numbers; -1 is empty.
};

}  // namespace plimsoll
