#include "engine/fit/optimizer.h"

#include <gtest/gtest.h>
#include <torch/nn/utils/clip_grad.h>
#include <torch/optim/adam.h>
#include <torch/optim/adamw.h>
#include <torch/optim/sgd.h>

#include "base/error.h"
#include "memory/ledger.h"
#include "ops/allocator.h"
#include "support/all_values.h"

namespace plimsoll {
namespace {

at::Tensor pattern(const std::vector<int64_t>& shape, double phase, double scale) {
  return at::sin(at::arange(shape[0] * shape[1], at::kFloat) * 0.37 + phase).view(shape) * scale;
}

std::unique_ptr<torch::optim::Optimizer> torch_optimizer(std::vector<at::Tensor> parameters,
                                                         const OptimizerOptions& o) {
  if (o.kind == OptimizerKind::adam)
    return std::make_unique<torch::optim::Adam>(
        parameters, torch::optim::AdamOptions(o.learning_rate).weight_decay(o.weight_decay));
  if (o.kind == OptimizerKind::adamw)
    return std::make_unique<torch::optim::AdamW>(
        parameters, torch::optim::AdamWOptions(o.learning_rate).weight_decay(o.weight_decay));
  return std::make_unique<torch::optim::SGD>(
      parameters,
      torch::optim::SGDOptions(o.learning_rate).weight_decay(o.weight_decay).momentum(o.momentum));
}

class AgainstTorch : public ::testing::TestWithParam<std::tuple<OptimizerOptions, double>> {};

TEST_P(AgainstTorch, AHundredClippedStepsGoTheSameWay) {
  const auto [options, scale] = GetParam();
  std::vector<at::Tensor> mine = {pattern({7, 5}, 0, 1), pattern({3, 11}, 1, 0.5)};
  std::vector<at::Tensor> theirs;
  for (const at::Tensor& value : mine) theirs.push_back(value.clone().set_requires_grad(true));
  const auto optimizer = make_optimizer(mine, options);
  const auto peer = torch_optimizer(theirs, options);
  for (int step = 0; step < 100; ++step) {
    std::vector<at::Tensor> gradients = {pattern({7, 5}, step, scale), pattern({3, 11}, step * 2, scale)};
    for (size_t p = 0; p < theirs.size(); ++p) theirs[p].mutable_grad() = gradients[p].clone();
    const double peer_norm = torch::nn::utils::clip_grad_norm_(theirs, 1.0);
    EXPECT_NEAR(clip_gradients(gradients, 1.0), peer_norm, 1e-5 * peer_norm);
    optimizer->step(gradients);
    peer->step();
  }
  // Torch multiplies and rounds in another order (lerp, addcmul), so bits differ; a hundred steps change
  // weights by 1.
  for (size_t p = 0; p < mine.size(); ++p)
    EXPECT_LT((mine[p] - theirs[p].detach()).abs().max().item<float>(), 2e-6F)
        << word_of(options.kind) << scale;
}

INSTANTIATE_TEST_SUITE_P(
    Kinds, AgainstTorch,
    ::testing::Combine(
        ::testing::Values(
            OptimizerOptions{.kind = OptimizerKind::adam, .learning_rate = 0.01, .weight_decay = 0.001},
            OptimizerOptions{.kind = OptimizerKind::adamw, .learning_rate = 0.01, .weight_decay = 0.1},
            OptimizerOptions{.kind = OptimizerKind::sgd, .learning_rate = 0.01, .weight_decay = 0.001},
            OptimizerOptions{.kind = OptimizerKind::sgd, .learning_rate = 0.01, .momentum = 0.9}),
        ::testing::Values(1e-3, 0.05, 10.0)),
    [](const auto& test) {
      const OptimizerOptions& options = std::get<0>(test.param);
      return std::string(word_of(options.kind)) + (options.momentum > 0 ? "Momentum" : "") +
             std::to_string(test.index % 3);
    });

TEST(Optimizer, AStepAllocatesNothing) {
  install_ledger_allocator();
  const at::Tensor weights = at::ones({100, 100});
  const at::Tensor gradient = at::ones({100, 100});
  for (const OptimizerKind kind : all_values<OptimizerKind>()) {
    const auto optimizer = make_optimizer({weights}, {.kind = kind, .momentum = 0.9});
    Ledger& ledger = Ledger::process();
    ledger.set_cap(ledger.held());  // Every new entry is refused.
    EXPECT_NO_THROW({
      clip_gradients({gradient}, 1.0);
      optimizer->step({gradient});
    }) << word_of(kind);
    ledger.set_cap(Ledger::kUnlimited);
  }
}

TEST(Optimizer, ItsStateAndStepsAreAllThatItRemembers) {
  const at::Tensor gradient = pattern({4, 5}, 1, 1);
  for (const OptimizerKind kind : all_values<OptimizerKind>()) {
    const OptimizerOptions options{.kind = kind, .momentum = 0.9};
    const at::Tensor whole = pattern({4, 5}, 0, 1);
    const auto first = make_optimizer({whole}, options);
    for (int i = 0; i < 3; ++i) first->step({gradient});
    const at::Tensor stopped = whole.clone();
    const auto second = make_optimizer({stopped}, options);
    for (size_t s = 0; s < first->state().size(); ++s)
      second->state()[s].second.copy_(first->state()[s].second);
    second->set_steps(first->steps());
    first->step({gradient});
    second->step({gradient});
    EXPECT_TRUE(at::equal(whole, stopped)) << word_of(kind);
  }
}

TEST(Optimizer, ItsStateIsWhatAPlanCounts) {
  for (const OptimizerOptions& options :
       {OptimizerOptions{.kind = OptimizerKind::adam}, OptimizerOptions{.kind = OptimizerKind::adamw},
        OptimizerOptions{.kind = OptimizerKind::sgd},
        OptimizerOptions{.kind = OptimizerKind::sgd, .momentum = 0.9}}) {
    const std::vector<at::Tensor> parameters = {at::ones({3, 2}), at::ones({5})};
    EXPECT_EQ(static_cast<int64_t>(make_optimizer(parameters, options)->state().size()),
              2 * state_tensors(options));
  }
}

}  // namespace
}  // namespace plimsoll
