#include "ingest/graph/split_edges.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/philox.h"
#include "memory/vector.h"
#include "store/column_check.h"
#include "store/output.h"

namespace plimsoll {
namespace {

constexpr size_t kNoSplit = kGraphSplits.size();  // Stands for no split.
constexpr size_t kWrittenAtOnce = 1 << 14;  // Number of edges, nodes or values that are written at once.

// Hashes a pair of nodes to two words, whatever the order of the nodes.
struct PairHash {
  Philox philox;
  std::array<uint64_t, 2> operator()(int64_t a, int64_t b) const {
    const auto low = static_cast<uint64_t>(std::min(a, b));
    const auto high = static_cast<uint64_t>(std::max(a, b));
    // Nodes have at most 48 bits.
    const Philox::Counter bits = philox({static_cast<uint32_t>(low), static_cast<uint32_t>(high),
                                         static_cast<uint32_t>(low >> 32 << 16 | high >> 32),
                                         static_cast<uint32_t>(Purpose::edge_split) << 16});
    return {uint64_t{bits[0]} << 32 | bits[1], uint64_t{bits[2]} << 32 | bits[3]};
  }
};

// Order-independent checksum of a multiset of pairs.
struct PairSum {
  int64_t count = 0;
  std::array<uint64_t, 2> words{};
  void add(const std::array<uint64_t, 2>& pair) {
    ++count;
    for (size_t i = 0; i < words.size(); ++i) words[i] += pair[i];
  }
  bool operator==(const PairSum&) const = default;
};

class EdgeSplit {
 public:
  EdgeSplit(const EdgeSplitOptions& options, const GraphView& graph,
            const std::function<void(int64_t, int64_t)>& progress)
      : options_(options),
        graph_(graph),
        progress_(progress),
        hash_{Philox(options.seed)},
        edges_at_once_(std::max<size_t>(
            kWrittenAtOnce / static_cast<size_t>(std::max<int64_t>(graph.edge_features(), 1)), 1)) {}

  EdgeSplitResult write(GraphWriter& writer) {
    result_.undirected = is_undirected();
    write_edges(writer);
    write_nodes(writer);
    result_.nodes = writer.nodes();
    result_.edges = writer.edges();
    return result_;
  }

 private:
  // Calls visit(node, neighbour, edge) for each edge, and done(node) after those of each node.
  template <typename Visit, typename Done>
  void each_edge(int64_t before, const Visit& visit, const Done& done) {
    const std::span<const int64_t> indptr = graph_.indptr();
    for (int64_t node = 0; node < graph_.nodes(); ++node) {
      const int64_t first = indptr[static_cast<size_t>(node)];
      const int64_t end = indptr[static_cast<size_t>(node) + 1];
      if (end < first || end > graph_.edges()) throw damaged(node, "ends before it begins");
      int64_t last = -1;
      for (int64_t edge = first; edge < end; ++edge) {
        const int64_t neighbour = graph_.neighbour(edge);
        if (neighbour >= graph_.nodes()) throw damaged(node, "names a node that does not exist");
        if (neighbour <= last) throw damaged(node, "does not ascend, or has a neighbour twice");
        visit(node, last = neighbour, edge);
        if (edge % 1'000'000 == 0) progress_(before + edge, 2 * graph_.edges());
      }
      done(node);
    }
  }

  InputError damaged(int64_t node, const char* what) const {
    return InputError(
        fmt::format("{}: the row of node {} {}, expected neighbours in ascending order, each once; make the "
                    "graph again by "
                    "`plimsoll ingest graph` with --dedup",
                    graph_.set().folder().string(), graph_.id(node), what));
  }

  bool is_undirected() {
    PairSum up, down;
    each_edge(
        0,
        [&](int64_t node, int64_t neighbour, int64_t) {
          if (neighbour != node) (neighbour < node ? up : down).add(hash_(node, neighbour));
        },
        [](int64_t) {});
    return up == down;
  }

  static double share_of(uint64_t word) { return static_cast<double>(word >> 11) * 0x1p-53; }

  // Returns the split of a pair. kNoSplit means that the edge is kept and is not predicted.
  size_t split_of(int64_t node, int64_t neighbour) const {
    const auto words = hash_(node, neighbour);
    const double share = share_of(words[0]);
    if (share < options_.valid) return 1;
    if (share < options_.valid + options_.test) return 2;
    return share_of(words[1]) < options_.train ? 0 : kNoSplit;
  }

  void write_edges(GraphWriter& writer) {
    int64_t kept = 0;
    each_edge(
        graph_.edges(),
        [&](int64_t node, int64_t neighbour, int64_t edge) {
          const size_t split = node == neighbour ? kNoSplit : split_of(node, neighbour);
          // If edges exist in both directions, the one from the smaller node is the pair.
          if (split != kNoSplit && (!result_.undirected || neighbour < node)) {
            pairs_[split].insert(pairs_[split].end(), {neighbour, node});
            ++result_.pairs[split];
            if (pairs_[split].size() >= kWrittenAtOnce) write_pairs(writer, split);
          }
          if (split == 1 || split == 2) return;
          ++kept;
          edges_.push_back(edge);
          if (edges_.size() == edges_at_once_) write_kept(writer);
        },
        [&](int64_t) {
          ends_.push_back(kept);
          if (ends_.size() == kWrittenAtOnce) write_ends(writer);
        });
    write_kept(writer);
    write_ends(writer);
    for (size_t split = 0; split < kGraphSplits.size(); ++split)
      if (!pairs_[split].empty()) write_pairs(writer, split);
    progress_(2 * graph_.edges(), 2 * graph_.edges());
  }

