#include "ingest/compat_windows.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "ingest/transitions.h"

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
  int64_t rows_to_chunk_end(int64_t position) const {
    return kChunk - 1 - (first_row + position) % (kChunk - 1);
  }
};

struct CompatWindows::Builder {
  // A node while its window is being made.
  struct Node {
    int32_t count = 0;      // rows of which it is the source
    int32_t target_of = 0;  // rows of which it is the target
    int32_t last = 0;       // position of the last row of which it is the source
    int32_t place = 0;      // among the nodes in ascending order
    std::array<double, kPayloadBytes> sums{};
    int32_t degree() const { return count + target_of; }
  };

  const Vocabulary& vocabulary;
  Vector<int32_t, Tag::blocks> local;   // node of an ID index in the present window, else -1
  Vector<Node, Tag::blocks> nodes;      // in the order in which they appear
  Vector<uint64_t, Tag::blocks> order;  // ID index and node, ascending
  Transitions transitions;
  int64_t label = 0;

  explicit Builder(const Vocabulary& ids) : vocabulary(ids), local(static_cast<size_t>(ids.size()) + 1, -1) {}

  static int32_t index_of(uint64_t entry) { return static_cast<int32_t>(entry >> 32); }
  const Node& node_of(uint64_t entry) const { return nodes[entry & 0xFFFFFFFF]; }

  void add(const FrameSpans& frames, const Rows& window, GraphBlock& block) {
    read_rows(frames, window);
    order_nodes();
    transitions.group(nodes.size());
    write_nodes(window.count, block);
    write_edges(window.count, block);
    for (const uint64_t entry : order) local[static_cast<size_t>(index_of(entry))] = -1;
    block.node_ptr.push_back(block.node_ptr.back() + static_cast<int64_t>(nodes.size()));
    block.edge_ptr.push_back(block.edge_ptr.back() + static_cast<int64_t>(transitions.edges().size()));
    block.y.push_back(label);
  }

  int32_t see(uint32_t can_id) {
    const int32_t index = vocabulary.index(can_id);
    int32_t& found = local[static_cast<size_t>(index)];
    if (found < 0) {
      found = static_cast<int32_t>(nodes.size());
      order.push_back(static_cast<uint64_t>(index) << 32 | nodes.size());
      nodes.emplace_back();
    }
    return found;
  }

  void read_rows(const FrameSpans& frames, const Rows& window) {
    nodes.clear();
    order.clear();
    transitions.rows.resize(static_cast<size_t>(window.count));
    label = 0;
    for (int64_t p = 0; p < window.count;) {
      // Rows without a chunk's end between them: each one's target is the next one's source.
      const int64_t run = std::min(window.count, p + window.rows_to_chunk_end(p));
      auto frame = static_cast<size_t>(window.frame(p));
      int32_t source = see(frames.can_id[frame]);
      for (; p < run; ++p, ++frame) {
        const int32_t target = see(frames.can_id[frame + 1]);
        Node& node = nodes[static_cast<size_t>(source)];
        const uint8_t* payload = &frames.data[frame * static_cast<size_t>(frames.width)];
        for (size_t k = 0; k < kPayloadBytes; ++k) node.sums[k] += kByteShares[payload[k]];
        node.last = static_cast<int32_t>(p);
        ++node.count;
        ++nodes[static_cast<size_t>(target)].target_of;
        if (frames.label[frame] == 1) label = 1;
        transitions.rows[static_cast<size_t>(p)] = {source, target};
        source = target;
      }
    }
  }

  void order_nodes() {
    std::sort(order.begin(), order.end());
    int32_t place = 0;
    for (const uint64_t entry : order) nodes[entry & 0xFFFFFFFF].place = place++;
    for (Transitions::Row& row : transitions.rows)
      row = {nodes[static_cast<size_t>(row.source)].place, nodes[static_cast<size_t>(row.target)].place};
  }

