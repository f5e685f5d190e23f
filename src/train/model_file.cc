#include "train/model_file.h"

#include <fmt/format.h>

#include "base/error.h"
#include "store/safetensors.h"
#include "train/tensor_file.h"

namespace plimsoll {
namespace {

constexpr const char* kModelName = "gat_with_jk";

// The options by name: the one list that both directions use.
template <typename Options, typename Visit>
void visit_options(Options& options, Visit&& visit) {
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
void visit_later_options(Options& options, Visit&& visit) {
  visit("attention", options.attention);
  visit("edge_features", options.edge_features);
  visit("jk", options.jk);
  visit("pooling", options.pooling);
}

GATWithJKOptions read_options(const SafetensorsView& file, const std::string& path) {
  if (file.meta("plimsoll.model") != kModelName)
    throw InputError(
        fmt::format("{}: holds a model '{}', expected '{}'", path, file.meta("plimsoll.model"), kModelName));
  GATWithJKOptions options;
  try {
    const Json config = Json::parse(file.meta("plimsoll.config"));
    visit_options(options, [&](const char* key, auto& value) {
      value = config.at(key).get<std::remove_reference_t<decltype(value)>>();
    });
    visit_later_options(options, [&](const char* key, auto& value) { value = config.value(key, value); });
  } catch (const Json::exception& error) {
    throw InputError(fmt::format("{}: metadata 'plimsoll.config': {}", path, error.what()));
  }
  constexpr int64_t kMost = int64_t{1} << 30;
  for (const int64_t size : {options.num_ids, options.in_features, options.embedding, options.layers,
                             options.hidden, options.heads, options.fc_layers, options.edge_features + 1})
    if (size < 1 || size > kMost)
      throw InputError(path + ": metadata 'plimsoll.config' holds an impossible size");
  return options;
}

}  // namespace

void save_model(const std::filesystem::path& path, const DetectorModel& detector) {
  std::map<std::string, TensorSpan> tensors = tensors_of(detector.model->parameters());
  const std::vector<int64_t> vocabulary = widen(detector.vocabulary);
  const std::vector<int64_t> benign = widen(detector.benign_ids);
  tensors["vocabulary.ids"] = as_tensor(vocabulary);
  tensors["vocabulary.benign"] = as_tensor(benign);

  Json config = Json::object();
  const auto write = [&](const char* key, const auto& value) { config[key] = value; };
  visit_options(detector.model->options(), write);
  visit_later_options(detector.model->options(), write);
  Json thresholds = Json::array();
  for (const Threshold& threshold : detector.thresholds)
    thresholds.push_back({{"target_rate", threshold.target_rate},
                          {"realised_rate", threshold.realised_rate},
                          {"log_odds", threshold.log_odds}});
  write_safetensors(path, tensors,
                    {{"plimsoll.model", kModelName},
                     {"plimsoll.config", config.dump()},
                     {"plimsoll.thresholds", thresholds.dump()},
                     {"plimsoll.trained_on", Json(detector.trained_on).dump()}});
}

DetectorModel load_model(const std::filesystem::path& path) {
  const SafetensorsView file(path);
  DetectorModel detector;
  const GATWithJKOptions options = read_options(file, path.string());
  try {
    detector.model = std::make_unique<GATWithJK>(options, 0);
  } catch (const UsageError& error) {
    throw InputError(fmt::format("{}: metadata 'plimsoll.config': {}", path.string(), error.what()));
  }
  read_tensors(file, path.string(), detector.model->parameters());
  detector.vocabulary = read_ids(file, "vocabulary.ids");
  detector.benign_ids = read_ids(file, "vocabulary.benign");
  const auto thresholds = file.metadata().find("plimsoll.thresholds");
  if (thresholds == file.metadata().end()) return detector;
  try {
    for (const Json& entry : Json::parse(thresholds->second))
      detector.thresholds.push_back(
          {entry.at("target_rate"), entry.at("realised_rate"), entry.at("log_odds")});
    detector.trained_on = Json::parse(file.meta("plimsoll.trained_on")).get<std::vector<std::string>>();
  } catch (const Json::exception& error) {
    throw InputError(fmt::format("{}: metadata 'plimsoll.thresholds' or 'plimsoll.trained_on': {}",
                                 path.string(), error.what()));
  }
  return detector;
}

}  // namespace plimsoll
