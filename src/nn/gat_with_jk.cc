#include "nn/gat_with_jk.h"

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>

#include "ops/segment.h"

namespace plimsoll {

GATWithJK::GATWithJK(const GATWithJKOptions& options, uint64_t seed)
    : options_(options),
      parameters_(seed),
      embedding_(parameters_.add("embedding.weight", {options.num_ids, options.embedding}, Init::normal())) {
  const int64_t width = options.hidden * options.heads;
  int64_t in = options.embedding + options.in_features - 1;
  for (int64_t i = 0; i < options.layers; ++i) {
    convs_.emplace_back(
        parameters_, "convs." + std::to_string(i),
        GATConvOptions{.in_channels = in, .out_channels = options.hidden, .heads = options.heads});
    in = width;
  }
  const int64_t joined = width * options.layers;
  for (int64_t j = 0; j + 1 < options.fc_layers; ++j)
    fc_.push_back(add_linear("fc." + std::to_string(j), joined, joined));
  head_ = add_linear("head", joined, options.classes);
}

GATWithJK::Linear GATWithJK::add_linear(const std::string& name, int64_t in, int64_t out) {
  return {parameters_.add(name + ".weight", {out, in}, Init::linear(in)),
          parameters_.add(name + ".bias", {out}, Init::linear(in))};
}

at::Tensor GATWithJK::forward(const Batch& batch, const DropoutKey& key) const {
  const at::Tensor ids = batch.x.select(1, 0).to(at::kLong);
  at::Tensor h = at::cat({at::embedding(embedding_, ids), batch.x.slice(1, 1)}, 1);
  uint32_t place = 0;  // tells the uses of dropout apart
  std::vector<at::Tensor> outputs;
  const EdgeInput edges{batch.edge_order, {}, batch.node_keys};
  for (const GATConv& conv : convs_) {
    h = dropout(at::relu(conv.forward(h, edges, key, place)), options_.dropout, place, key, batch.node_item(),
                batch.node_local());
    ++place;
    outputs.push_back(h);
  }
  const at::Tensor joined = at::cat(outputs, 1);
  at::Tensor pooled = segment_reduce(joined, batch.graph_ptr, "mean");
  for (const Linear& layer : fc_)
    pooled = dropout(at::relu(at::linear(pooled, layer.weight, layer.bias)), options_.dropout, place++, key,
                     batch.graph_item, batch.graph_local);
  return at::linear(pooled, head_.weight, head_.bias);
}

}  // namespace plimsoll
