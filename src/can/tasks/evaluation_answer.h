#pragma once

#include <string>

#include "can/tasks/evaluation.h"

namespace plimsoll {

/// An evaluation in two sentences: what the detector in use (find_deployed(); else the first model) finds and
/// how often it is wrong, split by split, and what the best simple rule does on the same windows.
struct EvaluationAnswer {
  std::string text;                      ///< empty where no split has both classes
  const JudgedSplit* hardest = nullptr;  ///< where the model's F1 is lowest; of the evaluation
};

/// Of the splits that are no validation, where there are any. Figures are means over seeds, at each
/// detector's lowest rate.
EvaluationAnswer answer_of(const Evaluation& evaluation);

}  // namespace plimsoll
