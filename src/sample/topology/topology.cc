#include "sample/topology/topology.h"

#include <fmt/format.h>

#include <algorithm>
#include <type_traits>

#include "base/error.h"
#include "sample/topology/damaged_topology.h"

namespace plimsoll {
namespace {

// Distance of the prefetch for random places: large enough to keep as many cache misses in flight as a core
// supports (measured in bench/results/sampling.md).
constexpr size_t kPlacesAhead = 16;

template <typename T, typename Use>
void gather(const T* column, std::span<const int64_t> places, const Use& use) {
  for (size_t i = 0; i < places.size(); ++i) {
    if (i + kPlacesAhead < places.size()) __builtin_prefetch(column + places[i + kPlacesAhead]);
    use(i, column + places[i]);
  }
}

}  // namespace

CsrTopology::CsrTopology(std::span<const int64_t> indptr, Indices indices, std::span<const float> weights,
                         std::optional<int64_t> sources)
    : indptr_(indptr),
      indices_(indices),
      weights_(weights),
      sources_(sources.value_or(static_cast<int64_t>(indptr.size()) - 1)) {
  const size_t entries = std::visit([](const auto& column) { return column.size(); }, indices_);
  if (indptr.empty() || indptr.front() != 0 || indptr.back() != static_cast<int64_t>(entries))
    throw InputError(fmt::format(
        "indptr: found {} entries from {} to {}, expected one more than nodes, from 0 to the {} entries of "
        "indices; make the data set again",
        indptr.size(), indptr.empty() ? 0 : indptr.front(), indptr.empty() ? 0 : indptr.back(), entries));
  if (!weights.empty() && weights.size() != entries)
    throw InputError(
        fmt::format("weights: found {}, expected one for each of {} edges", weights.size(), entries));
}

void CsrTopology::read_lists(std::span<const int64_t> nodes, std::span<EdgeRange> lists) const {
  require_nodes(nodes, this->nodes());
  gather(indptr_.data(), nodes, [&](size_t i, const int64_t* begin) {
    lists[i] = {begin[0], begin[1] - begin[0]};
    require_list(lists[i], nodes[i], edges());
  });
}

void CsrTopology::read_neighbours(std::span<const int64_t> edges, std::span<int64_t> neighbours) const {
  std::visit(
      [&](const auto& column) {
        bool good = true;
        gather(column.data(), edges, [&](size_t i, const auto* neighbour) {
          neighbours[i] = static_cast<int64_t>(*neighbour);
          good &= is_below(neighbours[i], sources_);
        });
        if (!good) require_neighbours(neighbours.first(edges.size()), edges, sources_);
      },
      indices_);
}

void CsrTopology::find(std::span<const EdgeRange> lists, std::span<const int64_t> nodes,
                       std::span<uint8_t> found) const {
  std::visit(
      [&](const auto& column) {
        using T = std::remove_cvref_t<decltype(column[0])>;
        for (size_t i = 0; i < lists.size(); ++i) {
          if (i + kPlacesAhead < lists.size()) {
            const EdgeRange& soon = lists[i + kPlacesAhead];
            __builtin_prefetch(column.data() + soon.first + soon.degree / 2);
          }
          const T* const first = column.data() + lists[i].first;
          found[i] = std::binary_search(first, first + lists[i].degree, static_cast<T>(nodes[i])) ? 1 : 0;
        }
      },
      indices_);
}

void CsrTopology::read_weights(std::span<const int64_t> edges, std::span<float> weights) const {
  gather(weights_.data(), edges, [&](size_t i, const float* weight) { weights[i] = *weight; });
}

CsrTopology topology_of(const GraphView& graph) {
  CsrTopology::Indices indices = graph.indices();
  if (!graph.wide_indices().empty()) indices = graph.wide_indices();
  return {graph.indptr(), indices, graph.edge_weight()};
}

}  // namespace plimsoll