  void write_nodes(int64_t window, GraphBlock& block) const {
    const auto [least, most] = std::minmax_element(
        nodes.begin(), nodes.end(), [](const Node& a, const Node& b) { return a.count < b.count; });
    const auto low = static_cast<double>(least->count);
    const auto high = static_cast<double>(most->count);
    const auto last_position = static_cast<double>(std::max<int64_t>(window - 1, 1));
    const size_t before = block.x.size();
    block.x.resize(before + nodes.size() * kNodeFeatures);
    float* row = block.x.data() + before;
    for (const uint64_t entry : order) {
      const Node& node = node_of(entry);
      const auto count = static_cast<double>(node.count);
      const double divisor = std::max(count, 1.0);  // the sums of a node without rows are 0
      row[0] = static_cast<float>(index_of(entry));
      for (size_t k = 0; k < kPayloadBytes; ++k) row[1 + k] = static_cast<float>(node.sums[k] / divisor);
      row[9] = static_cast<float>(high > low ? (count - low) / (high - low) : count);
      row[10] = static_cast<float>(static_cast<double>(node.last) / last_position);
      row += kNodeFeatures;
    }
  }

  void write_edges(int64_t window, GraphBlock& block) const {
    const auto width = static_cast<double>(window);
    const auto edges = transitions.edges();
    const size_t before = block.edges.size() / 2;
    block.edges.resize(2 * (before + edges.size()));
    block.edge_attr.resize((before + edges.size()) * kEdgeFeatures);
    int32_t* pair = block.edges.data() + 2 * before;
    float* row = block.edge_attr.data() + before * kEdgeFeatures;
    for (const Transitions::Edge& edge : edges) {
      const auto position = transitions.positions(edge);
      const int32_t first = position.front();
      const int32_t last = position.back();
      row[0] = static_cast<float>(edge.count);
      row[1] = static_cast<float>(static_cast<double>(edge.count) / width);
      row[2] = row[3] = row[4] = 0;
      if (edge.count > 1) {
        int64_t squares = 0;
        for (size_t i = 1; i < position.size(); ++i) {
          const int64_t gap = position[i] - position[i - 1];
          squares += gap * gap;
        }
        const auto n = static_cast<double>(edge.count - 1);
        const double mean = static_cast<double>(last - first) / n;
        const double deviation = std::sqrt(std::max(static_cast<double>(squares) / n - mean * mean, 0.0));
        row[2] = static_cast<float>(mean);
        row[3] = static_cast<float>(deviation);
        row[4] = static_cast<float>(1.0 / (1.0 + deviation));
      }
      row[5] = static_cast<float>(first / width);
      row[6] = static_cast<float>(last / width);
      row[7] = static_cast<float>((last - first) / width);
      row[8] = edge.has_reverse ? 1.0F : 0.0F;
      const auto source_degree =
          static_cast<float>(node_of(order[static_cast<size_t>(edge.source)]).degree());
      const auto target_degree =
          static_cast<float>(node_of(order[static_cast<size_t>(edge.target)]).degree());
      row[9] = source_degree * target_degree;
      row[10] = source_degree / std::max(target_degree, 1e-8F);
      row += kEdgeFeatures;
      *pair++ = edge.source;
      *pair++ = edge.target;
    }
  }
};

CompatWindows::CompatWindows(const FramesView& frames, const WindowOptions& options, Vocabulary vocabulary)
    : frames_(frames), options_(options), vocabulary_(std::move(vocabulary)) {
  for (const Recording& recording : frames.recordings()) {
    const int64_t graphs = window_count(row_count(recording.frames), options);
    if (tables_.splits.empty() || tables_.splits.back().name != recording.split)
      tables_.splits.push_back({recording.split, "", graphs_, 0, {}, {}});
    tables_.splits.back().graphs += graphs;
    tables_.recordings.push_back({recording.name, recording.split, graphs_, graphs, recording.attack,
                                  recording.copy_of, recording.content});
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
  }
}

}  // namespace plimsoll
