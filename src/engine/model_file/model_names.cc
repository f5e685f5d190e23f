#include "engine/model_file/model_names.h"

#include "base/json.h"
#include "store/metadata_json.h"

namespace plimsoll {
namespace {

constexpr const char* kNodeFeatures = "plimsoll.node_features";
constexpr const char* kEdgeFeatures = "plimsoll.edge_features";
constexpr const char* kClasses = "plimsoll.classes";

std::vector<std::string> list_of(const SafetensorsView& file, const char* key) {
  if (!file.metadata().contains(key)) return {};
  return read_metadata(file, key, [](const Json& list) { return list.get<std::vector<std::string>>(); });
}

}  // namespace

void put_names(const ModelNames& names, TensorMetadata& metadata) {
  const auto put = [&](const char* key, const std::vector<std::string>& list) {
    if (!list.empty()) metadata[key] = Json(list).dump();
  };
  put(kNodeFeatures, names.node_features);
  put(kEdgeFeatures, names.edge_features);
  put(kClasses, names.classes);
}

ModelNames read_names(const SafetensorsView& file) {
  return {list_of(file, kNodeFeatures), list_of(file, kEdgeFeatures), list_of(file, kClasses)};
}

}  // namespace plimsoll
