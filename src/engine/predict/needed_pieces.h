#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "engine/predict/piece_memory.h"
#include "rows/row_set.h"
#include "sample/topology/topology.h"

namespace plimsoll {

/// The pieces that one layer computes, by number; without a value all of them.
using NeededPieces = std::optional<RowSet>;

/// Returns the pieces that each layer has to compute so that the last one has the outputs of some nodes: the
/// pieces of these nodes, in each earlier layer also those of the nodes that the next layer reads. Whole
/// pieces are computed, so that the outputs have the same bits as those of all nodes. A layer that needs most
/// pieces computes all of them, and so do the layers before it. Takes half a byte for each node of the graph
/// meanwhile, and returns all pieces if that does not fit. Errors: those of the topology.
std::vector<NeededPieces> needed_pieces(const Topology& topology, const Pieces& pieces,
                                        std::span<const int64_t> nodes, int64_t layers);

}  // namespace plimsoll
