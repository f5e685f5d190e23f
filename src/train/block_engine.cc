#include "train/block_engine.h"

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>
#include <c10/core/GradMode.h>
#include <fmt/format.h>
#include <torch/csrc/autograd/autograd.h>

#include <cmath>
#include <mutex>

#include "base/error.h"
#include "ops/allocator.h"
#include "train/collate.h"

namespace plimsoll {
namespace {

// Cross-entropy of each graph, f32 [G].
at::Tensor cross_entropy(const at::Tensor& logits, const at::Tensor& y) {
  return -at::log_softmax(logits, 1).gather(1, y.unsqueeze(1)).squeeze(1);
}

void require_finite(double loss, const GraphBlock& block) {
  if (std::isfinite(loss)) return;
  throw Failure(fmt::format(
      "the loss is not finite in the block of graphs {} .. {}; look for values that are not finite with "
      "`plimsoll verify`, or lower training.learning_rate",
      *std::min_element(block.graph.begin(), block.graph.end()),
      *std::max_element(block.graph.begin(), block.graph.end())));
}

struct Gradients {
  double loss = 0;
  std::vector<at::Tensor> values;
};

struct Scores {
  double loss = 0;
  std::vector<float> log_odds;
};

}  // namespace

BlockEngine::BlockEngine(const BlockSource& source, std::span<const GraphShape> shapes,
                         const GraphModel& model, const BlockLimits& limits, int threads)
    : source_(source), shapes_(shapes), model_(model), limits_(limits), workers_(threads) {
  const TagScope scope(Tag::gradients);
  for (const ParameterList::Entry& entry : model.parameters().entries()) {
    parameters_.push_back(entry.value);
    gradients_.push_back(at::zeros_like(entry.value));
  }
}

template <typename Result, typename Run>
Result BlockEngine::run_or_run_alone(const Run& run, Turn& turn) {
  try {
    const std::shared_lock together(running_);
    return run();
  } catch (const BudgetExceeded&) {
    ++reruns_;
  }
  turn.wait();
  const std::unique_lock alone(running_);
  return run();
}

double BlockEngine::gradient(std::span<const int64_t> batch, const DropoutKey& key) {
  const std::vector<int64_t> begins = cut_blocks(batch, shapes_, limits_);
  const auto normaliser = static_cast<double>(batch.size());
  for (at::Tensor& sum : gradients_) sum.zero_();
  double loss = 0;
  workers_.run_ordered(static_cast<int64_t>(begins.size()) - 1, [&](int64_t b, Turn& turn) {
    const auto i = static_cast<size_t>(b);
    const auto graphs =
        batch.subspan(static_cast<size_t>(begins[i]), static_cast<size_t>(begins[i + 1] - begins[i]));
    const auto run = [&]() -> Gradients {
      const TagScope scope(Tag::activations);
      GraphBlock block;
      source_.read(graphs, block);
      const Batch tensors = collate(block, source_.node_features(), source_.edge_features());
      const at::Tensor block_loss = cross_entropy(model_.forward(tensors, key), tensors.y).sum() / normaliser;
      require_finite(block_loss.item<double>(), block);
      return {block_loss.item<double>(), torch::autograd::grad({block_loss}, parameters_)};
    };
    const Gradients result = run_or_run_alone<Gradients>(run, turn);
    turn.wait();
    const c10::AutoGradMode no_gradients(false);
    for (size_t p = 0; p < gradients_.size(); ++p) gradients_[p].add_(result.values[p]);
    loss += result.loss;
  });
  return loss;
}

double BlockEngine::score(std::span<const int64_t> graphs, std::span<float> log_odds) {
  const std::vector<int64_t> begins = cut_blocks(graphs, shapes_, limits_);
  double loss = 0;
  workers_.run_ordered(static_cast<int64_t>(begins.size()) - 1, [&](int64_t b, Turn& turn) {
    const auto i = static_cast<size_t>(b);
    const auto first = static_cast<size_t>(begins[i]);
    const auto part = graphs.subspan(first, static_cast<size_t>(begins[i + 1]) - first);
    const auto run = [&]() -> Scores {
      const TagScope scope(Tag::activations);
      const c10::AutoGradMode no_gradients(false);
      GraphBlock block;
      source_.read(part, block);
      const Batch tensors = collate(block, source_.node_features(), source_.edge_features());
      const at::Tensor logits = model_.forward(tensors, {});
      const at::Tensor odds = (logits.select(1, 1) - logits.select(1, 0)).contiguous();
      const float* const values = odds.const_data_ptr<float>();
      return {cross_entropy(logits, tensors.y).sum().item<double>(), {values, values + odds.numel()}};
    };
    const Scores result = run_or_run_alone<Scores>(run, turn);
    turn.wait();
    std::copy(result.log_odds.begin(), result.log_odds.end(), log_odds.begin() + static_cast<int64_t>(first));
    loss += result.loss;
  });
  return graphs.empty() ? 0 : loss / static_cast<double>(graphs.size());
}

}  // namespace plimsoll
