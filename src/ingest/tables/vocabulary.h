#pragma once

#include <cstdint>
#include <string_view>

#include "memory/vector.h"

namespace plimsoll {

/// The distinct texts of a column, numbered in the order in which they first occur. Not thread-safe. Errors:
/// BudgetExceeded.
class TextVocabulary {
 public:
  /// A column of texts is a category up to these limits, or if the user declares it to be one.
  static constexpr int64_t kMaxTexts = 65536;
  static constexpr int64_t kMaxBytes = 4 << 20;

  /// Returns the index of a text. A new text is added.
  int32_t add(std::string_view text);
  /// Whether the texts exceed the limits. The answer does not depend on the order of the texts.
  bool exceeds_limits() const {
    return count() > kMaxTexts || static_cast<int64_t>(bytes_.size()) > kMaxBytes;
  }
  int64_t count() const { return static_cast<int64_t>(ends_.size()); }
  /// Returns a text, as a view that is valid until the next add().
  std::string_view text(int64_t number) const;
  /// Returns the indices of the texts, sorted by the bytes of the texts.
  Vector<int32_t, Tag::ingest> sorted() const;

 private:
  void grow();

  Vector<char, Tag::ingest> bytes_;
  Vector<int64_t, Tag::ingest> ends_;     // End of each text in bytes_.
  Vector<uint64_t, Tag::ingest> hashes_;  // [texts]
  Vector<int32_t, Tag::ingest> slots_;    // Hash table of indices; -1 marks an empty slot.
};

}  // namespace plimsoll
