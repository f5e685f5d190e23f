#pragma once

#include <optional>
#include <vector>

#include "can/detector/fusion.h"
#include "can/windows/windows.h"
#include "store/safetensors.h"

namespace plimsoll {

/// The name of the file in the folder of a run to which the run's detector is copied.
inline constexpr const char* kDetectorFile = "detector.safetensors";

/// A score above which a window is called an attack, and the share of benign windows for which it was chosen.
struct AlarmThreshold {
  double target_rate = 0;
  float level = 0;
};

/// The contents of a detector's file except its weights (docs/formats/safetensors.md), as
/// src/can/tasks/detector_file.cc writes them.
struct DetectorFile {
  SafetensorsView file;              ///< The whole file, with the weights.
  WindowOptions windows;             ///< The windows that it was trained on.
  TrainedContext known;              ///< Vocabulary of its windows, and benign profile.
  int64_t ids = 0;                   ///< Number of rows of its embedding.
  std::vector<std::string> without;  ///< Features that are hidden from it.
  /// Whether unknown IDs count as separate evidence (can/profile/unknown_ids.h).
  bool unknown_ids_apart = false;
  std::optional<Fusion> fusion;            ///< If absent, the log-odds are the score.
  std::vector<AlarmThreshold> thresholds;  ///< Thresholds for its scores.

  /// Errors: InputError that names the file and what is missing or wrong in it; Failure; BudgetExceeded.
  explicit DetectorFile(const std::filesystem::path& path);

  /// Whether the model gets no input that identifies a node's ID.
  bool hides_identity() const;
  /// The threshold for this false-alarm rate; 0 selects the lowest rate. Errors: UsageError that lists the
  /// stored rates if this one is not among them; InputError if there are no thresholds.
  float threshold(double rate) const;

 private:
  void take_profiles_ids();
};

}  // namespace plimsoll
