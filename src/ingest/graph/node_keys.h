#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "memory/vector.h"

namespace plimsoll {

using NodeKeys = Vector<uint32_t, Tag::columns>;

/// What the nodes of a `graph` are ordered by so that rows which are read lie together: [V], ascending.
///
/// `frequency`: nodes are first whose rows sampling reads most often, by the expected number of samples in
/// which each is where all nodes are seeds, with 15, 10 and 5 neighbours a hop: what pre-sampling estimates,
/// Yang et al., "GNNLab", EuroSys 2022, section 6. Takes 16 bytes a node.
/// `partition`: parts of some 16,384 nodes between which few edges lead, one after the other
/// (stream_partition). Takes 12 bytes a node.
///
/// The topology is read in order, with up to `memory` bytes of Tag::cache. The same on every machine.
/// Errors: UsageError for another order; those of DiskTopology; BudgetExceeded.
NodeKeys node_keys(const std::string& order, const std::filesystem::path& graph, int64_t memory);

}  // namespace plimsoll
