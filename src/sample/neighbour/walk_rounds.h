#pragma once

#include <cstdint>
#include <filesystem>

#include "io/npy.h"
#include "sample/neighbour/make_walks.h"
#include "sample/topology/disk_topology.h"

namespace plimsoll {

/// Appends the walks that `options` ask for to `column` in rounds of as many starts as `room` bytes hold,
/// beside topology.min_bytes(). All walks of a round go on together, so that a step is one pass over a
/// topology on disk; meanwhile they wait in a scratch file in `folder`. T is u32 or i64. False, with nothing
/// appended: the disk has no room for the file, or the memory none for walks of this length.
/// Errors: those of RandomWalks, WalkFile and NpyWriter; those of `progress`.
template <typename T>
bool write_in_rounds(const MakeWalksOptions& options, DiskTopology& topology, int64_t room,
                     const std::filesystem::path& folder, NpyWriter& column, const WalksDone& progress);

}  // namespace plimsoll
