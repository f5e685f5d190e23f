#include "train/adam.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "memory/ledger.h"
#include "ops/allocator.h"

namespace plimsoll {
namespace {

at::Tensor pattern(const std::vector<int64_t>& shape, double phase, double scale) {
  return at::sin(at::arange(shape[0] * shape[1], at::kFloat) * 0.37 + phase).view(shape) * scale;
}

class AdamAgainstTorch : public ::testing::TestWithParam<double> {};  // scale of the gradients

TEST_P(AdamAgainstTorch, FollowsTorchAdamWithDecayAndClipping) {
  std::vector<at::Tensor> mine = {pattern({7, 5}, 0, 1), pattern({3, 11}, 1, 0.5)};
  std::vector<at::Tensor> theirs;
  for (const at::Tensor& value : mine) theirs.push_back(value.clone().set_requires_grad(true));
  Adam adam(mine, {.learning_rate = 0.01, .weight_decay = 0.001, .clip_norm = 1.0});
  torch::optim::Adam peer(theirs, torch::optim::AdamOptions(0.01).weight_decay(0.001));
  for (int step = 0; step < 100; ++step) {
    std::vector<at::Tensor> gradients = {pattern({7, 5}, step, GetParam()),
                                         pattern({3, 11}, step * 2, GetParam())};
    for (size_t p = 0; p < theirs.size(); ++p) theirs[p].mutable_grad() = gradients[p].clone();
    const double peer_norm = torch::nn::utils::clip_grad_norm_(theirs, 1.0);
    EXPECT_NEAR(adam.step(gradients), peer_norm, 1e-5 * peer_norm);
    peer.step();
  }
  // torch multiplies and rounds in another order (lerp, addcmul), so bits differ; a hundred steps move
  // weights by 1.
  for (size_t p = 0; p < mine.size(); ++p)
    EXPECT_LT((mine[p] - theirs[p].detach()).abs().max().item<float>(), 2e-6F) << GetParam();
}

INSTANTIATE_TEST_SUITE_P(Scales, AdamAgainstTorch, ::testing::Values(1e-3, 0.05, 10.0));

TEST(Adam, AStepAllocatesNothing) {
  install_ledger_allocator();
  const at::Tensor weights = at::ones({100, 100});
  const at::Tensor gradient = at::ones({100, 100});
  Adam adam({weights}, {});
  Ledger& ledger = Ledger::process();
  ledger.set_cap(ledger.held());  // every new entry is refused
  adam.step({gradient});
  ledger.set_cap(Ledger::kUnlimited);
}

}  // namespace
}  // namespace plimsoll
