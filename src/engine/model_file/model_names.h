#pragma once

#include <string>
#include <vector>

#include "store/safetensors.h"

namespace plimsoll {

/// Names of the columns that a model reads and of the classes that it predicts, by index. A list is empty if
/// the training data had no such names.
struct ModelNames {
  std::vector<std::string> node_features = {};
  std::vector<std::string> edge_features = {};
  std::vector<std::string> classes = {};
};

/// Adds the lists that are not empty to the metadata of a file: "plimsoll.node_features",
/// "plimsoll.edge_features" and "plimsoll.classes", each a JSON list.
void put_names(const ModelNames& names, TensorMetadata& metadata);
/// Reads what put_names() wrote. Errors: InputError for anything but lists of texts.
ModelNames read_names(const SafetensorsView& file);

}  // namespace plimsoll
