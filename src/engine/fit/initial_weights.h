#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "nn/parameters.h"

namespace plimsoll {

/// The names of the tensors that did not start from a file, and why.
struct InitialWeights {
  int64_t taken = 0;                          ///< Number of tensors read from the file.
  std::vector<std::string> absent = {};       ///< Not in the file.
  std::vector<std::string> other_shape = {};  ///< Entries such as "NAME [10, 8], in the file [12, 8]".
  std::vector<std::string> unused = {};       ///< In the file, but not in the model.
  std::vector<std::string> of_data = {};      ///< In the file, but computed from the data instead.
};

/// Copies the f32 tensors of a safetensors file to the parameters and buffers of the same name and shape; the
/// others keep their values. With `own_scale` so do the mean and scale of targets (TargetUnits). Errors:
/// InputError if the file is damaged or has no matching tensor.
InitialWeights init_from(const std::filesystem::path& file, const ParameterList& parameters, bool own_scale);

/// The differences, one per line; empty if there are none.
std::string in_words(const InitialWeights& weights);

}  // namespace plimsoll
