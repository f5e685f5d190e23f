#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "nn/parameters.h"

namespace plimsoll {

/// The tensors that were, or were not, initialised from a file, and why.
struct InitialWeights {
  int64_t taken = 0;                          ///< Number of tensors read from the file.
  std::vector<std::string> absent = {};       ///< Tensors of the model that are not in the file.
  std::vector<std::string> other_shape = {};  ///< Entries such as "NAME [10, 8], in the file [12, 8]".
  std::vector<std::string> unused = {};       ///< Tensors of the file that are not in the model.
  std::vector<std::string> of_data = {};      ///< Tensors of the file that were computed from the data
                                              ///< instead.
};

/// Copies the f32 tensors of a safetensors file to the parameters and buffers of the same name and shape;
/// other parameters and buffers keep their values. With `own_scale`, the mean and scale of targets
/// (TargetUnits) also keep their values. A table of embeddings on a disk keeps the file open until it starts
/// (StoredRows::start_from). Errors: InputError if the file is damaged, has no matching tensor, or has
/// embeddings of nodes of another shape; Failure; BudgetExceeded.
InitialWeights init_from(const std::filesystem::path& file, const ParameterList& parameters, bool own_scale);

/// Describes the differences, one per line; empty if there are none.
std::string in_words(const InitialWeights& weights);

}  // namespace plimsoll
