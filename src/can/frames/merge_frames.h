#pragma once

#include "store/merge_shards.h"

namespace plimsoll {

/// Joins the shards of a `frames` set (store/data_kind.h). Errors: those of merge_shards(), and InputError if
/// shards differ in payload width or only some have merged channels.
Merged merge_frames(const MergeRequest& request);

}  // namespace plimsoll
