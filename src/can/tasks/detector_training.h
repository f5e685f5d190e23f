#pragma once

#include <optional>
#include <string>
#include <vector>

#include "can/detector/detector_file.h"
#include "can/tasks/detector_file.h"
#include "can/tasks/window_data.h"
#include "engine/data/split.h"
#include "run/task.h"

namespace plimsoll {

/// The common part of the tasks that train detectors of attacks: labelled windows of frames, and their split.
class DetectorTraining : public Training {
 public:
  /// Errors: those of Task::open().
  explicit DetectorTraining(RunRequest request);

  const TrainingData& data() const override { return *data_; }
  std::string trained_on() const override;
  /// Adds the fused score to the detectors that have one (learn_fusion()), and copies the chosen detector to
  /// copy_of_result(). Frees the split and the sizes of the graphs, so no stage can run after it.
  /// Errors: Failure if the copy cannot be written, and those of learn_fusion().
  const TrainedStage* finish(const std::vector<TrainedStage>& stages, const RunFolder& folder,
                             const RunOptions& run) override;
  std::filesystem::path copy_of_result(const RunFolder& folder) const override {
    return folder.root / kDetectorFile;
  }

 protected:
  /// The stage whose detector is the run's result, or null.
  virtual const TrainedStage* chosen(const std::vector<TrainedStage>& stages) const {
    return &stages.front();
  }
  /// Whether the detector of a stage has a fused score.
  virtual bool is_fused(const std::string& stage) const = 0;

  /// The contents of every detector's file except the weights and thresholds. Reads the training frames.
  DetectorFacts facts() const;

  const RunRequest request_;
  std::optional<WindowData> data_;
  Vector<GraphShape, Tag::columns> shapes_;
  TrainingSplit split_;
};

/// A task whose runs are evaluated as detectors.
class DetectorTask : public Task {
 public:
  bool has_one_model() const override { return false; }
  EvaluationResult evaluate(const RunEvaluation& options) const override;
  int64_t predict(const PredictionRequest& request) const override;
};

/// The vocabulary and profile with which a trained detector's windows are made. facts.benign must not be
/// null. Errors: those of BehaviourProfile::from_tensors().
TrainedContext known_of(const DetectorFacts& facts);

/// Returns the split of a detector's windows. Errors: those of split_for(); UsageError if the recipe's split
/// is not by time or recording.
TrainingSplit detection_split(const Recipe& recipe, const WindowData& data);

}  // namespace plimsoll
