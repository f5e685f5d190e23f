#pragma once

#include <string>

#include "can/tasks/evaluation.h"
#include "can/tasks/evaluation_summary.h"
#include "can/tasks/published.h"

namespace plimsoll {

/// The text tables, about 120 columns wide: for each split the metrics of every detector, next to published
/// metrics if `published` is not null; F1 by attack at the strictest threshold; and the thresholds.
std::string evaluation_table(const Evaluation& evaluation, const Published* published);

/// A title such as "test_01: 3,994 windows, 1,928 with attacks", with the number of windows of published
/// metrics if that differs.
std::string title_of(const EvaluatedGroup& group, const Published* published);
/// Formats a metric: "0.9987", "0.999±0.001" over seeds, "-" if undefined.
std::string figure_cell(const std::optional<Spread>& spread);
/// Formats false alarms per hour of benign traffic: "1.3".
std::string hourly_cell(const DetectorSummary& summary);
/// Formats the detection delay: "61.2 ms", "112 frames" without times, "-" if nothing was detected.
std::string delay_cell(const DetectorSummary& summary);
/// Formats "1 of 9", the recordings with attacks in which nothing was flagged; "-" if no recording has
/// attacks.
std::string missed_cell(const DetectorSummary& summary);

}  // namespace plimsoll
