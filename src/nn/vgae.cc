#include "nn/vgae.h"

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>
#include <fmt/format.h>

#include "base/error.h"
#include "nn/node_ids.h"
#include "nn/recompute.h"
#include "ops/embedding/embedding.h"
#include "ops/linear_losses/linear_losses.h"
#include "ops/module_scope.h"
#include "ops/normal_noise/normal_noise.h"

namespace plimsoll {
namespace {

constexpr double kMaxLogvar = 20;

VgaeOptions checked(VgaeOptions options) {
  if (!options.hidden.empty() && options.hidden.back() == options.latent) options.hidden.pop_back();
  if (options.hidden.empty())
    throw UsageError(
        "vgae.hidden: found no width other than the latent width, expected at least one, such as [80, 40]");
  if (options.in_features < 2)
    throw UsageError("vgae: nodes have no features other than the ID, expected at least one to reconstruct");
  return options;
}

}  // namespace

GraphAutoencoderNeighborhood::GraphAutoencoderNeighborhood(const VgaeOptions& options, uint64_t seed)
    : options_(checked(options)),
      parameters_(seed),
      embedding_(parameters_.add("embedding.weight", {options.num_ids, options.embedding}, Init::normal())) {
  const std::vector<int64_t>& hidden = options_.hidden;
  const int64_t features = options.in_features - 1;
  int64_t in = options.embedding + features;
  for (size_t i = 0; i < hidden.size(); ++i) {
    encoder_.push_back(add_block("encoder", i, in, hidden[i], i == 0 ? options.heads : 1, true));
    in = hidden[i];
  }
  mu_ = Linear(parameters_, "mu", in, options.latent);
  logvar_ = Linear(parameters_, "logvar", in, options.latent);
  in = options.latent;
  for (size_t i = 0; i < hidden.size(); ++i) {
    const bool last = i + 1 == hidden.size();
    const int64_t out = last ? features : hidden[hidden.size() - 1 - i];
    const int64_t heads = i == 0 && !last ? options.decoder_heads : 1;
    decoder_.push_back(add_block("decoder", i, in, out, heads, !last));
    in = out;
  }
  id_head_ = Linear(parameters_, "id_head", options.latent, options.num_ids);
  for (const int64_t out : {options.latent, options.latent, options.num_ids})
    neighbours_.emplace_back(parameters_, "neighbours." + std::to_string(neighbours_.size()), options.latent,
                             out);
}

GraphAutoencoderNeighborhood::Block GraphAutoencoderNeighborhood::add_block(const std::string& stack,
                                                                            size_t index, int64_t in,
                                                                            int64_t out, int64_t heads,
                                                                            bool normalised) {
  if (out % heads != 0) heads = 1;
  const size_t first = parameters_.entries().size();
  const std::string number = fmt::format(".{}", index);
  Block block{GATConv(parameters_, stack + number,
                      {.in_channels = in,
                       .out_channels = out / heads,
                       .heads = heads,
                       .edge_dim = options_.edge_features}),
              std::nullopt,
              static_cast<uint32_t>(encoder_.size() + decoder_.size()),
              {}};
  if (normalised) block.norm.emplace(parameters_, stack + "_norms" + number, out);
  block.parameters = parameters_.from(first);
  return block;
}

at::Tensor GraphAutoencoderNeighborhood::run(const Block& block, const at::Tensor& x, const Batch& batch,
                                             const DropoutKey& key) const {
  const EdgeInput edges{batch.edge_order, options_.edge_features > 0 ? batch.edge_attr : at::Tensor(),
                        batch.node_keys};
  const Layer layer = [this, &block, edges, batch, key](const at::Tensor& input) {
    // Each intermediate value is freed as soon as the next is computed.
    at::Tensor h = block.conv.forward(input, edges, key, block.place);
    if (!block.norm) return h;
    h = block.norm->forward(h, batch, key.training);
    return relu_dropout(h, options_.dropout, block.place, key, batch.node_item(), batch.node_local());
  };
  return run_layer(layer, x, block.parameters, batch.recompute);
}

at::Tensor GraphAutoencoderNeighborhood::inputs(const Batch& batch) const {
  const ModuleScope scope("embedding");
  return at::cat({embedding_rows(embedding_, node_ids(batch, options_.num_ids)), batch.x.slice(1, 1)}, 1);
}

GraphAutoencoderNeighborhood::Code GraphAutoencoderNeighborhood::encode(const Batch& batch,
                                                                        const DropoutKey& key) const {
  at::Tensor h = inputs(batch);
  for (const Block& block : encoder_) {
    const ModuleScope scope("encoder." + std::to_string(block.place));
    h = run(block, h, batch, key);
  }
  const ModuleScope scope("latent");
  Code code{mu_.forward(h), at::clamp(logvar_.forward(h), -kMaxLogvar, kMaxLogvar), {}};
  if (!key.training) {
    code.z = code.mu;
    return code;
  }
  const at::Tensor noise = normal_noise(code.mu, key.seed, key.epoch, batch.node_item(), batch.node_local());
  code.z = code.mu + noise * at::exp(code.logvar * 0.5);
  return code;
}

at::Tensor GraphAutoencoderNeighborhood::decode(const at::Tensor& z, const Batch& batch,
                                                const DropoutKey& key) const {
  at::Tensor h = z;
  for (const Block& block : decoder_) {
    const ModuleScope scope("decoder." + std::to_string(block.place - encoder_.size()));
    h = run(block, h, batch, key);
  }
  return options_.output == VgaeOutput::sigmoid ? at::sigmoid(h) : at::tanh(h);
}

at::Tensor GraphAutoencoderNeighborhood::id_losses(const at::Tensor& z, const Batch& batch) const {
  const ModuleScope scope("id_head");
  return linear_cross_entropy(z, id_head_.weight(), id_head_.bias(), node_ids(batch, options_.num_ids));
}

at::Tensor GraphAutoencoderNeighborhood::neighbour_losses(const at::Tensor& z, const Batch& batch,
                                                          const DropoutKey& key) const {
  const ModuleScope scope("neighbours");
  at::Tensor h = z;
  for (size_t i = 0; i + 1 < neighbours_.size(); ++i)
    h = relu_dropout(neighbours_[i].forward(h), options_.dropout,
                     static_cast<uint32_t>(encoder_.size() + decoder_.size() + i), key, batch.node_item(),
                     batch.node_local());
  return linear_multilabel_bce(h, neighbours_.back().weight(), neighbours_.back().bias(), batch.neighbour_ptr,
                               batch.neighbour_ids);
}

}  // namespace plimsoll
