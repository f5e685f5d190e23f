#include "sample/partition/part_nodes.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "base/error.h"

namespace plimsoll {

PartNodes::PartNodes(std::span<const int32_t> parts, int64_t nodes) {
  if (static_cast<int64_t>(parts.size()) != nodes)
    throw UsageError(
        fmt::format("clusters: found the parts of {} nodes, expected those of {}", parts.size(), nodes));
  const auto min = std::min_element(parts.begin(), parts.end());
  if (min != parts.end() && *min < 0)
    throw UsageError(
        fmt::format("clusters: found part {} of node {}, expected 0 or more", *min, min - parts.begin()));
  const int32_t last = parts.empty() ? -1 : *std::max_element(parts.begin(), parts.end());
  part_ptr_.assign(static_cast<size_t>(last) + 2, 0);
  for (const int32_t part : parts) ++part_ptr_[static_cast<size_t>(part) + 1];
  std::partial_sum(part_ptr_.begin(), part_ptr_.end(), part_ptr_.begin());
  nodes_.resize(parts.size());
  Vector<int64_t, Tag::columns> next(part_ptr_);
  for (size_t node = 0; node < parts.size(); ++node)
    nodes_[static_cast<size_t>(next[static_cast<size_t>(parts[node])]++)] = static_cast<int64_t>(node);
}

}  // namespace plimsoll
