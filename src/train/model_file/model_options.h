#pragma once

#include "base/json.h"
#include "nn/gat_with_jk.h"
#include "nn/vgae.h"
#include "store/safetensors.h"

namespace plimsoll {

// The options of detectors' models as JSON, by the names of their members: metadata "plimsoll.config" of a
// file.

Json options_json(const GATWithJKOptions& options);
Json options_json(const VgaeOptions& options);

/// Those of a file. A GAT's options that older files lack have their defaults. Errors: InputError for what is
/// missing, of another type, or impossible.
GATWithJKOptions gat_options(const SafetensorsView& file);
VgaeOptions vgae_options(const SafetensorsView& file);

}  // namespace plimsoll
