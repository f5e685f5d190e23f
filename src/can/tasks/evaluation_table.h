#pragma once

#include <string>

#include "can/tasks/evaluation.h"
#include "can/tasks/evaluation_summary.h"
#include "can/tasks/published.h"

namespace plimsoll {

/// The tables for people, about 120 columns wide: for each split what every detector comes to, published
/// figures beside it where `published` is not null, and F1 by attack at the strictest threshold.
std::string evaluation_table(const Evaluation& evaluation, const Published* published);

/// "test_01: 3,994 windows, 1,928 with attacks", and how many windows published figures are of where that
/// differs.
std::string title_of(const JudgedGroup& group, const Published* published);
/// "0.9987", "0.999±0.001" over seeds, "-" where undefined.
std::string figure_cell(const std::optional<Spread>& spread);
/// "61.2 ms", "112 frames" where there are no times, "-".
/// "1.3", false alarms an hour of benign traffic.
std::string hourly_cell(const DetectorSummary& summary);
std::string delay_cell(const DetectorSummary& summary);
/// "1 of 9": recordings with attacks in which nothing was flagged; "-" without such recordings.
std::string missed_cell(const DetectorSummary& summary);

}  // namespace plimsoll
