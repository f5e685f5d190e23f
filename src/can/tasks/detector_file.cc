#include "can/tasks/detector_file.h"

#include <fmt/format.h>

#include "base/error.h"
#include "engine/model_file/model_options.h"
#include "engine/model_file/tensor_file.h"
#include "store/metadata_json.h"

namespace plimsoll {
namespace {

constexpr const char* kGat = "gat_with_jk";
constexpr const char* kVgae = "graph_autoencoder_neighborhood";

// Sets the model of `detector` from the file. `read` is read_model() or map_model().
void set_model(const SafetensorsView& file, Detector& detector, const auto& read) {
  const std::string name = file.meta("plimsoll.model");
  if (name == kGat)
    detector.gat = read(
        file, [options = read_options<GatOptions>(file)] { return std::make_unique<GATWithJK>(options, 0); });
  else if (name == kVgae)
    detector.vgae = read(file, [options = read_options<VgaeOptions>(file)] {
      return std::make_unique<GraphAutoencoderNeighborhood>(options, 0);
    });
  else
    throw InputError(
        fmt::format("{}: holds a model '{}', expected '{}' or '{}'", file.path(), name, kGat, kVgae));
}

void read_thresholds(const SafetensorsView& file, DetectorFacts& facts) {
  if (!file.metadata().contains("plimsoll.thresholds")) return;
  read_metadata(file, "plimsoll.thresholds", [&](const Json& list) {
    for (const Json& entry : list)
      facts.thresholds.push_back({entry.at("target_rate"), entry.at("realised_rate"), entry.at("log_odds")});
  });
}

// Reads a list of names in the metadata; an absent key is an empty list.
std::vector<std::string> read_names(const SafetensorsView& file, const char* key) {
  if (!file.metadata().contains(key)) return {};
  return read_metadata(file, key, [](const Json& list) { return list.get<std::vector<std::string>>(); });
}

}  // namespace

void save_detector(const std::filesystem::path& path, const Detector& detector) {
  std::map<std::string, TensorSpan> tensors = tensors_of(detector.parameters());
  tensors["vocabulary.ids"] = as_tensor(detector.facts.vocabulary.keys);
  tensors["vocabulary.benign"] = as_tensor(detector.facts.benign_ids.keys);
  if (detector.facts.benign)
    for (const auto& [name, tensor] : *detector.facts.benign) tensors[name] = tensor.span();
  Json thresholds = Json::array();
  for (const Threshold& threshold : detector.facts.thresholds)
    thresholds.push_back({{"target_rate", threshold.target_rate},
                          {"realised_rate", threshold.realised_rate},
                          {"log_odds", threshold.level}});
  const Json config =
      detector.gat ? options_json(detector.gat->options()) : options_json(detector.vgae->options());
  TensorMetadata metadata = {
      {"plimsoll.model", detector.gat ? kGat : kVgae},
      {"plimsoll.config", config.dump()},
      {"plimsoll.thresholds", thresholds.dump()},
      {"plimsoll.trained_on", Json(detector.facts.trained_on).dump()},
      {"plimsoll.without", Json(detector.facts.without).dump()},
      {"plimsoll.unknown_ids", detector.facts.unknown_ids_apart ? "apart" : "learned"}};
  if (!detector.facts.data.empty()) metadata["plimsoll.data"] = detector.facts.data;
  put_channel_names(detector.facts.vocabulary.channels, metadata);
  write_safetensors(path, tensors, metadata);
}

Detector load_detector(const std::filesystem::path& path) {
  const SafetensorsView file(path);
  Detector detector;
  set_model(file, detector, [](const auto& view, const auto& make) { return read_model(view, make); });
  detector.facts.vocabulary = read_ids(file, "vocabulary.ids");
  detector.facts.benign_ids = read_ids(file, "vocabulary.benign");
  NamedTensors benign = own_tensors(file, "profile.");
  benign.merge(own_tensors(file, "timing."));
  benign.merge(own_tensors(file, "fusion."));
  detector.facts.benign = std::make_shared<const NamedTensors>(std::move(benign));
  const auto ids = file.metadata().find("plimsoll.unknown_ids");
  detector.facts.unknown_ids_apart = ids != file.metadata().end() && ids->second == "apart";
  const auto data = file.metadata().find("plimsoll.data");
  if (data != file.metadata().end()) detector.facts.data = data->second;
  detector.facts.without = read_names(file, "plimsoll.without");
  detector.facts.trained_on = read_names(file, "plimsoll.trained_on");
  read_thresholds(file, detector.facts);
  return detector;
}

MappedDetector map_detector(const std::filesystem::path& path) {
  MappedDetector mapped{std::make_shared<const SafetensorsView>(path), {}};
  set_model(*mapped.file, mapped.detector,
            [](const auto& view, const auto& make) { return map_model(view, make); });
  return mapped;
}

}  // namespace plimsoll
