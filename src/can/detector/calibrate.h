#pragma once

#include <cmath>
#include <filesystem>
#include <functional>
#include <vector>

#include "can/detector/detector_file.h"
#include "io/unsaved.h"

namespace plimsoll {

/// What a detector was calibrated on, and the result.
struct CalibrationResult {
  int64_t windows = 0;     ///< Number of benign windows from which profile and levels were learned.
  int64_t left_out = 0;    ///< Number of windows with frames labelled as attacks.
  double seconds = 0;      ///< Length of the traffic.
  int64_t ids = 0;         ///< Number of IDs that the profile knows.
  int64_t expected = 0;    ///< Number of IDs whose silence is noticed.
  Fusion::Line line = {};  ///< The level for alarms.
  Unsaved unsaved = {};    ///< The detector, if it could not be written.

  /// Number of alarms in these windows, each half compared with a profile of the other.
  int64_t alarms() const { return std::llround(line.realised_rate * static_cast<double>(windows)); }
};

/// Errors: InputError for a detector of other features than behaviour, UsageError for one that knows IDs by
/// index.
void require_calibratable(const DetectorFile& model);

/// Adapts a detector to the vehicle of `benign`, a `frames` set. The profile is learned from these frames
/// without those labelled 1, the levels of the fused score from the same windows, each half compared with a
/// profile of the other. Weights do not change. Writes `out`, which may be the model's file. `progress` is
/// called now and then. Errors: those of require_calibratable() and of `progress`; InputError (`benign`;
/// fewer windows than kMinCalibrationWindows plus twice the number that overlap with one), Failure (disk).
CalibrationResult calibrate_detector(
    const DetectorFile& model, const std::filesystem::path& benign, const std::filesystem::path& out,
    const std::function<void()>& progress = [] {});

/// Merges detectors of one model, each calibrated separately, into one that is calibrated on the traffic of
/// all (docs/detect.md#merging-calibrations). The result has the same bytes in any order.
/// Errors: InputError that names the file (not calibrated, or by an earlier version; of another model, or of
/// other channels).
CalibrationResult merge_detectors(const std::vector<std::filesystem::path>& models,
                                  const std::filesystem::path& out);

/// With fewer windows there is too little to learn levels from.
inline constexpr int64_t kMinCalibrationWindows = 20;

}  // namespace plimsoll
