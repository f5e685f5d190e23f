#pragma once

#include <functional>

#include "engine/plan/probes.h"

namespace plimsoll {

/// As make_probes(), for samples that are trimmed to their hops: gives each to `probe`, one at a time, for
/// the few that are large would else stand in memory together. Errors: those of `probe`.
void visit_sample_probes(const Terms& highest, const RowWidths& widths, const CollateOptions& options,
                         const std::function<void(const Probe&)>& probe);

}  // namespace plimsoll
