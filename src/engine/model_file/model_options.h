#pragma once

#include "base/json.h"
#include "config/sections/gat.h"
#include "config/sections/gnn.h"
#include "config/sections/paths.h"
#include "config/sections/vgae.h"
#include "store/safetensors.h"

namespace plimsoll {

// The options of models as JSON, by the names of their members: metadata "plimsoll.config" of a file. This
// header does not need torch.

Json options_json(const GatOptions& options);
Json options_json(const VgaeOptions& options);
Json options_json(const GnnOptions& options);
Json options_json(const SgmpOptions& options);

/// Reads the options of a file. Options that older files lack get their defaults. Errors: InputError that
/// names the option that is missing, of another type, or out of range. The sizes may still be wrong:
/// read_model() compares them with the tensors (tensor_file.h).
GatOptions gat_options(const SafetensorsView& file);
VgaeOptions vgae_options(const SafetensorsView& file);
GnnOptions gnn_options(const SafetensorsView& file);
/// Reads the options of a file, except `gtmp`, which depends on the kind of the file.
SgmpOptions sgmp_options(const SafetensorsView& file);

}  // namespace plimsoll
