#pragma once

#include "base/json.h"
#include "nn/gat_with_jk.h"
#include "nn/gnn.h"
#include "nn/sgmp.h"
#include "nn/vgae.h"
#include "store/safetensors.h"

namespace plimsoll {

// The options of models as JSON, by the names of their members: metadata "plimsoll.config" of a file.

Json options_json(const GATWithJKOptions& options);
Json options_json(const VgaeOptions& options);
Json options_json(const GnnOptions& options);
Json options_json(const SgmpOptions& options);

/// Those of a file. Options that older files lack have their defaults. Errors: InputError for what is
/// missing, of another type, or impossible.
GATWithJKOptions gat_options(const SafetensorsView& file);
VgaeOptions vgae_options(const SafetensorsView& file);
GnnOptions gnn_options(const SafetensorsView& file);
/// Without `gtmp`, which the kind of the file says.
SgmpOptions sgmp_options(const SafetensorsView& file);

}  // namespace plimsoll
