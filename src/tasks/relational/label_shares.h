#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "memory/vector.h"
#include "tasks/relational/relational_data.h"

namespace plimsoll {

/// Two rules without a network for a task of several labels, with which its figures are compared. Both read
/// labels of training seeds only:
///
/// - `constant` predicts the share of each label;
/// - `history` predicts the shares among the training seeds of the seed's own entity; for a label without a
///   known value among these, the share of `constant`.
///
/// Immutable, so any number of threads may read it. It holds 16 bytes per label and node of the entity's
/// type.
class LabelShares {
 public:
  /// `data` must outlive this object. Errors: those of TaskSeeds::write_targets(); BudgetExceeded.
  explicit LabelShares(const RelationalData& data);

  static std::vector<std::string> names() { return {kHistory, kConstant}; }
  /// Returns the share of each label minus 0.5, [seeds, labels], so that a label with a share above one half
  /// is above 0, like a logit. A label that is unknown in all training seeds has 0.
  Vector<float, Tag::columns> predict(const std::string& name, const GraphList& seeds) const;

 private:
  static constexpr const char* kConstant = "constant";
  static constexpr const char* kHistory = "history";
  struct Count {
    int64_t ones = 0, known = 0;
  };

  const TaskSeeds& seeds_;
  size_t labels_;
  std::vector<Count> all_;                 // [labels]
  Vector<Count, Tag::columns> of_entity_;  // [nodes, labels]
};

}  // namespace plimsoll
