#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "can/tasks/detector_file.h"
#include "engine/fit/teacher_outputs.h"

namespace plimsoll {

/// What a student's stage keeps of its teacher: a column of what it said, or its model, which is asked while
/// the student trains. A GAT says its Classification, an autoencoder its Encodings.
class TeacherState {
 public:
  /// cached
  explicit TeacherState(CachedTeacher column);
  /// live
  explicit TeacherState(Detector teacher);
  /// offload, for the student of this split; the rest as OffloadedTeacher.
  TeacherState(Detector teacher, std::function<void()> release, std::span<const GraphShape> shapes,
               const TrainingSplit& split, const Recipe::Training& training);
  TeacherState(const TeacherState&) = delete;
  TeacherState& operator=(const TeacherState&) = delete;

  TeacherOutputs of();

 private:
  std::optional<CachedTeacher> column_;
  Detector model_;
  std::unique_ptr<Objective> says_;
  std::optional<OffloadedTeacher> batches_;
};

}  // namespace plimsoll
