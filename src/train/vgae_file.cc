#include "train/vgae_file.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/json.h"
#include "train/tensor_file.h"

namespace plimsoll {
namespace {

constexpr const char* kModelName = "graph_autoencoder_neighborhood";

// The options by name: the one list that both directions use.
template <typename Options, typename Visit>
void visit_options(Options& options, Visit&& visit) {
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

VgaeOptions read_options(const SafetensorsView& file, const std::string& path) {
  if (file.meta("plimsoll.model") != kModelName)
    throw InputError(
        fmt::format("{}: holds a model '{}', expected '{}'", path, file.meta("plimsoll.model"), kModelName));
  VgaeOptions options;
  try {
    const Json config = parse_json(file.meta("plimsoll.config"));
    visit_options(options, [&](const char* key, auto& value) {
      value = config.at(key).get<std::remove_reference_t<decltype(value)>>();
    });
  } catch (const Json::exception& error) {
    throw InputError(fmt::format("{}: metadata 'plimsoll.config': {}", path, error.what()));
  }
  constexpr int64_t kMost = int64_t{1} << 24;
  std::vector<int64_t> sizes = {options.num_ids,          options.in_features, options.embedding,
                                options.latent,           options.heads,       options.decoder_heads,
                                options.edge_features + 1};
  sizes.insert(sizes.end(), options.hidden.begin(), options.hidden.end());
  if (options.hidden.empty() || options.hidden.size() > 64 ||
      std::ranges::any_of(sizes, [](int64_t size) { return size < 1 || size > kMost; }))
    throw InputError(path + ": metadata 'plimsoll.config' holds an impossible size");
  return options;
}

}  // namespace

void save_autoencoder(const std::filesystem::path& path, const Autoencoder& autoencoder) {
  std::map<std::string, TensorSpan> tensors = tensors_of(autoencoder.model->parameters());
  const std::vector<int64_t> vocabulary = widen(autoencoder.vocabulary);
  tensors["vocabulary.ids"] = as_tensor(vocabulary);
  Json config = Json::object();
  visit_options(autoencoder.model->options(),
                [&](const char* key, const auto& value) { config[key] = value; });
  write_safetensors(path, tensors, {{"plimsoll.model", kModelName}, {"plimsoll.config", config.dump()}});
}

Autoencoder load_autoencoder(const std::filesystem::path& path) {
  const SafetensorsView file(path);
  Autoencoder autoencoder;
  const VgaeOptions options = read_options(file, path.string());
  try {
    autoencoder.model = std::make_unique<GraphAutoencoderNeighborhood>(options, 0);
  } catch (const UsageError& error) {
    throw InputError(fmt::format("{}: metadata 'plimsoll.config': {}", path.string(), error.what()));
  }
  read_tensors(file, path.string(), autoencoder.model->parameters());
  autoencoder.vocabulary = read_ids(file, "vocabulary.ids");
  return autoencoder;
}

}  // namespace plimsoll
