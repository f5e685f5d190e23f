#pragma once

#include <functional>

#include "engine/plan/probes.h"

namespace plimsoll {

/// Makes probes like make_probes(), for samples that are trimmed to their hops. Passes them to `probe` one at
/// a time, because the large ones should not be in memory together. Errors: those of `probe`.
void visit_sample_probes(const Terms& highest, const RowWidths& widths, const CollateOptions& options,
                         const std::function<void(const Probe&)>& probe);

}  // namespace plimsoll
