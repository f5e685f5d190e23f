#pragma once

#include "nn/classification.h"

namespace plimsoll {

/// Trains a classifier of graphs on labels and on a teacher's logits, batch.teacher f32 [G, classes] (Hinton
/// et al., "Distilling the Knowledge in a Neural Network", 2015). The loss of a graph is
///
/// alpha T^2 KL(softmax(teacher / T) || softmax(student / T)) + (1 - alpha) cross-entropy
///
/// Outputs are the student's logits. Errors of losses(): Failure if the teacher's outputs are missing or have
/// another shape.
class GatDistillation : public Objective {
 public:
  /// `student` must outlive this object.
  GatDistillation(const GraphModel& student, double temperature, double alpha)
      : student_(student), temperature_(temperature), alpha_(alpha) {}

  const ParameterList& parameters() const override { return student_.parameters(); }
  CollateOptions collate_options() const override { return student_.collate_options(); }
  int64_t outputs() const override { return student_.outputs(); }
  at::Tensor forward(const Batch& batch, const DropoutKey& key) const override {
    return student_.forward(batch, key);
  }
  at::Tensor losses(const at::Tensor& logits, const Batch& batch) const override;

 private:
  Classification student_;
  double temperature_;
  double alpha_;
};

}  // namespace plimsoll
