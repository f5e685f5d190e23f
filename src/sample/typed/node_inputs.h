#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/json.h"
#include "memory/vector.h"
#include "sample/typed/multi_category.h"
#include "sample/typed/number_column.h"
#include "store/data_set.h"

namespace plimsoll {

/// Numbers that describe a time relative to the time of the seed: sine and cosine of the days d from the time
/// to the seed for kTimeWaves wavelengths (the positional encoding of Vaswani et al., NeurIPS 2017, which
/// RelBench's models use), and log(1 + |d|) with the sign of d.
inline constexpr int64_t kTimeWaves = 8;
inline constexpr int64_t kTimeNumbers = 2 * kTimeWaves + 1;

/// The inputs of a model for the nodes of one type, made from their columns:
///
/// - numbers, booleans and vectors with mean 0 and deviation 1 over the rows that are known at the training
///   cut. A missing value becomes 0, which is the mean. A column with missing values in these rows also has
///   an indicator, which is 1 for a missing value, or for a vector in which one is missing;
/// - lists of categories as numbers that say which values a list has (MultiCategory);
/// - times, including the time of the node, relative to the time of the seed, and their hour, weekday and
///   month as codes. For a missing time all of these are 0;
/// - categories as codes, counted from 1 over the values that occur in rows known at the training cut. Code 0
///   stands for a value that is missing or does not occur in these rows.
///
/// Numbers and codes are in the order of this list, except that the codes of categories precede those of
/// times. Nodes without numbers have one number, which is 1, so that every node has an input.
///
/// Refers to mapped columns, which must outlive it. Thread-safe after its construction.
class NodeInputs {
 public:
  struct Options {
    int64_t cut = 0;                       ///< The training cut, in nanoseconds since 1970-01-01.
    std::vector<std::string> hidden = {};  ///< Columns that the task hides.
  };
  /// `type` is an entry of `node_types` in the manifest. `time` [nodes] has the times of the nodes in
  /// nanoseconds since 1970-01-01, or is empty. Errors: InputError for damaged columns, and for values too
  /// large to standardise; Json::exception for an entry that lacks a key; BudgetExceeded.
  NodeInputs(const DataSetView& set, const Json& type, std::span<const int64_t> time, const Options& options);

  /// Numbers per node.
  int64_t numbers() const { return numbers_; }
  /// Number of codes in each column of codes, including code 0.
  std::vector<int64_t> vocabularies() const;
  /// Columns that are not read, and values without a number of their own, each with the reason.
  const std::vector<std::string>& left_out() const { return left_out_; }

  /// Writes the numbers, [numbers()], and the codes of a node for a seed with this time, in nanoseconds since
  /// 1970-01-01. Code c is written to codes[c * stride]. Errors: InputError for a damaged list.
  void write(int64_t node, int64_t seed_time, float* numbers, int32_t* codes, int64_t stride) const;

 private:
  struct Number {
    NumberColumn column;
    int64_t width = 1;  // Numbers per node; above 1 for a vector.
    bool has_indicator = false;
    std::vector<double> mean, deviation;  // [width]
  };
  struct Time {
    NumberColumn column;
    double per_day = 0;  // Number of the column's time units per day.
    bool has_indicator = false;
  };
  struct Category {
    std::string name;
    NumberColumn column;
    // Returns the code of the vocabulary that a node has; negative if the value is missing. Errors:
    // InputError for one beyond the vocabulary.
    int64_t value_of(int64_t node) const;
    Vector<int32_t, Tag::columns> code;  // Code of each value of the vocabulary.
    int64_t codes = 1;
  };

  void add(const DataSetView& set, const Json& column);
  void add_list(const DataSetView& set, const Json& column);
  void add_time(const DataSetView& set, const std::string& column, const std::string& unit);
  void learn(Number& number, const std::string& name) const;
  void learn(Category& category) const;
  template <typename Use>
  void each_known(const Use& use) const;

  int64_t nodes_;
  std::span<const int64_t> time_;
  int64_t cut_;
  int64_t numbers_ = 0;
  bool is_constant_ = false;  // Whether nodes have no numbers of their own, only the constant 1.
  std::vector<Number> number_columns_;
  std::vector<MultiCategory> lists_;
  std::vector<Time> times_;
  std::vector<Category> categories_;
  std::vector<std::string> left_out_;
};

}  // namespace plimsoll
