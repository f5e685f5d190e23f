#pragma once

#include <filesystem>
#include <memory>

#include "can/windows/windows.h"
#include "run/training_data.h"

namespace plimsoll {

/// How windows are made from a data set of frames.
struct WindowDataOptions {
  /// Vocabulary and profile of a trained model; absent ones are learned from the data.
  TrainedContext known = {};
  CalibrationFold fold = CalibrationFold::all;
  bool labels = false;  ///< Require labels: unlabelled frames would pass for benign.
};

/// Windows made on the fly from a data set of `frames`, as training uses them.
class WindowData : public TrainingData {
 public:
  /// Errors: those of TrainingData and open_windows(); InputError for a set that is not of frames, and for
  /// one without labels if they are required; UsageError for calibration of a model that sees `id_index`.
  WindowData(const std::filesystem::path& folder, const Recipe& recipe, WindowDataOptions options = {});

  const FramesView& frames() const { return *frames_; }
  /// The windows with all their features.
  const WindowSource& windows() const { return *windows_; }
  /// The model of benign traffic for DetectorFacts::benign: the profile of behaviour windows, and the timing
  /// rule of the training windows. Errors: those of TimingRule::learn().
  std::shared_ptr<const NamedTensors> benign(const TrainingSplit& split) const;
  /// Number of windows after a calibration window that are neither evaluated with its profile nor part of the
  /// other half: 0 with split.rule 1.
  int64_t calibration_gap() const { return calibration_gap_; }

 private:
  friend OpenedData open_window_data(const std::filesystem::path& folder, const Recipe& recipe,
                                     const MessageIds& vocabulary);
  struct Opened;
  WindowData(const std::filesystem::path& folder, const Recipe& recipe, Opened opened);
  static Opened open(const std::filesystem::path& folder, const Recipe& recipe, WindowDataOptions options);

  const FramesView* frames_;     // Owned by TrainingData.
  const WindowSource* windows_;  // Owned by TrainingData.
  int64_t calibration_gap_;
};

/// Opens a set for a task that only knows graphs (run/training_data.h:register_opener). `vocabulary` is that
/// of a trained model; an empty one is learned from the data. Errors: those of WindowData.
OpenedData open_window_data(const std::filesystem::path& folder, const Recipe& recipe,
                            const MessageIds& vocabulary);

}  // namespace plimsoll
