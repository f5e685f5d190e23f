#include <ATen/ops/full.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/blocks/slices.h"
#include "engine/fit/optimizer.h"

namespace plimsoll {
namespace {

// Two steps, of which the second reaches only the first number.
std::vector<float> moved(OptimizerKind kind, std::vector<bool> lazy) {
  const at::Tensor weights = at::full({2}, 1.0);
  const auto optimizer = make_optimizer(
      {weights}, {.kind = kind, .learning_rate = 0.1, .weight_decay = 0.1, .momentum = 0.9}, lazy);
  const at::Tensor gradient = at::full({2}, 1.0);
  optimizer->step({gradient});
  const float once = weights.const_data_ptr<float>()[1];
  gradient.data_ptr<float>()[1] = 0;
  optimizer->step({gradient});
  return {weights.const_data_ptr<float>()[0], weights.const_data_ptr<float>()[1], once};
}

TEST(LazyParameters, ANumberWithoutAGradientStays) {
  for (const OptimizerKind kind : {OptimizerKind::adam, OptimizerKind::adamw, OptimizerKind::sgd}) {
    const std::vector<float> eager = moved(kind, {}), lazy = moved(kind, {true});
    EXPECT_EQ(lazy[0], eager[0]);
    EXPECT_EQ(lazy[1], lazy[2]);
    EXPECT_NE(eager[1], eager[2]);
  }
}

TEST(LazyParameters, RanksKnowThePiecesThatAreLazy) {
  ParameterList parameters(1);
  parameters.add("rows", {6}, Init::zeros());
  parameters.add("bias", {2}, Init::zeros());
  parameters.make_lazy("rows");
  EXPECT_THAT(laziness_of_rank(parameters, 0, 1), testing::ElementsAre(true, false));
  EXPECT_THAT(laziness_of_rank(parameters, 0, 2), testing::ElementsAre(true));
  EXPECT_THAT(laziness_of_rank(parameters, 1, 2), testing::ElementsAre(true, false));
}

}  // namespace
}  // namespace plimsoll
