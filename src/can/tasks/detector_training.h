#pragma once

#include <optional>
#include <string>
#include <vector>

#include "can/tasks/detector_file.h"
#include "can/tasks/window_data.h"
#include "engine/data/split.h"
#include "run/task.h"

namespace plimsoll {

/// What tasks that train detectors of attacks have in common: windows of frames, labelled, and how they are
/// split.
class DetectorTraining : public Training {
 public:
  /// Errors: as Task::open().
  explicit DetectorTraining(TrainingInput input);

  const TrainingData& data() const override { return *data_; }
  std::string trained_on() const override;
  const TrainedStage* finish(const std::vector<TrainedStage>& stages, const RunFolder& folder,
                             const RunOptions& run) override;

 protected:
  /// The stage whose detector the run is about, or null.
  virtual const TrainedStage* chosen(const std::vector<TrainedStage>& stages) const {
    return &stages.front();
  }
  /// Whether the detector of a stage has a fused score.
  virtual bool is_fused(const std::string& stage) const = 0;

  /// What goes into the file of every detector.
  DetectorFacts facts() const;

  const TrainingInput input_;
  std::optional<WindowData> data_;
  Vector<GraphShape, Tag::columns> shapes_;
  TrainingSplit split_;
};

/// A task whose runs are judged as detectors are.
class DetectorTask : public Task {
 public:
  Findings evaluate(const RunEvaluation& asked) const override;
  int64_t predict(const PredictionRequest& request) const override;
};

/// What windows are made with of a detector that was trained.
LearnedBefore known_of(const DetectorFacts& facts);

/// The windows of a detector's data and how they are split. Errors: UsageError where the recipe's task is not
/// one for this data.
TrainingSplit detection_split(const Recipe& recipe, const WindowData& data);

}  // namespace plimsoll
