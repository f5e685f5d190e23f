#include "ingest/tables/smallest_budget.h"

#include <fmt/format.h>

#include <optional>

#include "base/error.h"
#include "base/units.h"
#include "io/arrow_overflow.h"
#include "memory/ledger.h"

namespace plimsoll {
namespace fs = std::filesystem;
namespace {

// Returns the folder of the output, or one above it if it does not exist yet.
fs::path existing_parent(const fs::path& out) {
  fs::path folder = fs::absolute(out).parent_path();
  while (!fs::exists(folder) && folder.has_relative_path()) folder = folder.parent_path();
  return folder;
}

// Returns the bytes of the ledger that the smallest sorts and Arrow's buffers need.
int64_t rehearse(const TablesOptions& options, const BuildTables& build) {
  const ArrowOverflow overflow(existing_parent(options.out));
  Ledger& ledger = Ledger::process();
  ledger.begin_recent();
  build(kMinSortBytes, true);
  // Columns of objects read ahead up to a sixteenth of what is free.
  return options.objects.empty() ? ledger.recent_peak() : ledger.recent_peak() * 16 / 15;
}

// Returns the smallest budget that works, if the rehearsal could be made.
std::optional<int64_t> smallest_budget(const TablesOptions& options, const BuildTables& build) {
  // A process holds some hundred KiB more at one start than at another.
  constexpr int64_t kVariance = 512 * kKiB;
  try {
    const int64_t bytes = options.outside_ledger + rehearse(options, build) + kVariance;
    return (bytes + kMiB - 1) / kMiB * kMiB;
  } catch (const BudgetExceeded&) {
    return std::nullopt;
  } catch (const Failure&) {
    return std::nullopt;
  }
}

}  // namespace

TablesResult build_in_budget(const TablesOptions& options, int64_t sort_bytes, const BuildTables& build) {
  try {
    return build(sort_bytes, false);
  } catch (const BudgetExceeded&) {
    if (sort_bytes > kMinSortBytes) return build_in_budget(options, kMinSortBytes, build);
    if (const std::optional<int64_t> budget = smallest_budget(options, build))
      throw BudgetTooSmall(fmt::format(
          "out of budget: the smallest budget that works for these tables is {}; pass --budget {}MiB",
          format_bytes(*budget), *budget / kMiB));
    throw;
  }
}

}  // namespace plimsoll
