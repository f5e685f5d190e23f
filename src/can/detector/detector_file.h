#pragma once

#include <optional>
#include <vector>

#include "can/detector/fusion.h"
#include "can/windows/windows.h"
#include "store/safetensors.h"

namespace plimsoll {

/// A score above which a window is called an attack, and the share of benign windows it was chosen for.
struct AlarmThreshold {
  double target_rate = 0;
  float level = 0;
};

/// What a detector's file says beside its weights (docs/formats/safetensors.md), as
/// src/can/tasks/detector_file.cc writes it.
struct DetectorFile {
  SafetensorsView file;
  WindowOptions windows;                   ///< that it was trained on
  LearnedBefore known;                     ///< vocabulary of its windows, and benign profile
  int64_t ids = 0;                         ///< rows of its embedding
  std::vector<std::string> without;        ///< features that it does not see
  bool unknown_ids_apart = false;          ///< can/profile/unknown_ids.h
  std::optional<Fusion> fusion;            ///< absent: its log-odds are the score
  std::vector<AlarmThreshold> thresholds;  ///< of its scores

  /// Errors: InputError that names the file and what is missing or wrong in it.
  explicit DetectorFile(const std::filesystem::path& path);

  /// Whether it does not know which ID a node is.
  bool hides_identity() const;
  /// The threshold of this rate of false alarms; the one of the least rate for 0. Errors: UsageError that
  /// names the rates there are.
  float threshold(double rate) const;

 private:
  void take_profiles_ids();
};

}  // namespace plimsoll
