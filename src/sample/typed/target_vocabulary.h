#pragma once

#include <string>
#include <string_view>

#include "base/json.h"
#include "memory/vector.h"
#include "store/data_set.h"

namespace plimsoll {

/// The texts of the codes of a task's targets, in the order of their bytes. They refer to mapped columns.
using TargetVocabulary = Vector<std::string_view, Tag::columns>;

/// Returns the texts of the codes of a task's targets. `target` is their entry in the manifest, and `place`
/// names them in messages. Errors: InputError for a damaged vocabulary; BudgetExceeded.
TargetVocabulary target_vocabulary(const DataSetView& set, const Json& target, const std::string& place);

}  // namespace plimsoll
