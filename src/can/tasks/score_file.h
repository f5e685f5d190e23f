#pragma once

#include <filesystem>
#include <span>

#include "can/tasks/evaluation.h"

namespace plimsoll {

/// Writes the scores of all graphs on the lists as CSV, one line per graph and detector: split, recording,
/// window (its place in the recording), label, detector, seed, score. The file is replaced as a whole, after
/// the last line was written. Errors: Failure.
void write_scores(const std::filesystem::path& path, const EvaluatedData& data,
                  std::span<const EvaluatedList> lists, std::span<const DetectorScores> detectors);

}  // namespace plimsoll
