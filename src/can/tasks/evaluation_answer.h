#pragma once

#include <string>

#include "can/tasks/evaluation.h"

namespace plimsoll {

/// An evaluation in two sentences: what the detector in use (find_deployed(); otherwise the first model)
/// finds and how often it is wrong, split by split, and what the best simple rule achieves on the same
/// windows.
struct EvaluationAnswer {
  std::string text;  ///< Empty if no split has both classes.
  /// The split where the model's F1 is lowest; points into the evaluation.
  const EvaluatedSplit* hardest = nullptr;
};

/// Summarises the splits other than validation, or validation if there is no other. Metrics are means over
/// seeds, at each detector's lowest rate.
EvaluationAnswer answer_of(const Evaluation& evaluation);

}  // namespace plimsoll
