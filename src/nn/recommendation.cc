#include "nn/recommendation.h"

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

#include "nn/average_precision.h"

namespace plimsoll {
namespace {

// Inserts scores into a sorted list, which starts with -infinity.
void find_best(std::span<const float> scores, std::span<float> columns, std::span<float> best) {
  std::ranges::fill(columns, 0.0F);
  std::ranges::fill(best, -std::numeric_limits<float>::infinity());
  for (size_t column = 0; column < scores.size(); ++column) {
    const float score = scores[column];
    if (std::isnan(score)) {
      best.front() = score;
      return;
    }
    if (score <= best.back()) continue;
    size_t place = best.size() - 1;
    for (; place > 0 && score > best[place - 1]; --place) {
      best[place] = best[place - 1];
      columns[place] = columns[place - 1];
    }
    best[place] = score;
    columns[place] = static_cast<float>(column);
  }
}

// Returns the number of targets of each graph, at least 1: a graph without targets has no loss.
at::Tensor target_counts(const Batch& batch) {
  return batch.targets.sum(1).clamp_min_(1);
}

}  // namespace

at::Tensor best_scores(const at::Tensor& scores, int64_t k) {
  at::Tensor found = at::empty({scores.size(0), 2 * k}, scores.options());
  if (found.is_meta()) return found;
  const at::Tensor rows = scores.contiguous();
  const auto width = static_cast<size_t>(rows.size(1)), length = static_cast<size_t>(k);
  for (int64_t row = 0; row < rows.size(0); ++row) {
    float* const to = found.mutable_data_ptr<float>() + row * 2 * k;
    find_best({rows.const_data_ptr<float>() + row * rows.size(1), width}, {to, length}, {to + k, length});
  }
  return found;
}

at::Tensor Recommendation::forward(const Batch& batch, const DropoutKey& key) const {
  return model_.forward(batch, key);
}

at::Tensor Recommendation::losses(const at::Tensor& scores, const Batch& batch) const {
  const at::Tensor products = at::log_softmax(scores, 1) * batch.targets;
  return products.sum(1).neg() / target_counts(batch);
}

at::Tensor Recommendation::validation_losses(const at::Tensor& scores, const Batch& batch) const {
  at::Tensor losses = at::empty({scores.size(0)}, scores.options());
  const at::Tensor best = best_scores(scores, k_);
  const at::Tensor counts = target_counts(batch);
  if (losses.is_meta()) return losses;
  for (int64_t row = 0; row < losses.size(0); ++row) {
    const float* const column = best.const_data_ptr<float>() + row * 2 * k_;
    const float* const target = batch.targets.const_data_ptr<float>() + row * scores.size(1);
    const auto targets = static_cast<int64_t>(counts.const_data_ptr<float>()[row]);
    const double precision = average_precision(
        k_, targets, [&](int64_t i) { return target[static_cast<int64_t>(column[i])] > 0; });
    // The product is NaN if a score is not finite, so that the run fails.
    losses.mutable_data_ptr<float>()[row] = static_cast<float>(1 - precision) + 0 * column[k_];
  }
  return losses;
}

at::Tensor BestNodes::forward(const Batch& batch, const DropoutKey& key) const {
  const at::Tensor best = best_scores(model_.forward(batch, key), k_);
  return embeddings_ ? at::cat({best, model_.embed(batch, key)}, 1) : best;
}

at::Tensor BestNodes::losses(const at::Tensor& outputs, const Batch&) const {
  return (outputs * 0).sum(1);
}

}  // namespace plimsoll
