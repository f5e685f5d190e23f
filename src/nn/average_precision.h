#pragma once

#include <algorithm>
#include <cstdint>

namespace plimsoll {

/// The average precision of a list of recommendations, as RelBench defines MAP@k (relbench.metrics.map): the
/// sum, over the entries that are targets, of the precision of the list up to that entry, divided by
/// min(targets, k). `k` is the length of the list; `targets`, at least 1, is the number of targets, with
/// repetitions; is_target(i) is whether entry i of the list is a target.
template <typename IsTarget>
double average_precision(int64_t k, int64_t targets, const IsTarget& is_target) {
  double sum = 0;
  int64_t hits = 0;
  for (int64_t i = 0; i < k; ++i)
    if (is_target(i)) sum += static_cast<double>(++hits) / static_cast<double>(i + 1);
  return sum / static_cast<double>(std::min(targets, k));
}

}  // namespace plimsoll
