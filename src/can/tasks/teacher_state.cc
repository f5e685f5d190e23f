#include "can/tasks/teacher_state.h"

#include "nn/classification.h"
#include "nn/encodings.h"

namespace plimsoll {
namespace {

std::unique_ptr<Objective> objective_of(const Detector& teacher) {
  if (teacher.gat) return std::make_unique<Classification>(*teacher.gat);
  return std::make_unique<Encodings>(*teacher.vgae);
}

}  // namespace

TeacherState::TeacherState(CachedTeacher column) : column_(std::move(column)) {}

TeacherState::TeacherState(Detector teacher) : model_(std::move(teacher)), objective_(objective_of(model_)) {}

TeacherState::TeacherState(Detector teacher, std::function<void()> release,
                           std::span<const GraphShape> shapes, const TrainingSplit& split,
                           const TrainingSection& training)
    : TeacherState(std::move(teacher)) {
  batches_.emplace(*objective_, std::move(release), shapes, split, training);
}

TeacherOutputs TeacherState::outputs() {
  return {.column = column_ ? &*column_ : nullptr,
          .live = batches_ ? nullptr : objective_.get(),
          .batches = batches_ ? &*batches_ : nullptr};
}

}  // namespace plimsoll
