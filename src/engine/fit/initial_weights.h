#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "nn/parameters.h"

namespace plimsoll {

/// What of a model did not start from a file, by name.
struct InitialWeights {
  int64_t taken = 0;                          ///< tensors
  std::vector<std::string> absent = {};       ///< not in the file
  std::vector<std::string> other_shape = {};  ///< "NAME [10, 8], in the file [12, 8]"
  std::vector<std::string> unused = {};       ///< in the file, and not in the model
  std::vector<std::string> of_data = {};      ///< in the file, and not taken: they follow from the data
};

/// Gives parameters and buffers the values that a safetensors file has of the same name and shape, f32; the
/// others stay as they are. `own_scale`: so do mean and scale of targets (TargetUnits). Errors: InputError
/// for a file that is damaged, or has none of them.
InitialWeights init_from(const std::filesystem::path& file, const ParameterList& parameters, bool own_scale);

/// The differences, a line each; empty where there are none.
std::string in_words(const InitialWeights& weights);

}  // namespace plimsoll
