#pragma once

#include <filesystem>
#include <vector>

#include "base/json.h"
#include "io/replaceable.h"

namespace plimsoll {

/// Returns whether the output already exists with this provenance, so that there is nothing to do. Always
/// false with `force`. Call it before the work. Errors: those of find_existing(), and those of require_free()
/// if the result would be false.
bool is_made_already(const std::filesystem::path& out, bool force, const Json& provenance,
                     const std::vector<std::filesystem::path>& sources, const WillHold& will_hold = {});

}  // namespace plimsoll
