#include "ingest/compat_windows.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace plimsoll {
namespace {

constexpr int64_t kChunk = 5000;  // frames that the published code reads at a time

constexpr std::array<double, 256> make_byte_shares() {
  std::array<double, 256> shares{};
  for (size_t byte = 0; byte < shares.size(); ++byte) shares[byte] = static_cast<double>(byte) / 255.0;
  return shares;
}
constexpr std::array<double, 256> kByteShares = make_byte_shares();

// Rows of a recording: each chunk, also a shorter last one, has one fewer than frames.
int64_t row_count(int64_t frames) {
  return frames - (frames + kChunk - 1) / kChunk;
}
// The frame, counted from the recording's first, that is the source of a row.
int64_t row_frame(int64_t row) {
  return row + row / (kChunk - 1);
}

int64_t window_count(int64_t rows, const WindowOptions& options) {
  if (rows <= 0) return 0;
  if (rows < options.window) return 1;
  return (rows - options.window) / options.stride + 1;
}

}  // namespace

// A window's frames are consecutive but for the frame that a chunk's end leaves out as a source.
struct CompatWindows::Rows {
  int64_t first_row;    // in its recording
  int64_t count;        // W
  int64_t first_frame;  // of the recording, in the set
  int64_t frame(int64_t position) const { return first_frame + row_frame(first_row + position); }
};

struct CompatWindows::Builder {
  // A node while its window is being made.
  struct Node {
    int32_t index;  // of its ID in the vocabulary
    int64_t count = 0;
    int64_t degree = 0;
    int64_t last = 0;
    std::array<double, kPayloadBytes> sums{};
  };
  // A row's pair of local nodes; orders by source, target, position.
  struct Pair {
    int32_t source;
    int32_t target;
    int32_t position;
    auto operator<=>(const Pair&) const = default;
  };

  const Vocabulary& vocabulary;
  Vector<int32_t, Tag::blocks> local;  // node of an ID index in the present window, else -1
  std::vector<Node> nodes;
  std::vector<Pair> pairs;
  std::vector<std::pair<int32_t, int32_t>> edges;  // distinct pairs, ascending

  explicit Builder(const Vocabulary& ids) : vocabulary(ids), local(static_cast<size_t>(ids.size()) + 1, -1) {}

  void add(const FrameSpans& frames, const Rows& rows, GraphBlock& block) {
    make_nodes(frames, rows);
    write_nodes(rows.count, block);
    write_edges(rows.count, block);
    for (const Node& node : nodes) local[static_cast<size_t>(node.index)] = -1;
    block.node_ptr.push_back(block.node_ptr.back() + static_cast<int64_t>(nodes.size()));
    block.edge_ptr.push_back(block.edge_ptr.back() + static_cast<int64_t>(edges.size()));
  }

  void see(int32_t index) {
    int32_t& at = local[static_cast<size_t>(index)];
    if (at >= 0) return;
    at = 0;
    nodes.push_back({index});
  }

  void make_nodes(const FrameSpans& frames, const Rows& rows) {
    nodes.clear();
    pairs.clear();
    int64_t attacks = 0;
    for (int64_t p = 0; p < rows.count; ++p) {
      const auto frame = static_cast<size_t>(rows.frame(p));
      const int32_t source = vocabulary.index(frames.can_id[frame]);
      const int32_t target = vocabulary.index(frames.can_id[frame + 1]);
      see(source);
      see(target);
      pairs.push_back({source, target, static_cast<int32_t>(p)});
      attacks += frames.label[frame] == 1;
    }
    label = attacks > 0 ? 1 : 0;
    std::sort(nodes.begin(), nodes.end(), [](const Node& a, const Node& b) { return a.index < b.index; });
    for (size_t n = 0; n < nodes.size(); ++n)
      local[static_cast<size_t>(nodes[n].index)] = static_cast<int32_t>(n);
    for (Pair& pair : pairs) {
      pair.source = local[static_cast<size_t>(pair.source)];
      pair.target = local[static_cast<size_t>(pair.target)];
      Node& node = nodes[static_cast<size_t>(pair.source)];
      const auto payload = static_cast<size_t>(rows.frame(pair.position) * kPayloadBytes);
      for (size_t k = 0; k < kPayloadBytes; ++k) node.sums[k] += kByteShares[frames.data[payload + k]];
      ++node.count;
      ++node.degree;
      ++nodes[static_cast<size_t>(pair.target)].degree;
      node.last = pair.position;
    }
  }

  void write_nodes(int64_t window, GraphBlock& block) const {
    const auto [least, most] = std::minmax_element(
        nodes.begin(), nodes.end(), [](const Node& a, const Node& b) { return a.count < b.count; });
    const auto low = static_cast<double>(least->count);
    const auto high = static_cast<double>(most->count);
    const auto last_position = static_cast<double>(std::max<int64_t>(window - 1, 1));
    for (const Node& node : nodes) {
      const auto count = static_cast<double>(node.count);
      std::array<float, kNodeFeatures> row{};
      row[0] = static_cast<float>(node.index);
      if (node.count > 0) {
        for (size_t k = 0; k < kPayloadBytes; ++k) row[1 + k] = static_cast<float>(node.sums[k] / count);
        row[10] = static_cast<float>(static_cast<double>(node.last) / last_position);
      }
      row[9] = static_cast<float>(high > low ? (count - low) / (high - low) : count);
      block.x.insert(block.x.end(), row.begin(), row.end());
    }
  }

