#include "sample/partition/metis_partition.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "base/error.h"
#include "base/units.h"
#include "memory/charge.h"
#include "sample/partition/metis_process.h"
#include "sample/topology/symmetric_graph.h"

namespace plimsoll {
namespace {

// METIS coarsens down to 30 nodes per part, counted in 32 bits.
constexpr int64_t kMaxParts = int64_t{1} << 26;
// Initial and maximum bytes per node and per entry of its row: there are at most 38 levels with 8 bytes per
// entry, and the same again for other data.
constexpr int64_t kBytesEach = 64;
constexpr int64_t kMaxBytesEach = 1024;

void require_good(const Topology& topology, const MetisOptions& options) {
  const int64_t max = std::min(topology.nodes(), kMaxParts);
  if (options.parts < 1 || options.parts > max)
    throw UsageError(fmt::format("partition: found {} parts, expected 1 to {} for the {} nodes of the graph",
                                 options.parts, max, topology.nodes()));
  if (!(options.slack >= 0) || !std::isfinite(options.slack))
    throw UsageError(fmt::format("partition: found a slack of {}, expected 0 or more", options.slack));
}

Parts partition(const Topology& topology, const MetisOptions& options) {
  Parts parts(static_cast<size_t>(topology.nodes()), 0);
  if (options.parts == 1) return parts;  // METIS divides by the logarithm of the number of parts.
  const SymmetricGraph graph = symmetric_graph(topology);
  const int64_t size = topology.nodes() + static_cast<int64_t>(graph.neighbours.size());
  for (int64_t each = kBytesEach; each <= kMaxBytesEach; each *= 2) {
    const Charge charge(Tag::columns, each * size + kMiB);  // METIS accepts no allocator.
    if (run_metis(graph, static_cast<int32_t>(options.parts), options.slack, charge.bytes(), parts,
                  options.tick))
      return parts;
  }
  throw Failure(
      "METIS: the system allows this process less memory than its budget; raise the limit (ulimit -d), or "
      "partition by streaming instead");
}

}  // namespace

Parts metis_partition(const Topology& topology, const MetisOptions& options) {
  require_good(topology, options);
  try {
    return partition(topology, options);
  } catch (const BudgetExceeded& refusal) {
    throw BudgetExceeded(
        "METIS: the budget must be several times as large as the graph; raise it, or partition by streaming "
        "instead",
        refusal);
  }
}

}  // namespace plimsoll
