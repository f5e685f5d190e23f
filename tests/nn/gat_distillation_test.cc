#include "nn/gat_distillation.h"

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include "base/error.h"

namespace plimsoll {
namespace {

/// A model that returns the logits it was given.
class Given : public GraphModel {
 public:
  explicit Given(at::Tensor logits) : parameters_(0), logits_(std::move(logits)) {}
  at::Tensor embed(const Batch&, const DropoutKey&) const override { return logits_; }
  at::Tensor apply_head(const at::Tensor& embeddings) const override { return embeddings; }
  int64_t embedding() const override { return logits_.size(1); }
  const ParameterList& parameters() const override { return parameters_; }
  int64_t classes() const override { return logits_.size(1); }
  FeatureWidths features() const override { return {}; }

 private:
  ParameterList parameters_;
  at::Tensor logits_;
};

Batch batch_of(const at::Tensor& teacher) {
  Batch batch;
  batch.y = at::arange(teacher.size(0)) % 2;
  batch.teacher = teacher;
  return batch;
}

at::Tensor pattern(int64_t rows, double step) {
  return 4 * at::sin(at::arange(2 * rows, at::kFloat) * step).view({rows, 2});
}

// The expected loss uses torch's own divergence, mean over the batch.
TEST(GatDistillation, IsTheSumOfTorchsLosses) {
  constexpr double kTemperature = 4;
  constexpr double kAlpha = 0.7;
  const Given student(pattern(9, 0.7));
  const Batch batch = batch_of(pattern(9, 1.3));
  const GatDistillation objective(student, kTemperature, kAlpha);
  const at::Tensor logits = objective.forward(batch, {});
  const at::Tensor soft = at::kl_div(at::log_softmax(logits / kTemperature, 1),
                                     at::softmax(batch.teacher / kTemperature, 1), at::Reduction::Sum) /
                          9;
  const at::Tensor hard = at::cross_entropy_loss(logits, batch.y);
  const at::Tensor expected = kAlpha * kTemperature * kTemperature * soft + (1 - kAlpha) * hard;
  EXPECT_NEAR(objective.losses(logits, batch).mean().item<double>(), expected.item<double>(), 1e-6);
}

TEST(GatDistillation, HasTheGradientOfTorchsLosses) {
  constexpr double kTemperature = 3;
  constexpr double kAlpha = 0.4;
  for (const double scale : {1.0, 30.0}) {  // The second scale is far beyond the range of exp() in float32.
    const at::Tensor logits = (scale * pattern(9, 0.7)).set_requires_grad(true);
    const Batch batch = batch_of(scale * pattern(9, 1.3));
    const at::Tensor weights = at::arange(1, 10, at::kFloat);
    const Given student(logits);
    const at::Tensor losses = GatDistillation(student, kTemperature, kAlpha).losses(logits, batch);
    const at::Tensor found = torch::autograd::grad({(losses * weights).sum()}, {logits})[0];
    const at::Tensor exact = logits.detach().to(at::kDouble).set_requires_grad(true);
    const at::Tensor teacher_logs = at::log_softmax(batch.teacher.to(at::kDouble) / kTemperature, 1);
    const at::Tensor student_logs = at::log_softmax(exact / kTemperature, 1);
    const at::Tensor expected =
        kAlpha * kTemperature * kTemperature *
            (at::exp(teacher_logs) * (teacher_logs - student_logs)).sum(1) -
        (1 - kAlpha) * at::log_softmax(exact, 1).gather(1, batch.y.unsqueeze(1)).squeeze(1);
    EXPECT_TRUE(at::allclose(losses.to(at::kDouble), expected, 1e-6, 1e-6));
    const at::Tensor gradient = torch::autograd::grad({(expected * weights).sum()}, {exact})[0];
    EXPECT_TRUE(at::allclose(found.to(at::kDouble), gradient, 1e-6, 1e-6));
  }
}

TEST(GatDistillation, RefusesALabelThatIsNoClass) {
  const Given student(pattern(3, 0.7));
  Batch batch = batch_of(pattern(3, 1.3));
  batch.y = at::arange(3);
  EXPECT_THROW(GatDistillation(student, 4, 0.7).losses(pattern(3, 0.7), batch), InputError);
}

TEST(GatDistillation, AStudentThatSaysWhatItsTeacherSaysHasNothingToLearnFromIt) {
  const Given student(pattern(9, 0.7));
  const Batch batch = batch_of(pattern(9, 0.7));
  const GatDistillation objective(student, 4, 1);
  EXPECT_LT(objective.losses(pattern(9, 0.7), batch).abs().max().item<double>(), 1e-5);
}

TEST(GatDistillation, ABlockOfNoGraphsHasNoLosses) {
  const Given student(pattern(0, 1));
  EXPECT_EQ(GatDistillation(student, 4, 0.7).losses(pattern(0, 1), batch_of(pattern(0, 1))).numel(), 0);
}

TEST(GatDistillation, ATeacherOfAnotherShapeIsAFailure) {
  const Given student(pattern(9, 0.7));
  const GatDistillation objective(student, 4, 0.7);
  EXPECT_THROW(objective.losses(pattern(9, 1), batch_of(pattern(8, 1))), Failure);
  EXPECT_THROW(objective.losses(pattern(9, 1), batch_of(pattern(9, 1).to(at::kDouble))), Failure);
  Batch none = batch_of(pattern(9, 1));
  none.teacher.reset();
  EXPECT_THROW(objective.losses(pattern(9, 1), none), Failure);
}

}  // namespace
}  // namespace plimsoll
