#pragma once

#include <cstdint>
#include <filesystem>

#include "io/npy.h"
#include "sample/neighbour/make_walks.h"
#include "sample/topology/disk_topology.h"

namespace plimsoll {

/// Appends the walks that `options` describe to `column`, in rounds. A round has as many starts as fit into
/// `room` bytes in addition to topology.min_bytes(). All walks of a round advance together, so that a step is
/// one pass over a topology on disk; the nodes are stored in a scratch file in `folder`. T is u32 or i64.
/// Resizes `topology`. Returns false, with nothing appended, if there is no disk space for the file or no
/// memory for walks of this length. Errors: those of RandomWalks, WalkFile and NpyWriter; those of
/// `progress`.
template <typename T>
bool write_in_rounds(const MakeWalksOptions& options, DiskTopology& topology, int64_t room,
                     const std::filesystem::path& folder, NpyWriter& column, const WalksDone& progress);

}  // namespace plimsoll
