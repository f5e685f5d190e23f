#include "nn/id_dropout.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>

#include <algorithm>

#include "base/philox.h"

namespace plimsoll {
namespace {

constexpr float kMinDropped = 0.8F;  // Minimum probability with which a node of a chosen graph loses its ID.

at::Tensor copy_of(const at::Tensor& values) {
  if (!values.is_cpu() && !values.is_meta()) return values.clone();
  at::Tensor copy = at::empty_like(values);
  if (!values.is_meta())
    std::copy_n(values.const_data_ptr<float>(), values.numel(), copy.mutable_data_ptr<float>());
  return copy;
}

void clear(float* row, const std::vector<int64_t>& columns) {
  for (const int64_t c : columns) row[c] = 0;
}

}  // namespace

CollateOptions IdDropout::collate_options() const {
  CollateOptions options = objective_.collate_options();
  options.edge_index = true;
  return options;
}

// Writes 1 for each node that loses its ID, and 0 for all other nodes.
void IdDropout::draw(const Batch& batch, const DropoutKey& key, uint8_t* dropped) const {
  const int64_t nodes = batch.nodes();
  const Philox philox(key.seed);
  const int64_t* const item = batch.node_keys.const_data_ptr<int64_t>();
  const int64_t* const local = item + nodes;
  Philox::Counter of_graph{};
  for (int64_t n = 0; n < nodes; ++n) {
    const auto graph = static_cast<uint32_t>(item[n]);
    if (n == 0 || item[n] != item[n - 1])
      of_graph = philox(philox_counter(Purpose::id_dropout, 0, key.epoch, graph, 0));
    const float rate = kMinDropped + (1 - kMinDropped) * uniform(of_graph[1]);
    const auto number = static_cast<uint32_t>(local[n]);
    const Philox::Counter of_node = philox(philox_counter(Purpose::id_dropout, 1, key.epoch, graph, number));
    dropped[n] = always_ || (uniform(of_graph[0]) < share_ && uniform(of_node[0]) < rate);
  }
}

// Applies the draws, made on the host, to tensors on a device.
void IdDropout::drop_on_device(const at::Tensor& drawn, Batch& changed) const {
  const at::Tensor dropped = drawn.to(changed.x.device()).to(at::kBool);
  changed.x.select(1, 0).masked_fill_(dropped, static_cast<double>(unknown_.index));
  for (const int64_t c : unknown_.node_columns) changed.x.select(1, c).masked_fill_(dropped, 0);
  if (unknown_.edge_columns.empty()) return;
  const at::Tensor ends = dropped.index_select(0, changed.edge_index.view(-1)).view({2, -1}).any(0);
  for (const int64_t c : unknown_.edge_columns) changed.edge_attr.select(1, c).masked_fill_(ends, 0);
}

at::Tensor IdDropout::forward(const Batch& batch, const DropoutKey& key) const {
  if (!always_ && (!key.training || share_ == 0)) return objective_.forward(batch, key);
  Batch changed = batch;
  changed.x = copy_of(batch.x);
  if (!unknown_.edge_columns.empty()) changed.edge_attr = copy_of(batch.edge_attr);
  const at::Tensor drawn = at::empty({batch.nodes()}, batch.read().x.options().dtype(at::kByte));
  if (batch.x.is_meta()) return objective_.forward(changed, key);

  auto* const dropped = drawn.mutable_data_ptr<uint8_t>();
  draw(batch.read(), key, dropped);
  if (batch.on_host != nullptr) {
    drop_on_device(drawn, changed);
    return objective_.forward(changed, key);
  }
  const int64_t features = batch.x.size(1);
  float* const x = changed.x.mutable_data_ptr<float>();
  for (int64_t n = 0; n < batch.nodes(); ++n) {
    if (dropped[n] == 0) continue;
    x[n * features] = static_cast<float>(unknown_.index);
    clear(x + n * features, unknown_.node_columns);
  }
  if (!unknown_.edge_columns.empty()) {
    const int64_t edges = batch.edge_attr.size(0);
    const int64_t* const source = batch.edge_index.const_data_ptr<int64_t>();
    float* const edge_attr = changed.edge_attr.mutable_data_ptr<float>();
    for (int64_t e = 0; e < edges; ++e)
      if (dropped[source[e]] + dropped[source[edges + e]] > 0)
        clear(edge_attr + e * batch.edge_attr.size(1), unknown_.edge_columns);
  }
  return objective_.forward(changed, key);
}

}  // namespace plimsoll
