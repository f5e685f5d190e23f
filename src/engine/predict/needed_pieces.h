#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "engine/predict/piece_memory.h"
#include "rows/row_set.h"
#include "sample/topology/topology.h"

namespace plimsoll {

/// Numbers of the pieces that one layer computes; nullopt: all pieces.
using NeededPieces = std::optional<RowSet>;

/// Returns the pieces that each layer has to compute so that the last one has the outputs of some nodes: in
/// the last layer the pieces of these nodes, and in each earlier layer also those of the nodes that the next
/// layer reads. Whole pieces are computed, so that the outputs have the same bits as if all nodes were
/// computed. A layer that needs most pieces computes all of them, and so do the layers before it. Needs half
/// a byte per node of the graph while it runs, and returns all pieces if this memory is not available.
/// Errors: those of the topology.
std::vector<NeededPieces> needed_pieces(const Topology& topology, const Pieces& pieces,
                                        std::span<const int64_t> nodes, int64_t layers);

}  // namespace plimsoll
