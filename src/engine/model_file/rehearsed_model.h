#pragma once

#include <memory>

#include "engine/model_file/graph_models.h"

namespace plimsoll {

/// Makes the model of a recipe with the memory that load_gnn() would need for it, before there is a file. All
/// numbers are 0. A table of embeddings of nodes is a mapping without memory, as it will be one of the file.
/// Errors: those of make_graph_model(); Failure if the system refuses the mapping.
std::unique_ptr<GraphModel> make_rehearsed_model(const Recipe& recipe, const ModelInputs& inputs);

}  // namespace plimsoll
