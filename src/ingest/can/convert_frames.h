#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>

#include "ingest/simulate/frame_text.h"

namespace plimsoll {

/// A `frames` set to captures as text, SPLIT/NAME.csv or .log, that `ingest can` reads back to the same
/// columns.
struct ConvertOptions {
  std::filesystem::path frames;
  std::filesystem::path out;
  TextFormat format = TextFormat::csv;
  bool force = false;
};

struct ConvertResult {
  int64_t recordings = 0;
  int64_t frames = 0;
  bool labels = false;  ///< of candump: a label stands behind each frame
  bool fd = false;      ///< read back with --payload 64
};

/// Writes all recordings; `progress` gets frames done and in all. Errors: InputError that names the recording
/// where the text cannot tell what it holds (no times, no payload, in csv remote, error and unlabelled
/// frames, in candump recordings with labels beside such without); Failure, BudgetExceeded. The output is
/// then as it was.
ConvertResult convert_frames(const ConvertOptions& options,
                             const std::function<void(int64_t, int64_t)>& progress);

}  // namespace plimsoll
