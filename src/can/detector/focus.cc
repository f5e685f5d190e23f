#include "can/detector/focus.h"

#include <algorithm>

namespace plimsoll {
namespace {

std::vector<Focus::Share> greatest(const std::vector<float>& shares, size_t max) {
  std::vector<Focus::Share> all;
  for (size_t i = 0; i < shares.size(); ++i)
    if (shares[i] > 0) all.push_back({static_cast<int32_t>(i), shares[i]});
  const size_t kept = std::min(max, all.size());
  std::ranges::partial_sort(all, all.begin() + static_cast<std::ptrdiff_t>(kept),
                            [](const auto& a, const auto& b) {
                              return a.share != b.share ? a.share > b.share : a.index < b.index;
                            });
  all.resize(kept);
  return all;
}

}  // namespace

Focus focus_of(const GatNetwork& network, const GraphBlock& graph, size_t max) {
  const auto nodes = static_cast<size_t>(graph.nodes());
  const auto edges = static_cast<size_t>(graph.edge_count());
  const auto heads = static_cast<size_t>(network.config().heads);
  const auto layers = static_cast<size_t>(network.config().layers);
  const auto mean = [&](std::span<const float> alpha, size_t row) {
    float sum = 0;
    for (size_t h = 0; h < heads; ++h) sum += alpha[row * heads + h];
    return sum / static_cast<float>(heads);
  };
  std::vector<float> at(nodes, 0);  // Shares that the layer above passes down.
  std::vector<float> through(edges, 0);
  for (size_t l = layers; l-- > 0;) {
    const std::span<const float> alpha = network.attention(static_cast<int64_t>(l));
    for (float& share : at) share += 1.0F / static_cast<float>(nodes * layers);
    std::vector<float> below(nodes, 0);
    for (size_t e = 0; e < edges; ++e) {
      const auto source = static_cast<size_t>(graph.edges[2 * e]);
      const auto target = static_cast<size_t>(graph.edges[2 * e + 1]);
      const float share = mean(alpha, e) * at[target];
      below[source] += share;
      through[e] += share / static_cast<float>(layers);
    }
    for (size_t n = 0; n < nodes; ++n) below[n] += mean(alpha, edges + n) * at[n];
    at = std::move(below);
  }
  return {greatest(at, max), greatest(through, max)};
}

}  // namespace plimsoll
