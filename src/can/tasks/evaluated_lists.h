#pragma once

#include <optional>
#include <string>
#include <vector>

#include "can/tasks/evaluation.h"
#include "engine/data/split.h"

namespace plimsoll {

/// The lists of graphs on which a detector is evaluated. If the data are those it was trained on, the first
/// are the validation graphs of `split` and the graphs of each attack that it left out. After them comes
/// every split that is not used for training, without recordings whose content is among `trained_on`. `only`
/// names one list, or on other data also a training split; empty: all lists. Throws UsageError, which names
/// the existing lists, if `only` names no list, and InputError if there are no lists.
std::vector<EvaluatedList> lists_to_evaluate(const GraphSetTables& tables,
                                             const std::vector<std::string>& trained_on,
                                             const std::optional<TrainingSplit>& split,
                                             const std::string& only);

}  // namespace plimsoll
