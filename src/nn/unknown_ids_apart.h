#pragma once

#include "nn/objective.h"

namespace plimsoll {

/// What a classifier trained with ID dropout (nn/id_dropout.h) says, with unknown IDs as evidence of their
/// own: a graph that holds an ID that is not known, though its vehicle is (more than a fifth of its IDs are
/// known), has kEvidence added to its log-odds of class 1. For prediction: outputs are logits f32 [G, 2].
class UnknownIdsApart : public Objective {
 public:
  /// Above what a classifier says in one way or the other.
  static constexpr float kEvidence = 100.0F;
  /// Of the IDs of a graph: the others of a known vehicle; ID dropout makes graphs that have fewer.
  static constexpr double kLeastKnown = 0.2;

  /// `classifier` must outlive it; x[:, 0] of an unknown ID is `unknown`.
  UnknownIdsApart(const Objective& classifier, int64_t unknown)
      : classifier_(classifier), unknown_(unknown) {}

  const ParameterList& parameters() const override { return classifier_.parameters(); }
  CollateOptions collate_options() const override { return classifier_.collate_options(); }
  int64_t outputs() const override { return classifier_.outputs(); }
  at::Tensor forward(const Batch& batch, const DropoutKey& key) const override;
  at::Tensor losses(const at::Tensor& outputs, const Batch& batch) const override {
    return classifier_.losses(outputs, batch);
  }

 private:
  const Objective& classifier_;
  int64_t unknown_;
};

}  // namespace plimsoll
