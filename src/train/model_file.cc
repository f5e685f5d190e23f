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
  } catch (const Json::exception& error) {
    throw InputError(fmt::format("{}: metadata 'plimsoll.config': {}", path, error.what()));
  }
  constexpr int64_t kMost = int64_t{1} << 30;
  for (const int64_t size : {options.num_ids, options.in_features, options.embedding, options.layers,
                             options.hidden, options.heads, options.fc_layers})
    if (size < 1 || size > kMost)
      throw InputError(path + ": metadata 'plimsoll.config' holds an impossible size");
  return options;
}

// A list of names in the metadata; absent means none.
std::vector<std::string> read_names(const SafetensorsView& file, const std::string& path, const char* key) {
  const auto found = file.metadata().find(key);
  if (found == file.metadata().end()) return {};
  try {
    return Json::parse(found->second).get<std::vector<std::string>>();
  } catch (const Json::exception& error) {
    throw InputError(fmt::format("{}: metadata '{}': {}", path, key, error.what()));
  }
}

}  // namespace

void save_model(const std::filesystem::path& path, const DetectorModel& detector) {
  std::map<std::string, TensorSpan> tensors = tensors_of(detector.model->parameters());
  const std::vector<int64_t> vocabulary = widen(detector.vocabulary);
  const std::vector<int64_t> benign = widen(detector.benign_ids);
  tensors["vocabulary.ids"] = as_tensor(vocabulary);
  tensors["vocabulary.benign"] = as_tensor(benign);
  if (detector.benign)
    for (const auto& [name, tensor] : *detector.benign) tensors[name] = tensor.span();

  Json config = Json::object();
  visit_options(detector.model->options(), [&](const char* key, const auto& value) { config[key] = value; });
  Json thresholds = Json::array();
  for (const Threshold& threshold : detector.thresholds)
    thresholds.push_back({{"target_rate", threshold.target_rate},
                          {"realised_rate", threshold.realised_rate},
                          {"log_odds", threshold.log_odds}});
  write_safetensors(path, tensors,
                    {{"plimsoll.model", kModelName},
                     {"plimsoll.config", config.dump()},
                     {"plimsoll.thresholds", thresholds.dump()},
                     {"plimsoll.trained_on", Json(detector.trained_on).dump()},
                     {"plimsoll.without", Json(detector.without).dump()}});
}

DetectorModel load_model(const std::filesystem::path& path) {
  const SafetensorsView file(path);
  DetectorModel detector;
  detector.model = std::make_unique<GATWithJK>(read_options(file, path.string()), 0);
  read_tensors(file, path.string(), detector.model->parameters());
  detector.vocabulary = read_ids(file, "vocabulary.ids");
  detector.benign_ids = read_ids(file, "vocabulary.benign");
  NamedTensors tensors = own_tensors(file, "profile.");
  tensors.merge(own_tensors(file, "timing."));
  detector.benign = std::make_shared<const NamedTensors>(std::move(tensors));
  detector.without = read_names(file, path.string(), "plimsoll.without");
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
