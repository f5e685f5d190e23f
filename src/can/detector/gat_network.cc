#include "can/detector/gat_network.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <string_view>

#include "base/error.h"
#include "config/checks.h"
#include "kernels/segment/segment.h"
#include "store/metadata_json.h"

namespace plimsoll {
namespace {

// Reads an enumerator of the options; files of older versions may lack it.
template <typename Enum>
void read_word(const Json& json, const char* key, Enum& value) {
  if (!json.contains(key)) return;
  const auto word = json.at(key).get<std::string>();
  const std::optional<Enum> found = find_word<Enum>(word);
  if (!found) throw UsageError(fmt::format("{} '{}', expected {}", key, word, fmt::join(kWords<Enum>, ", ")));
  value = *found;
}

GatOptions gat_options_of(const Json& json) {
  GatOptions options{.num_ids = whole_number(json.at("num_ids")),
                     .in_features = whole_number(json.at("in_features")),
                     .embedding = whole_number(json.at("embedding")),
                     .layers = whole_number(json.at("layers")),
                     .hidden = whole_number(json.at("hidden")),
                     .heads = whole_number(json.at("heads")),
                     .fc_layers = whole_number(json.at("fc_layers")),
                     .edge_features = whole_number(json.value("edge_features", Json(0)))};
  read_word(json, "attention", options.attention);
  read_word(json, "jk", options.jk);
  read_word(json, "pooling", options.pooling);
  return options;
}

// Errors: InputError for a model of another kind, and for sizes that are missing or impossible.
GatOptions read_options(const SafetensorsView& file) {
  const std::string& model = file.meta("plimsoll.model");
  constexpr std::string_view kModel = "gat_with_jk";
  if (model != kModel)
    throw InputError(
        fmt::format("{}: holds a model '{}'; detection runs the classifier 'gat_with_jk', such as the "
                    "detector.safetensors "
                    "of a run of task detection or distillation",
                    file.path(), model));
  const GatOptions options = read_metadata(file, "plimsoll.config", gat_options_of);
  for (const int64_t value :
       {options.num_ids, options.in_features, options.embedding, options.layers, options.hidden,
        options.heads, options.fc_layers, options.edge_features == 0 ? 1 : options.edge_features})
    if (value < 1 || value > kMaxSizeOption)
      throw InputError(file.path() + ": metadata 'plimsoll.config' holds an impossible size");
  return options;
}

}  // namespace

GatNetwork::GatNetwork(const SafetensorsView& file) : config_(read_options(file)) {
  const auto embedding = values_of(file, "embedding.weight", {config_.num_ids, config_.embedding});
  embedding_.assign(embedding.begin(), embedding.end());
  int64_t in = config_.embedding + config_.in_features - 1;
  for (int64_t l = 0; l < config_.layers; ++l) {
    layers_.emplace_back(file, fmt::format("convs.{}", l), config_.attention,
                         GatLayerOptions{in, config_.heads, config_.hidden, config_.edge_features});
    in = width();
  }
  if (config_.jk == JkMode::lstm) lstm_.emplace(file, "jk", config_.layers, width());
  const int64_t joined = config_.jk == JkMode::cat ? config_.layers * width() : width();
  for (int64_t j = 0; j + 1 < config_.fc_layers; ++j)
    linear_.emplace_back(file, fmt::format("fc.{}.weight", j), fmt::format("fc.{}.bias", j), joined, joined);
  linear_.emplace_back(file, "head.weight", "head.bias", joined, 2);
}

void GatNetwork::read_edges(const GraphBlock& graph) {
  const int64_t nodes = graph.nodes();
  const int64_t edges = graph.edge_count();
  ends_.resize(size(2 * edges));
  for (int64_t e = 0; e < edges; ++e)
    for (const int64_t end : {0, 1}) ends_[size(end * edges + e)] = graph.edges[size(2 * e + end)];
  order_.resize(size(edge_order_size(nodes, edges)));
  make_edge_order(ends_.data(), ends_.data() + edges, edges, nodes, nodes, /*same_nodes=*/true,
                  /*drop_loops=*/true, order_.data());
  edges_ = {view_edge_order(order_.data(), static_cast<int64_t>(order_.size()), nodes, nodes, edges), edges,
            graph.edge_attr.data()};
}

void GatNetwork::embed(const GraphBlock& graph) {
  const int64_t features = config_.in_features;
  const int64_t width = config_.embedding;
  input_.resize(size(graph.nodes() * (width + features - 1)));
  float* to = input_.data();
  for (int64_t n = 0; n < graph.nodes(); ++n) {
    const float* const row = graph.x.data() + n * features;
    if (!(row[0] >= 0 && row[0] < static_cast<float>(config_.num_ids)))
      throw Failure(
          fmt::format("node {}: found the ID index {}, expected one of {}", n, row[0], config_.num_ids));
    to = std::copy_n(&embedding_[size(static_cast<int64_t>(row[0]) * width)], width, to);
    to = std::copy_n(row + 1, features - 1, to);
  }
}

// With jumping knowledge "cat" the layers are pooled one by one, which gives the same result as pooling their
// concatenation.
void GatNetwork::pool(int64_t nodes) {
  const SegmentKernels<float>& kernels = segment_kernels<float>(kernel_level());
  const int64_t width = this->width();
  const int64_t ptr[] = {0, nodes};
  const Reduce reduce = config_.pooling;
  if (config_.jk == JkMode::cat) {
    pooled_.resize(size(config_.layers * width));
    for (int64_t l = 0; l < config_.layers; ++l)
      kernels.reduce(outputs_.data() + l * nodes * width, ptr, width, reduce, 0, 1,
                     &pooled_[size(l * width)]);
    return;
  }
  joined_.resize(size(nodes * width));
  if (lstm_) {
    lstm_->forward(outputs_.data(), nodes, joined_.data());
  } else {
    std::copy_n(outputs_.data(), nodes * width, joined_.data());
    for (int64_t i = nodes * width; i < config_.layers * nodes * width; ++i) {
      float& max = joined_[size(i % (nodes * width))];
      max = std::max(max, outputs_[size(i)]);
    }
  }
  pooled_.resize(size(width));
  kernels.reduce(joined_.data(), ptr, width, reduce, 0, 1, pooled_.data());
}

float GatNetwork::score(const GraphBlock& graph) {
  const int64_t nodes = graph.nodes();
  const int64_t layer_size = nodes * width();
  read_edges(graph);
  embed(graph);
  outputs_.resize(size(config_.layers * layer_size));
  const int64_t alphas = (edges_.given + nodes) * config_.heads;
  alpha_.assign(size(config_.layers * alphas), 0.0F);
  const float* x = input_.data();
  for (int64_t l = 0; l < config_.layers; ++l) {
    float* const out = outputs_.data() + l * layer_size;
    layers_[size(l)].forward(x, edges_, alpha_.data() + l * alphas, out);
    x = out;
  }
  pool(nodes);
  for (const PackedLinear& layer : linear_) {
    if (&layer != linear_.data())
      for (float& value : pooled_) value = std::max(value, 0.0F);
    next_.resize(size(layer.out()));
    layer.forward(pooled_.data(), 1, next_.data());
    pooled_.swap(next_);
  }
  return pooled_[1] - pooled_[0];
}

std::span<const float> GatNetwork::attention(int64_t layer) const {
  const size_t layer_size = alpha_.size() / size(config_.layers);
  return std::span(alpha_).subspan(size(layer) * layer_size, layer_size);
}

}  // namespace plimsoll
