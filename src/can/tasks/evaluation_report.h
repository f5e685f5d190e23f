#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "can/tasks/evaluation.h"
#include "can/tasks/published.h"
#include "run/run_report.h"
#include "telemetry/markup.h"
#include "telemetry/report.h"

namespace plimsoll {

/// The page report.html for detectors (docs/formats/run.md). `published` may be null. `suspicious[s]` holds
/// drawings of the most suspicious windows of split s; `suspicious` may be empty. `calibration` is the
/// maximum number of benign windows that each recording was calibrated on; 0: none.
Markup evaluation_report(const Evaluation& evaluation, const Published* published, const RunRecord& run,
                         const std::vector<std::vector<Report::Figure>>& suspicious = {},
                         int64_t calibration = 0);

}  // namespace plimsoll
