#include "can/tasks/teacher_state.h"

#include "nn/classification.h"
#include "nn/encodings.h"

namespace plimsoll {
namespace {

std::unique_ptr<Objective> what_it_says(const Detector& teacher) {
  if (teacher.gat) return std::make_unique<Classification>(*teacher.gat);
  return std::make_unique<Encodings>(*teacher.vgae);
}

}  // namespace

TeacherState::TeacherState(CachedTeacher column) : column_(std::move(column)) {}

TeacherState::TeacherState(Detector teacher) : model_(std::move(teacher)), says_(what_it_says(model_)) {}

TeacherState::TeacherState(Detector teacher, std::function<void()> release,
                           std::span<const GraphShape> shapes, const TrainingSplit& split,
                           const TrainingSection& training)
    : TeacherState(std::move(teacher)) {
  batches_.emplace(*says_, std::move(release), shapes, split, training);
}

TeacherOutputs TeacherState::of() {
  return {.column = column_ ? &*column_ : nullptr,
          .live = batches_ ? nullptr : says_.get(),
          .batches = batches_ ? &*batches_ : nullptr};
}

}  // namespace plimsoll
