#include "sample/typed/typed_topology.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "base/error.h"
#include "sample/seeds/draws.h"

namespace plimsoll {
namespace {

constexpr int64_t kMaxSources = int64_t{1} << 32;  // Sources are stored in 32 bits.

void require_rows(size_t number, const char* column, size_t found, size_t expected) {
  if (found != expected)
    throw InputError(
        fmt::format("type {}: found {} rows of {}, expected {}", number, found, column, expected));
}

void require_edge_type(size_t number, const TypedEdges& type, const std::vector<TypedNodes>& nodes) {
  if (std::max(type.source, type.target) >= nodes.size())
    throw InputError(fmt::format("edge type {}: found node types {} and {}, expected numbers below {}",
                                 number, type.source, type.target, nodes.size()));
  const TypedNodes& source = nodes[type.source];
  const TypedNodes& target = nodes[type.target];
  if (source.nodes > kMaxSources)
    throw InputError(
        fmt::format("edge type {}: has {} sources, expected at most 2^32", number, source.nodes));
  require_rows(number, "indptr", type.indptr.size(), static_cast<size_t>(target.nodes) + 1);
  require_rows(number, "edge times", type.time.size(),
               type.has_time == EdgeTime::own ? type.indices.size() : 0);
  if ((type.has_time == EdgeTime::source && source.time.empty() && source.nodes > 0) ||
      (type.has_time == EdgeTime::target && target.time.empty() && target.nodes > 0))
    throw InputError(fmt::format("edge type {}: takes its times from nodes that have no times", number));
}

}  // namespace

TypedTopology::TypedTopology(std::vector<TypedNodes> nodes, std::vector<TypedEdges> edges)
    : nodes_(std::move(nodes)), edges_(std::move(edges)) {
  if (edges_.size() > Draws::kStreams)
    throw InputError(fmt::format("found {} edge types, expected at most {}", edges_.size(), Draws::kStreams));
  for (size_t i = 0; i < nodes_.size(); ++i)
    if (!nodes_[i].time.empty())
      require_rows(i, "node times", nodes_[i].time.size(), static_cast<size_t>(nodes_[i].nodes));
  for (size_t i = 0; i < edges_.size(); ++i) {
    require_edge_type(i, edges_[i], nodes_);
    lists_.emplace_back(edges_[i].indptr, edges_[i].indices, edges_[i].weights,
                        nodes_[edges_[i].source].nodes);
  }
}

}  // namespace plimsoll
