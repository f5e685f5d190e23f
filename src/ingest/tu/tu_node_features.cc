#include "ingest/tu/tu_node_features.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"

namespace plimsoll {

TuNodeTable TuNodeTable::scan(const TuSource& source, const TuGraphs& graphs) {
  TuNodeTable table;
  const auto nodes = source.nodes(graphs);
  TuRow row;
  for (int64_t i = 0; i < graphs.nodes(); ++i) {
    nodes->next(row);
    if (i == 0) {
      table.columns.assign(row.labels.size(), TuLabels(source.path()));
      table.attributes = static_cast<int64_t>(row.attributes.size());
    }
    for (size_t c = 0; c < row.labels.size(); ++c) table.columns[c].add(row.labels[c]);
  }
  return table;
}

void count_in_degrees(std::span<const int32_t> edges, int64_t nodes, Vector<int32_t, Tag::ingest>& degrees) {
  degrees.assign(static_cast<size_t>(nodes), 0);
  for (size_t e = 1; e < edges.size(); e += 2) ++degrees[static_cast<size_t>(edges[e])];
}

void require_positions(std::span<const int64_t> positions, const TuNodeTable& table) {
  if (positions.empty()) return;
  if (positions.size() < 2 || positions.size() > 3)
    throw UsageError(fmt::format("--positions names {} attributes, expected two or three, such as 0,1,2",
                                 positions.size()));
  for (size_t i = 0; i < positions.size(); ++i) {
    if (std::count(positions.begin(), positions.end(), positions[i]) > 1)
      throw UsageError(fmt::format("--positions names attribute {} twice", positions[i]));
    if (positions[i] < 0 || positions[i] >= table.attributes)
      throw InputError(fmt::format(
          "--positions names attribute {}, but a node has {} attributes, counted from 0{}", positions[i],
          table.attributes, table.attributes == 0 ? ": this data set has no coordinates" : ""));
  }
}

TuNodeFeatures::TuNodeFeatures(const TuOptions& options, const TuNodeTable& table, const TuSource& source,
                               const TuGraphs& graphs, TuArcs& arcs) {
  const std::string& chosen = options.node_features;
  const std::string& target = options.target;
  const bool any = chosen == "auto";
  const bool by_node = target == "node";
  if (!any && chosen != "labels" && chosen != "attributes" && chosen != "degree" && chosen != "constant")
    throw UsageError(
        fmt::format("node features '{}' are not known; expected auto, labels, attributes, degree or "
                    "constant",
                    chosen));
  if (!by_node && target != "graph")
    throw UsageError(fmt::format("target '{}' is not known; expected graph or node", target));
  if (by_node && chosen == "labels")
    throw UsageError(
        "--target node makes the node labels the target; they cannot be --node-features as well");
  const auto lacks = [&](const char* what) {
    return InputError(fmt::format("{}: the data set has no {}; choose other --node-features, such as degree",
                                  source.path(), what));
  };
  if (chosen == "labels" && table.columns.empty()) throw lacks("node labels");
  std::vector<int64_t> attributes;
  for (int64_t i = 0; i < table.attributes; ++i)
    if (std::ranges::find(options.positions, i) == options.positions.end()) attributes.push_back(i);
  if (chosen == "attributes" && attributes.empty())
    throw lacks(table.attributes > 0 ? "node attributes beside --positions" : "node attributes");
  if (!any && chosen != "attributes") attributes.clear();

  const bool labels = !by_node && (any || chosen == "labels");
  given_ = TuFeatures(std::move(attributes),
                      labels ? std::span<const TuLabels>(table.columns) : std::span<const TuLabels>());
  width_ = given_.width();
  names_ = given_.names();
  constant_ = chosen == "constant";
  degree_ = chosen == "degree" || (any && width_ == 0);
  if (constant_) {
    width_ = 1;
    names_ = {"constant"};
  }
  if (degree_) add_degrees(source, graphs, arcs);
}

void TuNodeFeatures::add_degrees(const TuSource& source, const TuGraphs& graphs, TuArcs& arcs) {
  int32_t most = 0;
  Vector<int32_t, Tag::ingest> edges;
  Vector<float, Tag::ingest> none;
  Vector<int32_t, Tag::ingest> degrees;
  for (size_t g = 0; g < graphs.label.size(); ++g) {
    const int64_t first = graphs.node_ptr[g];
    const int64_t last = graphs.node_ptr[g + 1];
    arcs.take(first, last, TuFeatures(), edges, none);
    count_in_degrees(edges, last - first, degrees);
    most = std::max(most, *std::max_element(degrees.begin(), degrees.end()));
  }
  arcs.rewind();
  if (most >= kMostOneHot)
    throw InputError(
        fmt::format("{}: a node has the degree {}, expected less than {} to write degrees one-hot; "
                    "give --node-features constant",
                    source.path(), most, kMostOneHot));
  width_ = int64_t{most} + 1;
  for (int32_t degree = 0; degree <= most; ++degree) names_.push_back(fmt::format("degree_{}", degree));
}

void TuNodeFeatures::add(const TuRow& row, int32_t degree, float* out) const {
  given_.add(row.labels, row.attributes, out);
  if (degree_) out[degree] += 1;
  if (constant_) out[0] += 1;
}

}  // namespace plimsoll
