#pragma once

#include <map>
#include <string>
#include <vector>

#include "nn/parameters.h"
#include "store/message_ids.h"
#include "store/safetensors.h"

namespace plimsoll {

// What the files of models share.

/// Parameters and buffers by name: views of their memory.
std::map<std::string, TensorSpan> tensors_of(const ParameterList& parameters);
/// Overwrites parameters and buffers. Errors: InputError for one that is missing or of another shape.
void read_tensors(const SafetensorsView& file, const std::string& path, const ParameterList& parameters);
/// A view of a tensor in the file, which must outlive it and cannot be written to. Errors: likewise.
at::Tensor mapped_tensor(const SafetensorsView& file, const std::string& path, const std::string& name,
                         const std::vector<int64_t>& shape);

/// Messages as I64, and the names of their channels in the metadata (store/message_ids.h); absent means none.
MessageIds read_ids(const SafetensorsView& file, const std::string& name);

}  // namespace plimsoll
