#pragma once

#include <cstdint>
#include <vector>

#include "windows/windows.h"

namespace plimsoll {

/// The CAN ID of each node of a window's graph, flags included; of compat, whose unknown IDs are one node,
/// the first of them.
std::vector<uint32_t> node_ids(const WindowSource& windows, int64_t graph);

}  // namespace plimsoll
