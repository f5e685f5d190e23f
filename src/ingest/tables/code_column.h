#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "ingest/tables/column_files.h"
#include "ingest/tables/values.h"
#include "ingest/tables/vocabulary.h"

namespace plimsoll {

/// Writes the codes of the texts of a column, and their vocabulary. Unless `is_forced`, the column is dropped
/// if there are more texts than TextVocabulary allows, or if hardly any text occurs twice: if there are more
/// than 256 texts, and more than half as many texts as values. Not thread-safe. Errors of all members:
/// Failure (disk), BudgetExceeded.
class CodeColumn {
 public:
  /// `files` must outlive this object.
  CodeColumn(const ColumnFiles& files, bool is_forced);

  /// Whether the column was dropped and its file removed; values are then no longer added.
  bool is_dropped() const { return writer_ == nullptr; }
  /// Appends the code of each value, -1 for a missing one. Whole numbers are treated as texts. Not to be
  /// called once the column is dropped.
  void add(const Values& values);
  /// Completes the files, or drops them, and adds the vocabulary or the reason to `entry`, the column's entry
  /// in the manifest.
  void finish(Json& entry);

 private:
  void drop(std::string reason);
  int32_t code_of(const Values& values, size_t row);
  void write_vocabulary(const Vector<int32_t, Tag::ingest>& order);

  const ColumnFiles& files_;
  bool is_forced_;
  NpyWriter* writer_;
  TextVocabulary vocabulary_;
  int64_t there_ = 0;  // Number of values that are not missing.
  Vector<int32_t, Tag::ingest> codes_;
  std::string reason_;
};

}  // namespace plimsoll
