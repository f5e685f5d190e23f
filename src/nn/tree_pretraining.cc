#include "nn/tree_pretraining.h"

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>

#include "base/error.h"
#include "nn/tree_pairs.h"

namespace plimsoll {
namespace {

constexpr double kMinSum = 1e-12;

// Divides each row by its sum and accumulates it, which makes histograms in the form that growth_of()
// returns.
at::Tensor added_up(const at::Tensor& sizes) {
  return (sizes / sizes.sum(1, /*keepdim=*/true).clamp_min(kMinSum)).cumsum(1);
}

}  // namespace

TreePretraining::TreePretraining(const GraphModel& model, const PretrainingOptions& options, double range,
                                 bool baseline)
    : model_(model), options_(options), range_(range), baseline_(baseline) {}

CollateOptions TreePretraining::collate_options() const {
  CollateOptions options = model_.collate_options();
  options.items = Items::nodes;
  return options;
}

void TreePretraining::prepare(Batch& batch) const {
  batch.targets = growth_of(batch, distance_bins(), range_);
  if (options_.angle_bins > 0)
    batch.targets = at::cat({batch.targets, angles_of(batch, options_.angle_bins)}, 1);
}

at::Tensor TreePretraining::earth_movers(const at::Tensor& up_to, const at::Tensor& expected) const {
  const at::Tensor distance = (up_to - expected).abs().sum(1);
  if (options_.leaves) return distance;
  return distance * (expected.select(1, expected.size(1) - 1) > 0);
}

at::Tensor TreePretraining::order_loss(const at::Tensor& embeddings, const Batch& batch,
                                       const DropoutKey& key) const {
  const TreePairs pairs = tree_pairs(batch, key.seed, key.training ? key.epoch : 0);
  const bool vendrov = options_.order == OrderLoss::vendrov;
  // A root is its own parent, so its difference is 0.
  const at::Tensor above = at::relu(embeddings - embeddings.index_select(0, pairs.parent));
  at::Tensor apart = embeddings - embeddings.index_select(0, pairs.other);
  if (vendrov) apart = at::relu(apart);
  apart = apart.square().sum(1);
  if (options_.order == OrderLoss::norm) apart = (apart + kMinSum).sqrt();
  const at::Tensor unordered = (vendrov ? above.square() : above).sum(1);
  return unordered + at::relu(options_.margin - apart) * pairs.has_other;
}

at::Tensor TreePretraining::forward(const Batch& batch, const DropoutKey& key) const {
  const at::Tensor embeddings = model_.embed(batch, key);
  const at::Tensor sizes = model_.apply_head(embeddings).abs();
  const int64_t bins = distance_bins();
  const at::Tensor distances = batch.targets.narrow(1, 0, bins);
  std::vector<at::Tensor> columns = {earth_movers(added_up(sizes.narrow(1, 0, bins)), distances),
                                     order_loss(embeddings, batch, key)};
  if (options_.angle_bins > 0)
    columns.push_back(earth_movers(added_up(sizes.narrow(1, bins, options_.angle_bins)),
                                   batch.targets.narrow(1, bins, options_.angle_bins)));
  if (baseline_) columns.push_back(earth_movers(parent_edge_growth(batch, bins, range_), distances));
  return at::stack(columns, 1);
}

at::Tensor TreePretraining::losses(const at::Tensor& outputs, const Batch&) const {
  const at::Tensor loss = outputs.select(1, 0) + options_.order_weight * outputs.select(1, 1);
  return options_.angle_bins > 0 ? loss + outputs.select(1, 2) : loss;
}

}  // namespace plimsoll
