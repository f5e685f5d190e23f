#pragma once

#include <string>

#include "base/json.h"
#include "nn/gat_with_jk.h"
#include "nn/vgae.h"

namespace plimsoll {

// The options of detectors' models as JSON, by the names of their members: metadata "plimsoll.config" of a
// file.

Json options_json(const GATWithJKOptions& options);
Json options_json(const VgaeOptions& options);

/// From such text; `path` is for the errors. A GAT's options that older files lack have their defaults.
/// Errors: InputError for what is missing, of another type, or impossible.
GATWithJKOptions gat_options(const std::string& text, const std::string& path);
VgaeOptions vgae_options(const std::string& text, const std::string& path);

}  // namespace plimsoll
