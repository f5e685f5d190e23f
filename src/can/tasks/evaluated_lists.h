#pragma once

#include <optional>
#include <string>
#include <vector>

#include "can/tasks/evaluation.h"
#include "engine/data/split.h"

namespace plimsoll {

/// The graphs a detector is evaluated on: first the validation graphs of `split`, if the data are those it
/// was trained on, then every split that is not trained on, without recordings whose content is among
/// `trained_on`. `only` selects one list; on other data it may also be a training split; empty: all lists.
/// Errors: UsageError (no such list; names the existing ones), InputError (no list at all).
std::vector<EvaluatedList> lists_to_evaluate(const GraphSetTables& tables,
                                             const std::vector<std::string>& trained_on,
                                             const std::optional<TrainingSplit>& split,
                                             const std::string& only);

}  // namespace plimsoll
