// The engine needs only a torch::nn::Module and a loss on a block.

#include <gtest/gtest.h>
#include <torch/nn/modules/activation.h>
#include <torch/nn/modules/container/sequential.h>
#include <torch/nn/modules/linear.h>

#include <numeric>

#include "engine/blocks/block_engine.h"
#include "nn/objective.h"
#include "ops/segment/segment.h"
#include "support/random_graphs.h"

namespace plimsoll {
namespace {

// The mean squared error of a multilayer perceptron on the mean of a graph's nodes.
class ModuleObjective : public Objective {
 public:
  ModuleObjective() {
    for (const auto& parameter : module_->named_parameters())
      parameters_.adopt(parameter.key(), parameter.value());
  }
  const ParameterList& parameters() const override { return parameters_; }
  CollateOptions collate_options() const override { return {}; }
  int64_t outputs() const override { return 1; }
  at::Tensor forward(const Batch& batch, const DropoutKey&) const override {
    torch::nn::Sequential module = module_;  // A handle; forward() is not const.
    return module->forward(segment_reduce(batch.x, batch.graph_ptr, Reduce::mean));
  }
  at::Tensor losses(const at::Tensor& outputs, const Batch& batch) const override {
    return (outputs.squeeze(1) - batch.y).square();
  }
  torch::nn::Sequential module() const { return module_; }

 private:
  torch::nn::Sequential module_{torch::nn::Linear(11, 16), torch::nn::ReLU(), torch::nn::Linear(16, 1)};
  ParameterList parameters_{0};
};

TEST(ModuleObjective, GradientsAreThoseOfTheWholeBatchForAnyNumberOfThreads) {
  const RandomGraphs source(100, 50, 3);
  const auto shapes = read_shapes(source, 1);
  std::vector<int64_t> batch(100);
  std::iota(batch.begin(), batch.end(), int64_t{0});
  // Each run has the same weights. With other weights the gradient of a bias may almost cancel while its
  // rounding does not.
  torch::manual_seed(1);
  const ModuleObjective objective;
  std::vector<std::vector<at::Tensor>> found;
  for (const int threads : {1, 2, 4}) {
    BlockEngine engine(source, shapes, objective, {7, 1000, 1000}, {.blocks = threads});
    engine.gradient(batch, {.training = true});
    found.push_back(engine.gradients());
  }
  BlockEngine whole(source, shapes, objective, {1000, 100'000, 100'000});
  whole.gradient(batch, {.training = true});
  for (size_t p = 0; p < found[0].size(); ++p) {
    EXPECT_TRUE(at::equal(found[0][p], found[1][p]));
    EXPECT_TRUE(at::equal(found[0][p], found[2][p]));
    EXPECT_LT((found[0][p] - whole.gradients()[p]).norm().item<double>(),
              1e-6 * whole.gradients()[p].norm().item<double>() + 1e-12);
  }
}

}  // namespace
}  // namespace plimsoll
