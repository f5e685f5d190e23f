#include "train/model_file/model_options.h"

#include <algorithm>

#include "base/error.h"
#include "store/metadata_json.h"

namespace plimsoll {
namespace {

constexpr const char* kConfig = "plimsoll.config";

// The options by name: the one list that both directions use.
template <typename Options, typename Visit>
void visit_gat(Options& options, Visit&& visit) {
  visit("num_ids", options.num_ids);
  visit("in_features", options.in_features);
  visit("embedding", options.embedding);
  visit("layers", options.layers);
  visit("hidden", options.hidden);
  visit("heads", options.heads);
  visit("dropout", options.dropout);
  visit("fc_layers", options.fc_layers);
}
// Those that older files lack, whose models have the defaults.
template <typename Options, typename Visit>
void visit_later_gat(Options& options, Visit&& visit) {
  visit("attention", options.attention);
  visit("edge_features", options.edge_features);
  visit("jk", options.jk);
  visit("pooling", options.pooling);
}
template <typename Options, typename Visit>
void visit_vgae(Options& options, Visit&& visit) {
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

// `edge_features` may be 0: not used.
void require_sizes(const std::vector<int64_t>& sizes, int64_t edge_features, const std::string& path) {
  constexpr int64_t kMost = int64_t{1} << 24;  // as src/detect/gat_network.cc, which reads them too
  if (std::ranges::any_of(sizes, [](int64_t size) { return size < 1 || size > kMost; }) ||
      edge_features < 0 || edge_features > kMost)
    throw InputError(path + ": metadata 'plimsoll.config' holds an impossible size");
}

}  // namespace

Json options_json(const GATWithJKOptions& options) {
  Json config = Json::object();
  const auto write = [&](const char* key, const auto& value) { config[key] = value; };
  visit_gat(options, write);
  visit_later_gat(options, write);
  return config;
}

Json options_json(const VgaeOptions& options) {
  Json config = Json::object();
  visit_vgae(options, [&](const char* key, const auto& value) { config[key] = value; });
  return config;
}

GATWithJKOptions gat_options(const SafetensorsView& file) {
  GATWithJKOptions options;
  read_metadata(file, kConfig, [&](const Json& config) {
    visit_gat(options, [&](const char* key, auto& value) {
      value = config.at(key).get<std::remove_reference_t<decltype(value)>>();
    });
    visit_later_gat(options, [&](const char* key, auto& value) { value = config.value(key, value); });
  });
  require_sizes({options.num_ids, options.in_features, options.embedding, options.layers, options.hidden,
                 options.heads, options.fc_layers},
                options.edge_features, file.path());
  return options;
}

VgaeOptions vgae_options(const SafetensorsView& file) {
  VgaeOptions options;
  read_metadata(file, kConfig, [&](const Json& config) {
    visit_vgae(options, [&](const char* key, auto& value) {
      value = config.at(key).get<std::remove_reference_t<decltype(value)>>();
    });
  });
  std::vector<int64_t> sizes = {options.num_ids, options.in_features, options.embedding,
                                options.latent,  options.heads,       options.decoder_heads};
  sizes.insert(sizes.end(), options.hidden.begin(), options.hidden.end());
  require_sizes(sizes, options.edge_features, file.path());
  constexpr size_t kMostLayers = 64;
  if (options.hidden.empty() || options.hidden.size() > kMostLayers)
    throw InputError(file.path() + ": metadata 'plimsoll.config' holds an impossible number of layers");
  return options;
}

}  // namespace plimsoll
