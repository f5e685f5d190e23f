#pragma once

#include "nn/id_dropout.h"
#include "store/graph_set.h"

namespace plimsoll {

/// How IDs that are not known look in graphs with these tables. `without`: features that are hidden
/// (data.without); where `id_index` is one, every ID has the index 0, known or not.
UnknownIds unknown_ids(const GraphSetTables& tables, const std::vector<std::string>& without);

}  // namespace plimsoll
