#pragma once

#include <filesystem>
#include <functional>

#include "ingest/tables/tables.h"

namespace plimsoll {

/// Builds a graph with `sort_bytes` bytes for each sort. A rehearsal does all the work but does not publish
/// it.
using BuildTables = std::function<TablesResult(int64_t sort_bytes, bool is_rehearsal)>;

/// Calls `build` with `sort_bytes`, and if that does not fit in the budget, with the smallest sorts. If that
/// does not fit either, a rehearsal whose Arrow buffers are on disk finds the smallest budget that works.
/// Only for tables that can be read again. Errors: BudgetTooSmall, which names that budget; BudgetExceeded if
/// the rehearsal does not fit in the budget or on the disk; those of `build`.
TablesResult build_in_budget(const TablesOptions& options, int64_t sort_bytes, const BuildTables& build);

/// Bytes of each sort if sorts are as small as possible.
inline constexpr int64_t kMinSortBytes = int64_t{512} << 10;

}  // namespace plimsoll
