#pragma once

#include <optional>
#include <string>
#include <vector>

#include "can/tasks/evaluation.h"
#include "engine/data/split.h"

namespace plimsoll {

/// The graphs a detector is judged on: those of `split`'s validation first, where the data are those that
/// trained, then every split that does not train, without recordings whose content is among `trained_on`.
/// `only` names one list, of other data also a split that would train; empty: all. Errors: UsageError (no
/// such list, with those there are), InputError (none at all).
std::vector<JudgedList> lists_to_judge(const GraphSetTables& tables,
                                       const std::vector<std::string>& trained_on,
                                       const std::optional<TrainingSplit>& split, const std::string& only);

}  // namespace plimsoll
