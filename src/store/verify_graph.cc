#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "store/graph.h"
#include "store/typed_graph.h"

namespace plimsoll {
namespace {

using Findings = std::vector<std::string>;

// Returns the index of the first element for which `wrong` holds, or -1.
template <typename T, typename Wrong>
int64_t find_first(std::span<const T> values, const Wrong& wrong) {
  const auto found = std::find_if(values.begin(), values.end(), wrong);
  return found == values.end() ? -1 : found - values.begin();
}

void verify_topology(const GraphView& graph, Findings& findings) {
  const std::span<const int64_t> indptr = graph.indptr();
  const auto fall = std::adjacent_find(indptr.begin(), indptr.end(), std::greater<>());
  if (fall != indptr.end()) {
    findings.push_back(fmt::format("node {}: its row ends before it begins", fall - indptr.begin()));
    return;
  }
  const int64_t nodes = graph.nodes();
  for (int64_t e = 0; e < graph.edges(); ++e) {
    const int64_t neighbour = graph.neighbour(e);
    if (neighbour >= 0 && neighbour < nodes) continue;
    findings.push_back(fmt::format("edge {}: its neighbour {} is not one of {} nodes", e, neighbour, nodes));
    return;
  }
  for (int64_t v = 0; v < nodes; ++v)
    for (int64_t e = indptr[static_cast<size_t>(v)] + 1; e < indptr[static_cast<size_t>(v) + 1]; ++e) {
      if (graph.neighbour(e - 1) <= graph.neighbour(e)) continue;
      findings.push_back(fmt::format("node {}: its neighbours are not in ascending order", v));
      return;
    }
}

// Returns whether a row contains a neighbour. Rows must be ascending.
bool has_edge(const GraphView& graph, int64_t node, int64_t neighbour) {
  int64_t low = graph.indptr()[static_cast<size_t>(node)];
  int64_t high = graph.indptr()[static_cast<size_t>(node) + 1];
  while (low < high) {
    const int64_t middle = low + (high - low) / 2;
    if (graph.neighbour(middle) < neighbour)
      low = middle + 1;
    else
      high = middle;
  }
  return low < graph.indptr()[static_cast<size_t>(node) + 1] && graph.neighbour(low) == neighbour;
}

// Checks that training edges are edges of the graph, and that held-out edges are not.
void verify_split_edges(const GraphView& graph, size_t split, Findings& findings) {
  const std::span<const int64_t> edges = graph.split_edges(split);
  const auto wrong = [&](size_t row, const char* what) {
    findings.push_back(fmt::format("column '{}': row {} {}", edges_column(split), row, what));
  };
  for (size_t at = 0; at < edges.size(); at += 2) {
    const int64_t neighbour = edges[at];
    const int64_t node = edges[at + 1];
    if (neighbour < 0 || neighbour >= graph.nodes() || node < 0 || node >= graph.nodes())
      return wrong(at / 2, "names no node of the graph");
    if (at > 0 && (edges[at - 1] > node || (edges[at - 1] == node && edges[at - 2] >= neighbour)))
      return wrong(at / 2, "does not ascend, by node and neighbour");
    const bool is_edge = has_edge(graph, node, neighbour);
    if (split == 0 && !is_edge) return wrong(at / 2, "is not an edge of the graph");
    if (split > 0 && (is_edge || has_edge(graph, neighbour, node)))
      return wrong(at / 2, "is an edge of the graph, but should be held out");
  }
}

void verify_finite(std::span<const float> values, const char* name, Findings& findings) {
  const int64_t at = find_first(values, [](float value) { return !std::isfinite(value); });
  if (at >= 0)
    findings.push_back(fmt::format("column '{}' holds a value that is not finite, the {}th", name, at));
}

// Checks x in chunks of rows, and that a narrow column has the checksum of the original values.
void verify_x(const GraphView& graph, Findings& findings) {
  if (graph.node_features() == 0) return;
  constexpr int64_t kRowsAtOnce = 256;
  Vector<float, Tag::columns> rows;
  for (int64_t first = 0; first < graph.nodes(); first += kRowsAtOnce) {
    rows.resize(static_cast<size_t>(std::min(kRowsAtOnce, graph.nodes() - first) * graph.node_features()));
    graph.copy_x(first, rows);
    const size_t before = findings.size();
    verify_finite(rows, "x", findings);
    if (findings.size() > before) return;
  }
  if (graph.x_values().type == NumberType::f32) return;
  const Json& narrow = graph.set().manifest()["narrow"]["x"];
  const std::string found = f32_checksum(graph.set(), "x");
  if (const Json expected = narrow.value("xxh3_f32", Json());
      !expected.is_string() || expected.get_ref<const std::string&>() != found)
    findings.push_back(
        fmt::format("column 'x': as f32 its checksum is {}, the manifest says {}", found, expected.dump()));
}

// Compares sums of hashes to check that each number occurs once. This needs no memory.
void verify_edge_ids(std::span<const int64_t> ids, Findings& findings) {
  const auto edges = static_cast<int64_t>(ids.size());
  const auto mixed = [](int64_t number) {
    uint64_t bits = static_cast<uint64_t>(number) * 0x9E3779B97F4A7C15;
    bits = (bits ^ (bits >> 32)) * 0xD6E8FEB86659FD93;
    return bits ^ (bits >> 32);
  };
  uint64_t difference = 0;
  for (int64_t edge = 0; edge < edges; ++edge) {
    const int64_t id = ids[static_cast<size_t>(edge)];
    if (id < 0 || id >= edges) {
      findings.push_back(
          fmt::format("column 'edge_id' holds {}, the {}th; expected 0 to {}", id, edge, edges - 1));
      return;
    }
    difference += mixed(id) - mixed(edge);
  }
  if (difference != 0)
    findings.push_back(fmt::format("column 'edge_id' does not hold each of 0 to {} once", edges - 1));
}

void verify_names(const GraphView& graph, Findings& findings) {
  const std::span<const int64_t> ptr = graph.name_ptr();
  const auto fall = std::adjacent_find(ptr.begin(), ptr.end(), std::greater<>());
  if (fall != ptr.end())
    findings.push_back(fmt::format("node {}: its name ends before it begins", fall - ptr.begin()));
}

}  // namespace

void verify_graph(const std::filesystem::path& folder, Findings& findings) {
  if (has_node_types(read_manifest(folder))) return verify_typed_graph(folder, findings);
  const GraphView graph(folder);
  verify_topology(graph, findings);
  verify_finite(graph.edge_weight(), "edge_weight", findings);
  verify_finite(graph.edge_attr(), "edge_attr", findings);
  verify_edge_ids(graph.edge_id(), findings);
  verify_x(graph, findings);
  const int64_t classes = graph.tables().classes;
  const int64_t odd = find_first(graph.y(), [&](int64_t y) { return y < -1 || y >= classes; });
  if (odd >= 0)
    findings.push_back(fmt::format("node {}: y {} is neither -1 (unlabelled) nor below the {} classes", odd,
                                   graph.y()[static_cast<size_t>(odd)], classes));
  const int64_t infinite = find_first(graph.node_targets(), [](float value) { return std::isinf(value); });
  if (infinite >= 0)
    findings.push_back(fmt::format("node {}: a number of node_target is infinite, expected a number, or NaN",
                                   infinite / graph.target_width()));
  // Looking up an edge needs row ends that never fall and rows that ascend, so split edges are checked only
  // if nothing was found so far.
  const bool sound = findings.empty();
  for (size_t split = 0; sound && split < kGraphSplits.size(); ++split)
    verify_split_edges(graph, split, findings);
  for (size_t split = 0; split < kGraphSplits.size(); ++split) {
    const std::span<const int64_t> nodes = graph.split(split);
    const bool inside = nodes.empty() || (nodes.front() >= 0 && nodes.back() < graph.nodes());
    if (!inside || std::adjacent_find(nodes.begin(), nodes.end(), std::greater_equal<>()) != nodes.end())
      findings.push_back(fmt::format("column '{}_idx' is not ascending, or names no node of the graph",
                                     kGraphSplits[split]));
  }
  verify_names(graph, findings);
}

}  // namespace plimsoll
