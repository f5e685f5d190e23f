#include "engine/blocks/running_statistics.h"

#include <ATen/Functions.h>
#include <gtest/gtest.h>

#include "nn/batch_norm.h"

namespace plimsoll {
namespace {

at::Tensor pattern(int64_t rows, double phase) {
  return at::sin(at::arange(rows * 5, at::kFloat) * 0.37 + phase).view({rows, 5}) * 3 + phase;
}

class BlockNorm : public ::testing::Test {
 protected:
  // The statistics of one block in training.
  at::Tensor train(const at::Tensor& x) {
    Batch batch;
    batch.statistics = std::make_shared<BlockStatistics>();
    at::Tensor out = norm_.forward(x, batch, true);
    found_.push_back(batch.statistics);
    return out;
  }
  void commit() {
    RunningStatistics statistics(parameters_);
    for (const auto& block : found_) statistics.add(*block);
    statistics.commit();
  }
  at::Tensor mean() { return parameters_.buffers()[0].value; }
  at::Tensor variance() { return parameters_.buffers()[1].value; }

  ParameterList parameters_{1};
  BatchNorm norm_{parameters_, "norm", 5};
  std::vector<std::shared_ptr<BlockStatistics>> found_;
};

TEST_F(BlockNorm, OneBlockIsTorchsBatchNorm) {
  const at::Tensor weight = at::ones({5}), bias = at::zeros({5});
  const at::Tensor running_mean = at::zeros({5}), running_variance = at::ones({5});
  const auto peer = [&](const at::Tensor& x, bool training) {
    return at::batch_norm(x, weight, bias, running_mean, running_variance, training, 0.1, 1e-5, false);
  };
  for (int step = 0; step < 3; ++step) {
    const at::Tensor x = pattern(40, step);
    EXPECT_LT((train(x) - peer(x, true)).abs().max().item<float>(), 1e-6F);
    commit();
    found_.clear();
    EXPECT_LT((mean() - running_mean).abs().max().item<float>(), 1e-6F);
    EXPECT_LT((variance() - running_variance).abs().max().item<float>(), 1e-5F);
  }
  const at::Tensor x = pattern(7, 9);
  EXPECT_LT((norm_.forward(x, {}, false) - peer(x, false)).abs().max().item<float>(), 1e-6F);
}

TEST_F(BlockNorm, ABatchMovesTheStatisticsOnceByTheMeanOverItsBlocks) {
  const at::Tensor a = pattern(30, 0);
  const at::Tensor b = pattern(10, 5);
  train(a);
  train(b);
  commit();
  const at::Tensor expected_mean = 0.1 * (0.75 * a.mean(0) + 0.25 * b.mean(0));
  const at::Tensor expected_variance = 0.9 + 0.1 * (0.75 * a.var(0) + 0.25 * b.var(0));
  EXPECT_LT((mean() - expected_mean).abs().max().item<float>(), 1e-6F);
  EXPECT_LT((variance() - expected_variance).abs().max().item<float>(), 1e-5F);
}

TEST_F(BlockNorm, ABlockOfOneNodeUsesTheRunningStatistics) {
  train(pattern(30, 2));
  commit();
  const at::Tensor x = pattern(1, 1);
  EXPECT_TRUE(at::equal(train(x), norm_.forward(x, {}, false)));
  EXPECT_TRUE(found_.back()->entries.empty());
}

}  // namespace
}  // namespace plimsoll
