#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "memory/vector.h"

namespace plimsoll {

/// The variables of the affine functions: counts of a block, such as its nodes and edges. The first entry is
/// 1, for the constant.
using Terms = std::vector<int64_t>;

/// Affine functions of the same terms. Only coefficients that are not 0 are stored: a graph with many node
/// and edge types has hundreds of terms, but the size of a tensor depends on few of them. Any number of
/// threads may read it.
class AffineFunctions {
 public:
  /// Adds a function with one coefficient per term. Functions are numbered from 0 in the order in which they
  /// are added. Errors: BudgetExceeded.
  void add(std::span<const double> coefficients) {
    for (size_t term = 0; term < coefficients.size(); ++term)
      if (coefficients[term] != 0) parts_.push_back({coefficients[term], static_cast<uint32_t>(term)});
    ends_.push_back(static_cast<uint32_t>(parts_.size()));
  }

  /// Returns the value of a function. `terms` has one entry per coefficient of the function.
  double at(size_t function, const Terms& terms) const {
    double sum = 0;
    for (const Part& part : parts_of(function))
      sum += part.coefficient * static_cast<double>(terms[part.term]);
    return sum;
  }
  /// Returns the maximum of a function for any terms between `lowest` and `highest`.
  double max_within(size_t function, const Terms& lowest, const Terms& highest) const {
    double sum = 0;
    for (const Part& part : parts_of(function))
      sum += part.coefficient *
             static_cast<double>(part.coefficient > 0 ? highest[part.term] : lowest[part.term]);
    return sum;
  }

 private:
  struct Part {
    double coefficient;
    uint32_t term;
  };
  std::span<const Part> parts_of(size_t function) const {
    const size_t first = function == 0 ? 0 : ends_[function - 1];
    return std::span(parts_).subspan(first, ends_[function] - first);
  }

  Vector<Part, Tag::columns> parts_;
  Vector<uint32_t, Tag::columns> ends_;  // The end of each function in parts_.
};

}  // namespace plimsoll
