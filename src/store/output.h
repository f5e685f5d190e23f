#pragma once

#include <filesystem>
#include <vector>

#include "base/json.h"
#include "io/replaceable.h"

namespace plimsoll {

/// Whether the output is there already, made of just that, so that there is nothing to do; never with
/// `force`. To be asked before the work. Errors: those of require_free() where something else is there.
bool is_made_already(const std::filesystem::path& out, bool force, const Json& provenance,
                     const std::vector<std::filesystem::path>& sources, const WillHold& will_hold = {});

}  // namespace plimsoll
