#pragma once

#include <filesystem>
#include <memory>
#include <vector>

#include "base/json.h"
#include "engine/data/trained_contents.h"
#include "nn/gnn.h"
#include "store/message_ids.h"

namespace plimsoll {

/// A trained model of graphs or nodes, a Gnn or an Sgmp, and what is needed to use it on other data.
struct GnnModel {
  std::unique_ptr<GraphModel> model;
  MessageIds vocabulary = {};     ///< by index, where nodes are IDs
  std::string trained_on = {};    ///< the data set: XXH3 of its identity
  TrainedContents contents = {};  ///< what trained and validated it

  /// The Gnn that it is, for who runs it layer by layer. Errors: Failure where it is another model.
  const Gnn& gnn() const;
};

/// Writes a model as safetensors: parameters and buffers by name, "vocabulary.ids" and, of graphs that
/// trained it, "trained.graphs" (I64), and in the metadata "plimsoll.trained_recordings" (JSON, where there
/// are some), "plimsoll.trained_split", "plimsoll.model" "gnn", "sgmp" or "gtmp", "plimsoll.config" (JSON),
/// "plimsoll.trained_on" and "plimsoll.channels".
void save_gnn(const std::filesystem::path& path, const GnnModel& model);

/// Errors: InputError naming the file and the tensor or key that is missing or of another shape.
GnnModel load_gnn(const std::filesystem::path& path);

}  // namespace plimsoll
