#pragma once

#include <filesystem>
#include <memory>
#include <vector>

#include "base/json.h"
#include "engine/data/trained_contents.h"
#include "engine/model_file/model_names.h"
#include "nn/gnn.h"
#include "store/message_ids.h"
#include "store/safetensors.h"

namespace plimsoll {

/// A trained model of graphs or nodes, a Gnn or an Sgmp, with the facts needed to use it on other data.
struct GnnModel {
  /// The file from which the model was read. The model's table of embeddings of nodes, if any, is a view of
  /// it.
  std::shared_ptr<const SafetensorsView> file = nullptr;
  std::unique_ptr<GraphModel> model;
  MessageIds vocabulary = {};     ///< IDs by index, if nodes are IDs.
  std::string trained_on = {};    ///< XXH3 of the identity of the data set.
  TrainedContents contents = {};  ///< Contents of the training and validation data.
  ModelNames names = {};          ///< Names of features and classes, if the data had any.

  /// Returns the model as a Gnn, which runs layer by layer. Errors: Failure if it is another model.
  const Gnn& gnn() const;
};

/// Writes a model as safetensors: parameters and buffers by name, "vocabulary.ids", and "trained.graphs"
/// (I64) if graphs are known by content; in the metadata "plimsoll.trained_recordings" (JSON, if there are
/// any), "plimsoll.trained_split", "plimsoll.model" ("gnn", "sgmp" or "gtmp"), "plimsoll.config" (JSON),
/// "plimsoll.trained_on", "plimsoll.channels", and the keys of put_names(). Errors: those of
/// write_safetensors(), and of reading a table of embeddings on a disk (StoredRows).
void save_gnn(const std::filesystem::path& path, const GnnModel& model);

/// Reads a model that save_gnn() wrote, for use without training. Embeddings of nodes stay in the file, which
/// is mapped, so a table larger than memory can be used. Errors: InputError naming the file, and the tensor
/// or key that is missing or of another shape; Failure; BudgetExceeded.
GnnModel load_gnn(const std::filesystem::path& path);

}  // namespace plimsoll
