#pragma once

#include "nn/objective.h"

namespace plimsoll {

/// Computes the outputs of a classifier trained with ID dropout (nn/id_dropout.h), and adds
/// kUnknownIdEvidence (can/profile/unknown_ids.h) to the logit of class 1 (attack) of each graph for which
/// is_stranger_among_known() is true. Used for prediction only. Outputs are f32 [G, W]; the logits of the two
/// classes come first.
class UnknownIdEvidence : public Objective {
 public:
  /// `classifier` must outlive the object; x[:, 0] of an unknown ID is `unknown`.
  UnknownIdEvidence(const Objective& classifier, int64_t unknown)
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
