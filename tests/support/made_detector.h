#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "base/json.h"
#include "can/detector/fusion.h"
#include "can/windows/windows.h"
#include "store/safetensors.h"
#include "support/behaviour_test.h"

namespace plimsoll {

/// A small untrained detector: one layer of one head and one channel, over IDs of a known period.
struct MadeDetector {
  WindowFeatures features = WindowFeatures::behaviour;
  std::vector<std::string> without = {"id_index"};
  std::vector<uint32_t> ids = {0x100, 0x200};      ///< IDs with an embedding in the model.
  std::vector<uint32_t> profile = {0x100, 0x200};  ///< IDs of the profile; empty for no profile.
  bool calibrated = false;
  bool fused = true;
  TensorMetadata more = {};  ///< Metadata that precedes the detector's own.

  void write(const std::filesystem::path& path) const {
    std::map<std::string, TensorSpan> tensors;
    const std::vector<int64_t> vocabulary(ids.begin(), ids.end());
    tensors["vocabulary.ids"] = {"I64", {std::ssize(vocabulary)}, std::as_bytes(std::span(vocabulary))};
    NamedTensors learned;
    if (!profile.empty()) learned = profile_of_ids().tensors();
    if (fused) learned.merge(fusion().tensors());
    const GraphSetTables tables = feature_tables(features);
    const auto kept = [&](const std::vector<std::string>& names) {
      return std::ranges::count_if(names, [&](const std::string& name) {
        return name == "id_index" || std::ranges::find(without, name) == without.end();
      });
    };
    const int64_t nodes = kept(tables.node_features);
    const int64_t edges = kept(tables.edge_features);
    const int64_t embeddings = std::ssize(ids) + 1;
    const auto add = [&](const std::string& name, std::vector<int64_t> shape) {
      int64_t count = 1;
      for (const int64_t size : shape) count *= size;
      const std::vector<float> values(static_cast<size_t>(count), 0.25F);
      learned[name] = own_tensor<float>(values, std::move(shape));
    };
    add("embedding.weight", {embeddings, 1});
    add("convs.0.lin.weight", {1, nodes});
    for (const char* name : {"convs.0.att_src", "convs.0.att_dst"}) add(name, {1, 1, 1});
    add("convs.0.bias", {1});
    if (edges > 0) {
      add("convs.0.lin_edge.weight", {1, edges});
      add("convs.0.att_edge", {1, 1, 1});
    }
    add("head.weight", {2, 1});
    add("head.bias", {2});
    for (const auto& [name, tensor] : learned) tensors[name] = tensor.span();

    TensorMetadata metadata = more;
    metadata.merge(TensorMetadata{
        {"plimsoll.model", "gat_with_jk"},
        {"plimsoll.config", Json{{"num_ids", embeddings},
                                 {"in_features", nodes},
                                 {"embedding", 1},
                                 {"layers", 1},
                                 {"hidden", 1},
                                 {"heads", 1},
                                 {"fc_layers", 1},
                                 {"edge_features", edges}}
                                .dump()},
        {"plimsoll.data", Json{{"features", features}, {"window", "10"}, {"stride", "10"}}.dump()},
        {"plimsoll.thresholds", R"([{"target_rate":0.01,"realised_rate":0,"log_odds":0.5}])"},
        {"plimsoll.unknown_ids", "learned"},
        {"plimsoll.without", Json(without).dump()}});
    if (calibrated) metadata["plimsoll.calibrated"] = R"({"windows":20,"seconds":2,"ids":2})";
    write_safetensors(path, tensors, metadata);
  }

 private:
  BehaviourProfile profile_of_ids() const {
    std::vector<std::vector<Frame>> all;
    for (size_t i = 0; i < profile.size(); ++i)
      all.push_back(every(10 * kMs, profile[i], 30, static_cast<int64_t>(i) * kMs));
    Recording recording;
    recording.has_time = recording.has_payload = true;
    return learned_from(together(all), recording);
  }

  static Fusion fusion() {
    FusedRows rows;
    rows.values.resize(20 * kFusedParts);
    std::ranges::fill(rows.values, 0.0F);
    return Fusion::learn(rows);
  }
};

}  // namespace plimsoll
