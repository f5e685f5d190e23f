#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "memory/vector.h"

namespace plimsoll {

inline constexpr int64_t kMostOneHot = 65536;  ///< places of one one-hot feature

/// What a data set in TU format says of one node, or of one edge.
struct TuRow {
  Vector<int32_t, Tag::ingest> labels;
  Vector<float, Tag::ingest> attributes;
};

/// The values that a column of labels has, 65536 at most.
class TuLabels {
 public:
  /// `where` the column is from, for error texts.
  explicit TuLabels(std::string where) : where_(std::move(where)) {}

  /// Errors: InputError for one value too many.
  void add(int32_t label);

  const std::string& where() const { return where_; }
  std::span<const int32_t> values() const { return values_; }  ///< each once, ascending
  /// The place of a label among the values, 0 .. C-1.
  int64_t rank(int32_t label) const;

 private:
  std::string where_;
  Vector<int32_t, Tag::ingest> values_;
};

/// Where attributes and one-hot labels stand in a row of features, as PyTorch Geometric's TUDataset has them:
/// attributes first, then each column of labels with one place for every number from its least to its
/// greatest value.
class TuFeatures {
 public:
  TuFeatures() = default;  ///< rows without features
  /// `attributes` are the places of those that are features. Errors: InputError for a column whose values
  /// span more than 65536 numbers.
  TuFeatures(std::vector<int64_t> attributes, std::span<const TuLabels> columns);

  int64_t width() const { return width_; }
  const std::vector<std::string>& names() const { return names_; }
  /// Adds a row's features to `out`, width() numbers. A row may have more than there is place for: labels
  /// without columns and attributes without places are left out.
  void add(std::span<const int32_t> labels, std::span<const float> attributes, float* out) const;

 private:
  struct Column {
    int64_t first;  // place of the least value
    int32_t least;
  };
  std::vector<int64_t> attributes_;
  int64_t width_ = 0;
  std::vector<Column> columns_;
  std::vector<std::string> names_;
};

}  // namespace plimsoll
