#include "sample/block/graph_set_source.h"

#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "base/error.h"

namespace plimsoll {

namespace {

// Asks the system to read the pages of these bytes, if they are not in memory.
template <typename T>
void advise(std::span<const T> values) {
  constexpr uintptr_t kPage = 4096;
  const auto* const first = reinterpret_cast<const std::byte*>(values.data());
  const uintptr_t lead = reinterpret_cast<uintptr_t>(first) % kPage;  // Offset within the first page.
  if (!values.empty())
    madvise(const_cast<std::byte*>(first - lead), values.size_bytes() + lead, MADV_WILLNEED);
}

bool is_unknown(float target) {
  return std::isnan(target);
}

// Row range of a graph.
struct Rows {
  int64_t first = 0;
  int64_t count = 0;

  template <typename T>
  std::span<const T> of(std::span<const T> values, int64_t width) const {
    return values.subspan(static_cast<size_t>(first * width), static_cast<size_t>(count * width));
  }
};

// Returns nullopt if the pointers of a damaged set are not a valid range. They may then be any numbers, so
// their difference must not be computed.
std::optional<Rows> rows_between(std::span<const int64_t> pointers, size_t graph) {
  const int64_t first = pointers[graph];
  const int64_t end = pointers[graph + 1];
  if (first < 0 || end < first || end > pointers.back()) return std::nullopt;
  return Rows{first, end - first};
}

}  // namespace

GraphSetSource::GraphSetSource(const std::filesystem::path& folder, const GraphColumnsAsked& asked)
    : view_(folder), asked_(asked) {
  // Such nodes occupy no byte of a file, so the size of the files does not bound their number.
  if (node_features() == 0 && graphs() > 0)
    throw InputError(fmt::format(
        "{}: nodes have no features, but a model needs at least one; make the set with features, such "
        "as degrees or a constant in PyTorch Geometric's Data.x",
        folder.string()));
  const Targets targets = asked.targets;
  if (targets != Targets::none && widths().targets.width == 0)
    throw InputError(
        fmt::format("{}: has no column '{}' with the values to predict for {}; see docs/regression.md",
                    folder.string(), targets == Targets::nodes ? "node_target" : "target",
                    targets == Targets::nodes ? "nodes" : "graphs"));
  if (asked.positions && !view_.set().has_column("pos"))
    throw InputError(
        fmt::format("{}: has no column 'pos' with the coordinates of nodes, from which paths are measured; "
                    "make the set with `plimsoll "
                    "ingest points`, or from PyTorch Geometric's Data.pos",
                    folder.string()));
  if (asked.positions) planar_ = is_planar();
}

bool GraphSetSource::is_planar() const {
  const std::span<const float> pos = view_.graphs().pos;
  bool planar = true;
  for (size_t at = 0; at < pos.size(); at += kCoordinates) {
    const auto of_node = pos.subspan(at, kCoordinates);
    planar &= of_node[2] == pos[2];
    const auto bad = std::ranges::find_if(of_node, [](float value) { return !std::isfinite(value); });
    if (bad == of_node.end()) continue;
    const auto node = static_cast<int64_t>(at) / kCoordinates;
    const auto& ptr = view_.graphs().node_ptr;
    const auto graph = std::upper_bound(ptr.begin(), ptr.end(), node) - ptr.begin() - 1;
    throw InputError(
        fmt::format("{}: graph {}: the coordinate {} of node {} is {}, expected a number; fix the source of "
                    "the data set, and look for more such values with `plimsoll verify`",
                    view_.set().folder().string(), graph, "xyz"[bad - of_node.begin()],
                    node - ptr[static_cast<size_t>(graph)], *bad));
  }
  return planar;
}

RowWidths GraphSetSource::widths() const {
  RowWidths widths{node_features(), edge_features()};
  if (asked_.targets == Targets::graphs) widths.targets = {view_.targets().graph, /*of_nodes=*/false};
  if (asked_.targets == Targets::nodes) widths.targets = {view_.targets().node, /*of_nodes=*/true};
  if (asked_.positions) widths.coordinates = kCoordinates;
  widths.planar = planar_;
  return widths;
}

void GraphSetSource::will_need(std::span<const int64_t> graphs) const {
  const GraphSpans& all = view_.graphs();
  for (const int64_t graph : graphs) {
    const auto g = static_cast<size_t>(graph);
    if (const auto nodes = rows_between(all.node_ptr, g)) {
      advise(nodes->of(all.x, node_features()));
      if (asked_.positions) advise(nodes->of(all.pos, kCoordinates));
    }
    if (const auto edges = rows_between(all.edge_ptr, g)) {
      advise(edges->of(all.edges, 2));
      advise(edges->of(all.edge_attr, edge_features()));
    }
  }
}

void GraphSetSource::read(std::span<const int64_t> graphs, GraphBlock& block) const {
  const GraphSpans& all = view_.graphs();
  const auto damaged = [&](int64_t graph) {
    return InputError(
        fmt::format("{}: graph {} points outside its columns; run `plimsoll verify` and make the set again",
                    view_.set().folder().string(), graph));
  };
  block.clear();
  for (const int64_t graph : graphs) {
    const auto g = static_cast<size_t>(graph);
    const auto nodes = rows_between(all.node_ptr, g);
    const auto edges = rows_between(all.edge_ptr, g);
    if (!nodes || !edges) throw damaged(graph);
    const auto pairs = edges->of(all.edges, 2);
    if (std::any_of(pairs.begin(), pairs.end(), [&](int32_t end) { return end < 0 || end >= nodes->count; }))
      throw damaged(graph);
    const auto x = nodes->of(all.x, node_features());
    const auto edge_attr = edges->of(all.edge_attr, edge_features());
    block.graph.push_back(graph);
    block.node_ptr.push_back(block.node_ptr.back() + nodes->count);
    block.edge_ptr.push_back(block.edge_ptr.back() + edges->count);
    block.x.insert(block.x.end(), x.begin(), x.end());
    block.edges.insert(block.edges.end(), pairs.begin(), pairs.end());
    block.edge_attr.insert(block.edge_attr.end(), edge_attr.begin(), edge_attr.end());
    block.y.push_back(all.y[g]);
    if (asked_.positions) {
      const auto pos = nodes->of(all.pos, kCoordinates);
      block.pos.insert(block.pos.end(), pos.begin(), pos.end());
    }
    if (asked_.targets == Targets::graphs) {
      const auto target = Rows{graph, 1}.of(all.target, view_.targets().graph);
      block.targets.insert(block.targets.end(), target.begin(), target.end());
    } else if (asked_.targets == Targets::nodes) {
      const auto width = static_cast<size_t>(view_.targets().node);
      const auto target = nodes->of(all.node_target, view_.targets().node);
      block.targets.insert(block.targets.end(), target.begin(), target.end());
      for (size_t n = 0; n < target.size(); n += width)
        block.node_y.push_back(std::ranges::all_of(target.subspan(n, width), is_unknown) ? -1 : 0);
    } else if (!all.node_y.empty()) {
      const auto node_y = nodes->of(all.node_y, 1);
      block.node_y.insert(block.node_y.end(), node_y.begin(), node_y.end());
    }
  }
}

}  // namespace plimsoll
