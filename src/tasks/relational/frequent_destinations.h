#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "memory/vector.h"
#include "tasks/relational/relational_data.h"

namespace plimsoll {

/// Two rules of recommendation without a network, with which its figures are compared. Both read labels of
/// training seeds only:
///
/// - `constant` recommends the nodes that are most often targets, to every seed;
/// - `history` recommends the most frequent targets of the seed's own entity, then those of `constant`.
///
/// If nodes are equally frequent, the one with the lower number is first. Immutable, so any number of threads
/// may read it. It holds 8 bytes per target of a training seed, and 4 bytes per node of the type
/// TaskSeeds::destination().
class FrequentDestinations {
 public:
  /// `data` must outlive this object. Errors: InputError for data without training labels; those of
  /// TaskSeeds::destinations(); BudgetExceeded.
  explicit FrequentDestinations(const RelationalData& data);

  static std::vector<std::string> names() { return {kHistory, kConstant}; }
  /// Returns the recommendations of a rule for these seeds, the best first: [seeds, list_length()].
  Vector<uint32_t, Tag::columns> recommend(const std::string& name, const GraphList& seeds) const;
  /// Returns the maximum bytes that recommend() allocates for `seeds` seeds.
  int64_t bytes_for(int64_t seeds) const;

 private:
  static constexpr const char* kConstant = "constant";
  static constexpr const char* kHistory = "history";
  struct Target {
    uint32_t entity, node;
    auto operator<=>(const Target&) const = default;
  };
  struct Count {
    int64_t count;
    uint32_t node;
  };
  using Counts = Vector<Count, Tag::columns>;
  void count_own(int64_t entity, Counts& counts) const;

  const TaskSeeds& seeds_;
  Vector<Target, Tag::columns> targets_;     // Sorted.
  Vector<uint32_t, Tag::columns> constant_;  // All nodes, the most frequent first.
};

}  // namespace plimsoll
