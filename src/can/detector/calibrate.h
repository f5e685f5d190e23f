#pragma once

#include <cmath>
#include <filesystem>
#include <functional>
#include <vector>

#include "can/detector/detector_file.h"
#include "io/unsaved.h"

namespace plimsoll {

/// What a detector was calibrated on, and what came of it.
struct CalibrationResult {
  int64_t windows = 0;     ///< benign ones, of which profile and levels were learned
  int64_t left_out = 0;    ///< windows with frames labelled as attacks
  double seconds = 0;      ///< of traffic
  int64_t ids = 0;         ///< that the profile knows
  int64_t expected = 0;    ///< whose silence is noticed
  Fusion::Line line = {};  ///< of alarms
  Unsaved unsaved = {};    ///< the detector, if it could not be written

  /// In these windows, each half compared with a profile of the other.
  int64_t alarms() const { return std::llround(line.realised_rate * static_cast<double>(windows)); }
};

/// Errors: InputError for a detector of other features than behaviour, UsageError for one that knows IDs by
/// index.
void require_calibratable(const DetectorFile& model);

/// Makes of a detector one for the vehicle of `benign`, a `frames` set: its profile is learned from these
/// frames, those labelled 1 left out, and the levels of its fused score from the same windows, each half
/// compared with a profile of the other. Weights stay. Writes `out`, which may be the model's file. Errors:
/// those of require_calibratable(), InputError (`benign`, fewer than kFewestCalibrationWindows, and twice
/// the windows that overlap with one), Failure (disk), and those of `progress`, which is called now and then.
CalibrationResult calibrate_detector(
    const DetectorFile& model, const std::filesystem::path& benign, const std::filesystem::path& out,
    const std::function<void()>& progress = [] {});

/// Makes of detectors of one model, each calibrated alone, one that was calibrated on the traffic of all
/// (docs/detect.md#drives-that-were-calibrated-apart): the same bytes in any order. Errors: InputError that
/// names the file (not calibrated, or by an earlier version; of another model, or of other channels).
CalibrationResult merge_detectors(const std::vector<std::filesystem::path>& models,
                                  const std::filesystem::path& out);

/// With fewer windows there is nothing to learn levels from.
inline constexpr int64_t kFewestCalibrationWindows = 20;

}  // namespace plimsoll
