#pragma once

#include "nn/id_dropout.h"
#include "store/graph_set.h"

namespace plimsoll {

/// How unknown IDs are represented in graphs with these tables. `without` lists hidden features
/// (data.without). If `id_index` is one of them, every ID has the index 0, known or not.
UnknownIds unknown_ids(const GraphSetTables& tables, const std::vector<std::string>& without);

}  // namespace plimsoll
