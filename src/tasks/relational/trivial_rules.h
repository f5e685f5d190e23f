#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "memory/vector.h"
#include "tasks/relational/relational_data.h"

namespace plimsoll {

/// Two rules without a network, with which its figures are compared. Both read labels of training seeds only:
///
/// - `constant` predicts the same for every seed: the shares of the classes, or the median label of a
///   regression, the constant with the smallest mean absolute error;
/// - `history` predicts the mean of the training labels of the seed's own entity; `constant` for an entity
///   without any. A task with more than two classes does not have it.
///
/// Immutable, so any number of threads may read it. With `history` it holds 16 bytes per node of the entity's
/// type.
class TrivialRules {
 public:
  /// `classes` is 0 for a regression. `data` must outlive this object. Errors: InputError for data without
  /// training labels, and for a training label that is not a class below `classes`; BudgetExceeded.
  TrivialRules(const RelationalData& data, int64_t classes);

  /// The names of the rules that the task has.
  std::vector<std::string> names() const;
  /// Returns the predictions of a rule in names() for these seeds: probabilities, [seeds, classes], one row
  /// after the other, or values, [seeds].
  Vector<float, Tag::columns> predict(const std::string& name, const GraphList& seeds) const;

 private:
  struct Labels {
    double sum = 0;
    int64_t count = 0;
  };
  bool has_history() const { return !of_entity_.empty(); }

  const TaskSeeds& seeds_;
  int64_t classes_;
  std::vector<float> constant_;             // [classes], or the median.
  Vector<Labels, Tag::columns> of_entity_;  // By node of the entity's type; empty without the rule `history`.
};

/// Returns a sentence if a rule's figure is as good as the network's, or better; otherwise nothing.
/// `is_error` says that small figures are good. An undefined figure is not compared.
std::optional<std::string> unbeaten_rule(const std::string& split, const std::string& figure, bool is_error,
                                         std::optional<double> network, const std::string& rule,
                                         std::optional<double> found);

}  // namespace plimsoll
