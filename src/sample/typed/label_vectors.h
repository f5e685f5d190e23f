#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/json.h"
#include "sample/typed/number_column.h"

namespace plimsoll {

/// The labels of one split of a task with several labels per seed. Each row has a 0 or 1 for every label.
/// They are stored as a column of vectors, or as lists of categories with the texts "0" and "1", which is how
/// tables of lists of whole numbers are ingested. Refers to mapped columns, which must outlive it.
/// Thread-safe.
class LabelVectors {
 public:
  /// `target` is the entry of the split's target in the manifest, `seeds` the number of its rows, and `place`
  /// names the split in messages. Errors: InputError for labels of another form; Json::exception if a key is
  /// missing.
  LabelVectors(const DataSetView& set, const Json& target, int64_t seeds, std::string place);

  /// Returns the number of labels of a row; 0 if they are missing. Errors: InputError for a damaged list.
  int64_t width(int64_t row) const;
  /// Writes the labels of a row: 0, 1, or NaN for one that is missing. All are NaN if the row has none.
  /// Errors: InputError for another number of labels, or another label.
  void write(int64_t row, std::span<float> labels) const;

 private:
  void read_lists(const DataSetView& set, const Json& target);
  double label(int64_t row, int64_t place) const;

  std::string place_;
  int64_t seeds_;
  NumberColumn values_;           // Labels, or codes if there are lists.
  std::span<const int64_t> ptr_;  // [seeds + 1] if there are lists.
  std::vector<double> of_code_;   // The label of each code.
};

}  // namespace plimsoll
