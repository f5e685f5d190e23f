#include "ingest/graph/graph_scratch.h"

#include "base/units.h"
#include "ingest/graph/edge_parser.h"

namespace plimsoll {

int64_t memory_for_sorts(int threads) {
  constexpr int64_t kOutputBytes = 4 * kMiB;  // Buffers of columns.
  constexpr int64_t kMax = 2 * kGiB;          // More memory does not make the sorts faster.
  const Ledger& ledger = Ledger::process();
  if (ledger.cap() == Ledger::kUnlimited) return kMax;
  const int64_t free = ledger.cap() - ledger.held() - kOutputBytes;
  // Parsing gets at most half; otherwise fewer threads are used.
  const int64_t parsing = std::min(free / 2, threads * kEdgeBytesPerThread);
  return std::clamp<int64_t>(free - parsing, kMiB, kMax);
}

}  // namespace plimsoll