  void write_ends(GraphWriter& writer) {
    writer.append_row_ends(ends_);
    ends_.clear();
  }

  void write_pairs(GraphWriter& writer, size_t split) {
    writer.append_split_edges(split, pairs_[split]);
    pairs_[split].clear();
  }

  // Writes the edges in edges_ with their columns.
  void write_kept(GraphWriter& writer) {
    const auto rows = [&](const auto& column, int64_t width, auto&& values, auto&& append) {
      values.clear();
      for (const int64_t edge : edges_) {
        const auto row = column.subspan(static_cast<size_t>(edge * width), static_cast<size_t>(width));
        values.insert(values.end(), row.begin(), row.end());
      }
      append(values);
    };
    if (graph_.wide_indices().empty())
      rows(graph_.indices(), 1, Vector<uint32_t, Tag::ingest>(),
           [&](const auto& values) { writer.append_indices(std::span<const uint32_t>(values)); });
    else
      rows(graph_.wide_indices(), 1, Vector<int64_t, Tag::ingest>(),
           [&](const auto& values) { writer.append_indices(std::span<const int64_t>(values)); });
    if (!graph_.edge_weight().empty())
      rows(graph_.edge_weight(), 1, Vector<float, Tag::ingest>(),
           [&](const auto& values) { writer.append_edge_weight(values); });
    if (!graph_.edge_attr().empty())
      rows(graph_.edge_attr(), graph_.edge_features(), Vector<float, Tag::ingest>(),
           [&](const auto& values) { writer.append_edge_attr(values, graph_.edge_features()); });
    edges_.clear();
  }

  // Copies the node columns.
  void write_nodes(GraphWriter& writer) const {
    const auto chunks = [](auto column, size_t width, auto&& append) {
      const size_t step = std::max<size_t>(kWrittenAtOnce / std::max<size_t>(width, 1), 1) * width;
      for (size_t at = 0; at < column.size(); at += step)
        append(column.subspan(at, std::min(step, column.size() - at)));
    };
    const auto features = static_cast<size_t>(graph_.node_features());
    const RowValues& stored = graph_.x_values();
    writer.store_x(
        {.type = stored.type,
         .scale = stored.scale ? std::span<const float>(*stored.scale) : std::span<const float>{}});
    Vector<float, Tag::ingest> x;
    const auto rows_at_once =
        static_cast<int64_t>(std::max<size_t>(kWrittenAtOnce / std::max<size_t>(features, 1), 1));
    for (int64_t node = 0; features > 0 && node < graph_.nodes(); node += rows_at_once) {
      x.resize(static_cast<size_t>(std::min(rows_at_once, graph_.nodes() - node)) * features);
      graph_.copy_x(node, x);
      writer.append_x(x, graph_.node_features());
    }
    chunks(graph_.y(), 1, [&](auto rows) { writer.append_y(rows); });
    chunks(graph_.node_targets(), static_cast<size_t>(graph_.target_width()),
           [&](auto rows) { writer.append_node_targets(rows, graph_.target_width()); });
    chunks(graph_.node_id(), 1, [&](auto rows) { writer.append_node_id(rows); });
    for (size_t split = 0; split < kGraphSplits.size(); ++split)
      chunks(graph_.split(split), 1, [&](auto rows) { writer.append_split(split, rows); });
    for (int64_t node = 0; graph_.has_names() && node < graph_.nodes(); ++node)
      writer.append_node_name(graph_.name(node));
  }

  const EdgeSplitOptions& options_;
  const GraphView& graph_;
  const std::function<void(int64_t, int64_t)>& progress_;
  PairHash hash_;
  size_t edges_at_once_;  // Edges that are written at once.
  EdgeSplitResult result_;
  Vector<int64_t, Tag::ingest> edges_, ends_;
  std::array<Vector<int64_t, Tag::ingest>, kGraphSplits.size()> pairs_;
};

}  // namespace

EdgeSplitResult split_edges(const EdgeSplitOptions& options,
                            const std::function<void(int64_t, int64_t)>& progress, FileSystem& files) {
  if (!(options.valid > 0 && options.test >= 0 && options.valid + options.test < 1))
    throw UsageError(fmt::format(
        "--valid {} and --test {}: expected shares of edges, 0 < valid, 0 <= test, less than 1 together",
        options.valid, options.test));
  if (!(options.train > 0 && options.train <= 1))
    throw UsageError(
        fmt::format("--train {}: expected a share of edges, above 0 and up to 1", options.train));
  const GraphView graph(options.graph);
  for (size_t split = 0; split < kGraphSplits.size(); ++split)
    if (!graph.split_edges(split).empty())
      throw InputError(
          fmt::format("{}: its edges are already split (column {}); split the graph it was made from",
                      options.graph.string(), edges_column(split)));
  const Json provenance = make_provenance({graph.set().identity()}, {{"train_edges", options.train},
                                                                     {"valid_edges", options.valid},
                                                                     {"test_edges", options.test},
                                                                     {"seed", options.seed}});
  if (is_made_already(options.out, options.force, provenance, {options.graph})) {
    const GraphView there(options.out);
    EdgeSplitResult result{.already_there = true, .nodes = there.nodes(), .edges = there.edges()};
    for (size_t split = 0; split < kGraphSplits.size(); ++split)
      result.pairs[split] = static_cast<int64_t>(there.split_edges(split).size() / 2);
    return result;
  }
  check_columns(graph.set(), {.full = true});  // All of the set will be read.
  GraphWriter writer(options.out, options.force, files);
  const EdgeSplitResult result = EdgeSplit(options, graph, progress).write(writer);
  writer.publish(graph.tables(), provenance);
  return result;
}

}  // namespace plimsoll
