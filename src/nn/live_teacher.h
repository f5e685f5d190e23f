#pragma once

#include "nn/objective.h"

namespace plimsoll {

/// The objective of a student whose teacher is in memory. The teacher predicts each block right before the
/// student processes it. When the student starts, the outputs are the only tensors of the teacher's pass that
/// still exist.
class LiveTeacher : public Objective {
 public:
  /// `student` and `teacher` must outlive this object. `teacher` is an objective for prediction. Its
  /// collate_options() must not request anything that those of `student` do not.
  LiveTeacher(const Objective& student, const Objective& teacher) : student_(student), teacher_(teacher) {}

  const ParameterList& parameters() const override { return student_.parameters(); }
  CollateOptions collate_options() const override { return student_.collate_options(); }
  /// Sets batch.teacher to the teacher's outputs for the block's items, f32 [items, teacher.outputs()].
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
