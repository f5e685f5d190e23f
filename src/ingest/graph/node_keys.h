#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>

#include "base/words.h"
#include "memory/vector.h"

namespace plimsoll {

/// The order of nodes: by ID (none), by degree, or by node_keys() (frequency, partition).
enum class NodeOrderKind : uint8_t { none, degree, frequency, partition };
template <>
inline constexpr auto kWords<NodeOrderKind> = std::to_array<std::string_view>({"none", "degree", "frequency",
                                                                               "partition"});

using NodeKeys = Vector<uint32_t, Tag::columns>;

/// Returns a sort key for each node of a `graph`, [V]. If nodes are sorted by ascending key, rows that are
/// read together are adjacent.
///
/// `frequency`: the rows that sampling reads most often are first. The order is by the expected number of
/// samples that contain the node if all nodes are seeds, with 15, 10 and 5 neighbours per hop. Pre-sampling
/// would estimate this number (Yang et al., "GNNLab", EuroSys 2022, section 6). Needs 16 bytes per node.
/// `partition`: nodes are grouped into parts of about 16,384 nodes with few edges between parts
/// (stream_partition). Needs 8 bytes per node.
///
/// The topology is read in order, with up to `memory` bytes of Tag::cache, or with DiskTopology's minimum if
/// this is more. The result is the same on every machine. `order` must be frequency or partition. `tick` is
/// called for some of the nodes of each pass, and may throw to stop.
/// Errors: InputError (not a graph), BudgetExceeded, and those of DiskTopology and of `tick`.
NodeKeys node_keys(NodeOrderKind order, const std::filesystem::path& graph, int64_t memory,
                   const std::function<void()>& tick);

}  // namespace plimsoll
