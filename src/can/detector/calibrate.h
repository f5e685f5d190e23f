#pragma once

#include <cmath>
#include <filesystem>
#include <functional>
#include <vector>

#include "can/detector/detector_file.h"
#include "io/unsaved.h"

namespace plimsoll {

/// The traffic that a detector was calibrated on, and the result.
struct CalibrationResult {
  int64_t windows = 0;     ///< Number of benign windows from which profile and levels were learned.
  int64_t left_out = 0;    ///< Number of windows with frames labelled as attacks.
  double seconds = 0;      ///< Length of the traffic.
  int64_t ids = 0;         ///< Number of IDs that the profile knows.
  int64_t expected = 0;    ///< Number of IDs whose silence is detected.
  Fusion::Line line = {};  ///< The alarm level.
  Unsaved unsaved = {};    ///< The error with which writing the detector failed, if it did.

  /// Number of alarms in these windows, where each half is compared with a profile of the other half.
  int64_t alarms() const { return std::llround(line.realised_rate * static_cast<double>(windows)); }
};

/// Checks that the profile of a detector can be replaced or extended. Errors: InputError for a detector with
/// features other than behaviour, UsageError for one that identifies IDs by index.
void require_calibratable(const DetectorFile& model);

/// Adapts a detector to the vehicle of `benign`, a `frames` set. The profile is learned from the frames that
/// are not labelled 1. The levels of the fused score are learned from windows of the same frames, where each
/// half is compared with a profile of the other half. Weights do not change. Writes `out`, which may be the
/// model's file; if that fails, the result says so (CalibrationResult::unsaved). `progress` is called before
/// each window. Throws what require_calibratable() and `progress` throw; InputError if `benign` is damaged or
/// has fewer benign windows than kMinCalibrationWindows plus twice the number that overlap with one window;
/// and BudgetExceeded.
CalibrationResult calibrate_detector(
    const DetectorFile& model, const std::filesystem::path& benign, const std::filesystem::path& out,
    const std::function<void()>& progress = [] {});

/// Merges detectors of one model, each calibrated separately, into one that is calibrated on the traffic of
/// all of them (docs/detect.md#merging-calibrations). At least one is needed. The order of the files does not
/// change the bytes of the result, which is written as by calibrate_detector(). Throws InputError if a
/// detector is not calibrated, was calibrated by an earlier version, was made from another model, or is for
/// other channels; UsageError if two are the same calibration; what require_calibratable() throws; and
/// BudgetExceeded.
CalibrationResult merge_detectors(const std::vector<std::filesystem::path>& models,
                                  const std::filesystem::path& out);

/// Minimum number of windows from which levels can be learned.
inline constexpr int64_t kMinCalibrationWindows = 20;

}  // namespace plimsoll
