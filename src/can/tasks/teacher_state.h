#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "can/tasks/detector_file.h"
#include "engine/fit/teacher_outputs.h"

namespace plimsoll {

/// The form in which a student's stage keeps its teacher: a column of the teacher's outputs, or the teacher's
/// model, which is evaluated while the student is trained. A GAT provides its Classification, an autoencoder
/// its Encodings.
class TeacherState {
 public:
  /// For cached outputs.
  explicit TeacherState(CachedTeacher column);
  /// For a live teacher.
  explicit TeacherState(Detector teacher);
  /// For an offloaded teacher of a student that is trained on this split; other parameters are as for
  /// OffloadedTeacher.
  TeacherState(Detector teacher, std::function<void()> release, std::span<const GraphShape> shapes,
               const TrainingSplit& split, const TrainingSection& training);
  TeacherState(const TeacherState&) = delete;
  TeacherState& operator=(const TeacherState&) = delete;

  /// The outputs, in the form of a stage's options. They are valid as long as this object.
  TeacherOutputs outputs();

 private:
  std::optional<CachedTeacher> column_;
  Detector model_;
  std::unique_ptr<Objective> objective_;
  std::optional<OffloadedTeacher> batches_;
};

}  // namespace plimsoll
