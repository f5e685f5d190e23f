#include "train/model_file/model_options.h"

#include <algorithm>
#include <cmath>
#include <concepts>

#include "base/error.h"
#include "store/metadata_json.h"

namespace plimsoll {
namespace {

// Options that are read or written.
template <typename T, typename Options>
concept Either = std::same_as<std::remove_const_t<T>, Options>;

// The options by name: the one list that both directions use. `later` has those that older files lack.
void visit_options(Either<GATWithJKOptions> auto& options, const auto& visit, const auto& later) {
  visit("num_ids", options.num_ids);
  visit("in_features", options.in_features);
  visit("embedding", options.embedding);
  visit("layers", options.layers);
  visit("hidden", options.hidden);
  visit("heads", options.heads);
  visit("dropout", options.dropout);
  visit("fc_layers", options.fc_layers);
  later("attention", options.attention);
  later("edge_features", options.edge_features);
  later("jk", options.jk);
  later("pooling", options.pooling);
}

void visit_options(Either<VgaeOptions> auto& options, const auto& visit, const auto&) {
  visit("num_ids", options.num_ids);
  visit("in_features", options.in_features);
  visit("embedding", options.embedding);
  visit("hidden", options.hidden);
  visit("latent", options.latent);
  visit("heads", options.heads);
  visit("decoder_heads", options.decoder_heads);
  visit("dropout", options.dropout);
  visit("output", options.output);
  visit("edge_features", options.edge_features);
}

void visit_options(Either<GnnOptions> auto& options, const auto& visit, const auto& later) {
  visit("conv", options.conv);
  visit("in_features", options.in_features);
  visit("edge_features", options.edge_features);
  later("edge_weight", options.edge_weight);
  visit("num_ids", options.num_ids);
  visit("embedding", options.embedding);
  visit("layers", options.layers);
  visit("hidden", options.hidden);
  visit("heads", options.heads);
  visit("norm", options.norm);
  visit("jk", options.jk);
  visit("pooling", options.pooling);
  visit("dropout", options.dropout);
  visit("classes", options.classes);
  visit("node_head", options.node_head);
  later("values", options.values);
}

void visit_options(Either<SgmpOptions> auto& options, const auto& visit, const auto& later) {
  visit("in_features", options.in_features);
  visit("hidden", options.hidden);
  visit("layers", options.layers);
  visit("mode", options.mode);
  visit("cutoff", options.cutoff);
  visit("tile", options.tile);
  visit("direction", options.direction);
  visit("distances_only", options.distances_only);
  later("aggregate", options.aggregate);
  later("spanning_trees", options.spanning_trees);
  later("readout", options.readout);
  later("norm", options.norm);
  visit("classes", options.classes);
  visit("node_head", options.node_head);
  later("values", options.values);
}

template <typename Options>
Json written(const Options& options) {
  Json config = Json::object();
  const auto write = [&](const char* key, const auto& value) { config[key] = value; };
  visit_options(options, write, write);
  return config;
}

template <typename Options>
Options read(const SafetensorsView& file) {
  Options options;
  read_metadata(file, "plimsoll.config", [&](const Json& config) {
    visit_options(
        options,
        [&](const char* key, auto& value) {
          value = config.at(key).template get<std::remove_reference_t<decltype(value)>>();
        },
        [&](const char* key, auto& value) { value = config.value(key, value); });
  });
  return options;
}

void require(bool possible, const SafetensorsView& file, const char* what) {
  if (!possible) throw InputError(file.path() + ": metadata 'plimsoll.config' holds an impossible " + what);
}

// `edge_features` may be 0: not used.
void require_sizes(const std::vector<int64_t>& sizes, int64_t edge_features, const SafetensorsView& file) {
  constexpr int64_t kMost = int64_t{1} << 24;  // as src/detect/gat_network.cc, which reads them too
  require(std::ranges::all_of(sizes, [](int64_t size) { return size >= 1 && size <= kMost; }) &&
              edge_features >= 0 && edge_features <= kMost,
          file, "size");
}

}  // namespace

Json options_json(const GATWithJKOptions& options) {
  return written(options);
}
Json options_json(const VgaeOptions& options) {
  return written(options);
}
Json options_json(const GnnOptions& options) {
  return written(options);
}
Json options_json(const SgmpOptions& options) {
  return written(options);
}

GATWithJKOptions gat_options(const SafetensorsView& file) {
  const auto options = read<GATWithJKOptions>(file);
  require_sizes({options.num_ids, options.in_features, options.embedding, options.layers, options.hidden,
                 options.heads, options.fc_layers},
                options.edge_features, file);
  return options;
}

VgaeOptions vgae_options(const SafetensorsView& file) {
  const auto options = read<VgaeOptions>(file);
  std::vector<int64_t> sizes = {options.num_ids, options.in_features, options.embedding,
                                options.latent,  options.heads,       options.decoder_heads};
  sizes.insert(sizes.end(), options.hidden.begin(), options.hidden.end());
  require_sizes(sizes, options.edge_features, file);
  constexpr size_t kMostLayers = 64;
  require(!options.hidden.empty() && options.hidden.size() <= kMostLayers, file, "number of layers");
  return options;
}

GnnOptions gnn_options(const SafetensorsView& file) {
  const auto options = read<GnnOptions>(file);
  require_sizes({options.in_features, options.embedding, options.layers, options.hidden, options.heads,
                 options.classes},
                options.edge_features, file);
  return options;
}

SgmpOptions sgmp_options(const SafetensorsView& file) {
  const auto options = read<SgmpOptions>(file);
  require_sizes({options.in_features, options.layers, options.hidden, options.classes, options.tile}, 0,
                file);
  require(options.cutoff > 0 && std::isfinite(options.cutoff), file, "cutoff");
  require(options.spanning_trees >= 0 && options.spanning_trees <= 65535, file, "number of spanning trees");
  return options;
}

}  // namespace plimsoll