  void write_edges(int64_t window, GraphBlock& block) {
    std::sort(pairs.begin(), pairs.end());
    edges.clear();
    for (const Pair& pair : pairs)
      if (edges.empty() || edges.back() != std::pair(pair.source, pair.target))
        edges.emplace_back(pair.source, pair.target);
    const auto width = static_cast<double>(window);
    size_t at = 0;
    for (const auto& [source, target] : edges) {
      const int32_t first = pairs[at].position;
      int32_t last = first;
      double gaps = 0;
      double squares = 0;
      int64_t count = 1;
      for (++at; at < pairs.size() && pairs[at].source == source && pairs[at].target == target;
           ++at, ++count) {
        const auto gap = static_cast<double>(pairs[at].position - last);
        gaps += gap;
        squares += gap * gap;
        last = pairs[at].position;
      }
      std::array<float, kEdgeFeatures> row{};
      row[0] = static_cast<float>(count);
      row[1] = static_cast<float>(static_cast<double>(count) / width);
      if (count > 1) {
        const auto n = static_cast<double>(count - 1);
        const double mean = gaps / n;
        const double deviation = std::sqrt(std::max(squares / n - mean * mean, 0.0));
        row[2] = static_cast<float>(mean);
        row[3] = static_cast<float>(deviation);
        row[4] = static_cast<float>(1.0 / (1.0 + deviation));
      }
      row[5] = static_cast<float>(first / width);
      row[6] = static_cast<float>(last / width);
      row[7] = static_cast<float>((last - first) / width);
      row[8] = std::binary_search(edges.begin(), edges.end(), std::pair(target, source)) ? 1.0F : 0.0F;
      const auto source_degree = static_cast<float>(nodes[static_cast<size_t>(source)].degree);
      const auto target_degree = static_cast<float>(nodes[static_cast<size_t>(target)].degree);
      row[9] = source_degree * target_degree;
      row[10] = source_degree / std::max(target_degree, 1e-8F);
      block.edge_attr.insert(block.edge_attr.end(), row.begin(), row.end());
      block.edges.push_back(source);
      block.edges.push_back(target);
    }
  }

  int64_t label = 0;
};

CompatWindows::CompatWindows(const FramesView& frames, const WindowOptions& options, Vocabulary vocabulary)
    : frames_(frames), options_(options), vocabulary_(std::move(vocabulary)) {
  for (const Recording& recording : frames.recordings()) {
    const int64_t graphs = window_count(row_count(recording.frames), options);
    if (tables_.splits.empty() || tables_.splits.back().name != recording.split)
      tables_.splits.push_back({recording.split, "", graphs_, 0, {}, {}});
    tables_.splits.back().graphs += graphs;
    tables_.recordings.push_back(
        {recording.name, recording.split, graphs_, graphs, recording.attack, recording.copy_of});
    graphs_ += graphs;
  }
  tables_.node_features = {"id_index", "byte_0", "byte_1", "byte_2", "byte_3",       "byte_4",
                           "byte_5",   "byte_6", "byte_7", "count",  "last_position"};
  tables_.edge_features = {"count",       "frequency",      "mean_gap",      "std_gap",
                           "regularity",  "first_position", "last_position", "span",
                           "has_reverse", "degree_product", "degree_ratio"};
  tables_.vocabulary = vocabulary_.ids();
}

CompatWindows::Rows CompatWindows::rows(int64_t graph) const {
  const auto after =
      std::upper_bound(tables_.recordings.begin(), tables_.recordings.end(), graph,
                       [](int64_t g, const GraphRange& range) { return g < range.first_graph; });
  // Of recordings that begin at the same graph all but the last are empty.
  const auto at = after - tables_.recordings.begin() - 1;
  const Recording& recording = frames_.recordings()[static_cast<size_t>(at)];
  const int64_t first = (graph - tables_.recordings[static_cast<size_t>(at)].first_graph) * options_.stride;
  return {first, std::min(options_.window, row_count(recording.frames) - first), recording.first_frame};
}

FrameSpans CompatWindows::frames(int64_t graph) const {
  const Rows window = rows(graph);
  const int64_t first = window.frame(0);
  return frames_.frames().part(first, window.frame(window.count - 1) + 2 - first);
}

void CompatWindows::read(std::span<const int64_t> graphs, GraphBlock& block) const {
  Builder builder(vocabulary_);
  block.clear();
  for (const int64_t graph : graphs) {
    builder.add(frames_.frames(), rows(graph), block);
    block.graph.push_back(graph);
    block.y.push_back(builder.label);
  }
}

}  // namespace plimsoll
