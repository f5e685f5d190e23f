#pragma once

#include "nn/objective.h"

namespace plimsoll {

/// A student's objective whose teacher is in memory: it says what it thinks of each block, as it was read,
/// right before the student sees it. All that the teacher computes but its outputs is gone by then.
class LiveTeacher : public Objective {
 public:
  /// Both must outlive it. `teacher` predicts; it wants nothing of collate() that `student` does not want.
  LiveTeacher(const Objective& student, const Objective& teacher) : student_(student), teacher_(teacher) {}

  const ParameterList& parameters() const override { return student_.parameters(); }
  CollateOptions collate_options() const override { return student_.collate_options(); }
  /// batch.teacher is what the teacher says of the block's items: f32 [items, teacher.outputs()].
  void prepare(Batch& batch) const override;
  int64_t outputs() const override { return student_.outputs(); }
  at::Tensor forward(const Batch& batch, const DropoutKey& key) const override {
    return student_.forward(batch, key);
  }
  at::Tensor losses(const at::Tensor& outputs, const Batch& batch) const override {
    return student_.losses(outputs, batch);
  }

 private:
  const Objective& student_;
  const Objective& teacher_;
};

}  // namespace plimsoll
