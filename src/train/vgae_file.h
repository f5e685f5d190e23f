#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "nn/vgae.h"

namespace plimsoll {

/// A trained autoencoder and what is needed to use it on other data.
struct Autoencoder {
  std::unique_ptr<GraphAutoencoderNeighborhood> model;
  std::vector<uint32_t> vocabulary;  ///< CAN IDs by index

  /// The identity of its weights (ParameterList::hash).
  std::string hash() const { return model->parameters().hash(); }
};

/// Writes an autoencoder as safetensors: parameters and buffers by name, "vocabulary.ids" (I64), and in the
/// metadata "plimsoll.model" "graph_autoencoder_neighborhood" and "plimsoll.config" (JSON).
void save_autoencoder(const std::filesystem::path& path, const Autoencoder& autoencoder);

/// Errors: InputError naming the file and the tensor or key that is missing or of another shape.
Autoencoder load_autoencoder(const std::filesystem::path& path);

}  // namespace plimsoll
