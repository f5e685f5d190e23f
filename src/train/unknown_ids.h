#pragma once

#include "nn/id_dropout.h"
#include "store/graph_set.h"

namespace plimsoll {

/// How IDs that are not known look in graphs with these tables.
UnknownIds unknown_ids(const GraphSetTables& tables);

}  // namespace plimsoll
