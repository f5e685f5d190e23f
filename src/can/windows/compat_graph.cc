#include "can/windows/compat_graph.h"

#include <algorithm>
#include <cmath>

namespace plimsoll {
namespace {

constexpr std::array<double, 256> make_byte_shares() {
  std::array<double, 256> shares{};
  for (size_t byte = 0; byte < shares.size(); ++byte) shares[byte] = static_cast<double>(byte) / 255.0;
  return shares;
}
constexpr std::array<double, 256> kByteShares = make_byte_shares();

}  // namespace

MessageKeys compat_node_ids(std::span<const uint32_t> can_ids, const Vocabulary& vocabulary) {
  MessageKeys ids;
  IdSlots<> nodes;
  for (const uint32_t id : can_ids) {
    const auto next = static_cast<int32_t>(ids.size());
    if (nodes.find_or_add(static_cast<MessageKey>(vocabulary.index(id)), next) == next) ids.push_back(id);
  }
  std::ranges::sort(ids, {}, [&](MessageKey id) { return vocabulary.index(id); });
  return ids;
}

void CompatGraph::append(const FrameSpans& frames, const CompatRows& window, GraphBlock& block) {
  read_rows(frames, window);
  order_nodes();
  transitions_.group(nodes_.size());
  write_nodes(window.count, block);
  write_edges(window.count, block);
  local_.clear(nodes_);
  block.node_ptr.push_back(block.node_ptr.back() + static_cast<int64_t>(nodes_.size()));
  block.edge_ptr.push_back(block.edge_ptr.back() + static_cast<int64_t>(transitions_.edges().size()));
  block.y.push_back(label_);
}

int32_t CompatGraph::see(uint32_t can_id) {
  const int32_t index = vocabulary_.index(can_id);
  const auto next = static_cast<int32_t>(nodes_.size());
  const int32_t found = local_.find_or_add(static_cast<MessageKey>(index), next);
  if (found == next) {
    order_.push_back(static_cast<uint64_t>(index) << 32 | nodes_.size());
    nodes_.push_back({.key = static_cast<MessageKey>(index)});
  }
  return found;
}

void CompatGraph::read_rows(const FrameSpans& frames, const CompatRows& window) {
  nodes_.clear();
  order_.clear();
  transitions_.rows.resize(static_cast<size_t>(window.count));
  label_ = 0;
  for (int64_t p = 0; p < window.count;) {
    // These rows are in one chunk: the target of each is the source of the next.
    const int64_t run = std::min(window.count, p + window.rows_to_chunk_end(p));
    auto frame = static_cast<size_t>(window.frame(p));
    int32_t source = see(frames.can_id[frame]);
    for (; p < run; ++p, ++frame) {
      const int32_t target = see(frames.can_id[frame + 1]);
      Node& node = nodes_[static_cast<size_t>(source)];
      const uint8_t* payload = &frames.data[frame * static_cast<size_t>(frames.width)];
      for (size_t k = 0; k < kPayloadBytes; ++k) node.sums[k] += kByteShares[payload[k]];
      node.last = static_cast<int32_t>(p);
      ++node.count;
      ++nodes_[static_cast<size_t>(target)].target_of;
      if (frames.label[frame] == 1) label_ = 1;
      transitions_.rows[static_cast<size_t>(p)] = {source, target};
      source = target;
    }
  }
}

void CompatGraph::order_nodes() {
  std::sort(order_.begin(), order_.end());
  int32_t place = 0;
  for (const uint64_t entry : order_) nodes_[entry & 0xFFFFFFFF].place = place++;
  for (Transitions::Row& row : transitions_.rows)
    row = {nodes_[static_cast<size_t>(row.source)].place, nodes_[static_cast<size_t>(row.target)].place};
}

void CompatGraph::write_nodes(int64_t window, GraphBlock& block) const {
  const auto [min, max] = std::minmax_element(nodes_.begin(), nodes_.end(),
                                              [](const Node& a, const Node& b) { return a.count < b.count; });
  const auto low = static_cast<double>(min->count);
  const auto high = static_cast<double>(max->count);
  const auto last_position = static_cast<double>(std::max<int64_t>(window - 1, 1));
  const size_t before = block.x.size();
  block.x.resize(before + nodes_.size() * kNodeFeatures);
  float* row = block.x.data() + before;
  for (const uint64_t entry : order_) {
    const Node& node = node_of(entry);
    const auto count = static_cast<double>(node.count);
    const double divisor = std::max(count, 1.0);  // The sums of a node without rows are 0.
    row[0] = static_cast<float>(index_of(entry));
    for (size_t k = 0; k < kPayloadBytes; ++k) row[1 + k] = static_cast<float>(node.sums[k] / divisor);
    row[9] = static_cast<float>(high > low ? (count - low) / (high - low) : count);
    row[10] = static_cast<float>(static_cast<double>(node.last) / last_position);
    row += kNodeFeatures;
  }
}

void CompatGraph::write_edges(int64_t window, GraphBlock& block) const {
  const auto width = static_cast<double>(window);
  const auto edges = transitions_.edges();
  const size_t before = block.edges.size() / 2;
  block.edges.resize(2 * (before + edges.size()));
  block.edge_attr.resize((before + edges.size()) * kEdgeFeatures);
  int32_t* pair = block.edges.data() + 2 * before;
  float* row = block.edge_attr.data() + before * kEdgeFeatures;
  for (const Transitions::Edge& edge : edges) {
    const auto position = transitions_.positions(edge);
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
    const auto source_degree = static_cast<float>(node_of(order_[static_cast<size_t>(edge.source)]).degree());
    const auto target_degree = static_cast<float>(node_of(order_[static_cast<size_t>(edge.target)]).degree());
    row[9] = source_degree * target_degree;
    row[10] = source_degree / std::max(target_degree, 1e-8F);
    row += kEdgeFeatures;
    *pair++ = edge.source;
    *pair++ = edge.target;
  }
}

}  // namespace plimsoll
