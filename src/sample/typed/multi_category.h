#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "base/json.h"
#include "memory/vector.h"
#include "sample/typed/number_column.h"
#include "store/data_set.h"

namespace plimsoll {

/// Turns a column of lists of categories into numbers of a node. The values that occur in the most lists
/// known at the training cut, up to kMaxValues, each have a number, which is 1 if the list has the value,
/// otherwise 0. The next number is log(1 + n) for the n other items of the list, including items without a
/// value. A column with missing lists in the known rows also has an indicator, which is 1 for a missing list.
///
/// Construct it, call add_known() for each known row, then choose_values(). After that it is thread-safe.
/// Refers to mapped columns, which must outlive it.
class MultiCategory {
 public:
  static constexpr size_t kMaxValues = 64;

  /// `column` is an entry of `columns` in the manifest. Errors: InputError for a damaged column;
  /// BudgetExceeded.
  MultiCategory(const DataSetView& set, const Json& column, int64_t nodes);

  /// Counts the values in the list of a node that is known at the training cut. Errors: InputError for a
  /// damaged list.
  void add_known(int64_t node);
  /// Chooses the values that have a number. Call it once, after the last add_known(). Errors: BudgetExceeded.
  void choose_values();

  /// Numbers per node, and the number of values that have one. Both are known after choose_values().
  int64_t numbers() const { return values_ + 1 + (has_indicator_ ? 1 : 0); }
  int64_t values() const { return values_; }
  /// Number of values that occur in known rows.
  int64_t known_values() const { return known_; }
  /// Writes the numbers, [numbers()], and returns the place after them. Errors: InputError for a damaged
  /// list.
  float* write(int64_t node, float* to) const;

 private:
  bool is_missing(int64_t node) const { return !valid_.empty() && valid_[static_cast<size_t>(node)] == 0; }
  // Calls use(value) for each item of a list; -1 is an item without a value.
  template <typename Use>
  void each_item(int64_t node, const Use& use) const;

  std::string name_;
  NumberColumn items_;
  std::span<const int64_t> ptr_;
  std::span<const uint8_t> valid_;
  Vector<int64_t, Tag::columns>
      lists_;  // Number of known lists with each value; then the value's place or -1.
  Vector<int64_t, Tag::columns> latest_;  // The last node counted for each value, while values are counted.
  int64_t values_ = 0, known_ = 0;
  bool has_indicator_ = false;
};

}  // namespace plimsoll
