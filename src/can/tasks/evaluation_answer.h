#pragma once

#include <string>

#include "can/tasks/evaluation.h"

namespace plimsoll {

/// An evaluation in two sentences: what the deployed detector (find_deployed(), otherwise the first model)
/// finds over all splits and how often it raises false alarms, and its F1 next to that of the best simple
/// rule.
struct EvaluationAnswer {
  std::string text;  ///< Empty if no split has both classes.
  /// The split where the model's F1 is lowest, in the evaluation given; null if `text` is empty.
  const EvaluatedSplit* hardest = nullptr;
};

/// Summarises the splits other than validation, or validation if there is no other. Metrics are means over
/// seeds, at each detector's lowest rate.
EvaluationAnswer answer_of(const Evaluation& evaluation);

}  // namespace plimsoll
