#include "ingest/graph/graph_edges.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <optional>

#include "base/error.h"
#include "ingest/graph/edge_row_writer.h"

namespace plimsoll {

void gather_ends(const EdgeBatch& edges, ExternalSort* ids, UniqueTexts* texts) {
  for (size_t e = 0; e < edges.size() && ids != nullptr; ++e) {
    ids->add(edges.source[e]);
    ids->add(edges.target[e]);
  }
  size_t begin = 0;
  for (size_t i = 0; i < edges.text_ends.size() && texts != nullptr; ++i) {
    texts->add({edges.texts.data() + begin, edges.text_ends[i] - begin});
    begin = edges.text_ends[i];
  }
}

GraphEdges::GraphEdges(GraphScratch scratch, EdgeRules rules, bool direct, int64_t max)
    : scratch_(std::move(scratch)), rules_(rules), direct_(direct) {
  const size_t values = rules_.values() * sizeof(float);
  const int64_t records = rules_.undirected ? 2 * max : max;
  if (direct_)
    sorted_ = scratch_.sort("edges", GraphScratch::kAlone, values, records);
  else
    by_neighbour_ = sort_by_neighbour(records);
  record_.resize(sizeof(uint64_t) + values);
}

void GraphEdges::add(const EdgeBatch& edges) {
  const size_t values = rules_.values();
  for (size_t e = 0; e < edges.size(); ++e) {
    uint64_t row = edges.target[e];
    uint64_t neighbour = edges.source[e];
    const bool loop = row == neighbour;
    if (loop && rules_.loops == SelfLoops::drop) continue;
    if (rules_.out) std::swap(row, neighbour);
    const float* const of_edge = edges.values.data() + e * values;
    const bool both = rules_.undirected && !loop;
    add(row, neighbour, of_edge);
    if (both) add(neighbour, row, of_edge);
    added_ += both ? 2 : 1;
  }
}

void GraphEdges::add(uint64_t row, uint64_t neighbour, const void* values) {
  if (direct_) {
    sorted_->add(edge_key(row, neighbour), values);
    return;
  }
  std::memcpy(record_.data(), &row, sizeof row);
  if (rules_.values() > 0) std::memcpy(record_.data() + sizeof row, values, rules_.values() * sizeof(float));
  by_neighbour_->add(neighbour, record_.data());
}

std::unique_ptr<ExternalSort> GraphEdges::sort_by_neighbour(int64_t max) const {
  return scratch_.sort("by_neighbour", GraphScratch::kEdges,
                       sizeof(uint64_t) + rules_.values() * sizeof(float), max);
}

void GraphEdges::take_run(const std::filesystem::path& path, int64_t begin, int64_t edges) {
  first_sort().take_run(path, begin);
  added_ += edges;
}

void GraphEdges::seal() {
  first_sort().seal();
}

void GraphEdges::write_run(const std::function<void(std::span<const std::byte>)>& write) const {
  first_sort().write_run(write);
}

void GraphEdges::count_neighbours(const std::function<void(uint64_t, uint64_t)>& take) const {
  ExternalSort::Reader edges = by_neighbour_->read();
  std::optional<uint64_t> id;
  uint64_t count = 0;
  while (edges.next()) {
    if (id && *id != edges.key()) take(*id, std::exchange(count, 0));
    id = edges.key();
    ++count;
  }
  if (id) take(*id, count);
}

void GraphEdges::relabel(const NodeIndex& index) {
  if (direct_) return;
  const size_t values = rules_.values() * sizeof(float);
  auto by_row = scratch_.sort("by_row", GraphScratch::kEdges, sizeof(uint32_t) + values, added_);
  int64_t joined = 0;
  join(*by_neighbour_, index, [&](uint32_t neighbour, const std::byte* payload) {
    scratch_.tick_at(joined++);
    uint64_t row = 0;
    std::memcpy(&row, payload, sizeof row);
    std::memcpy(record_.data(), &neighbour, sizeof neighbour);
    std::memcpy(record_.data() + sizeof neighbour, payload + sizeof row, values);
    by_row->add(row, record_.data());
  });
  by_neighbour_->remove();
  by_row->seal();
  sorted_ = scratch_.sort("edges", GraphScratch::kEdges, values, added_);
  join(*by_row, index, [&](uint32_t row, const std::byte* payload) {
    scratch_.tick_at(joined++);
    uint32_t neighbour = 0;
    std::memcpy(&neighbour, payload, sizeof neighbour);
    sorted_->add(edge_key(row, neighbour), payload + sizeof neighbour);
  });
  by_row->remove();
  sorted_->seal();
}

void GraphEdges::renumber(const NodeIndex& index) {
  direct_ = false;
  by_neighbour_ = sort_by_neighbour(added_);
  for (ExternalSort::Reader edges = sorted_->read(); edges.next();)
    add(edges.key() >> 32, edges.key() & 0xFFFFFFFF, edges.payload());
  sorted_->remove();
  by_neighbour_->seal();
  relabel(index);
}

void GraphEdges::write_rows(const EdgeRules& rules, int64_t nodes, GraphWriter& writer,
                            const std::function<void(int64_t)>& progress) const {
  EdgeRowWriter rows(writer, rules, nodes, scratch_);
  ExternalSort::Reader edges = sorted_->read();
  Vector<float, Tag::ingest> values(rules_.values());
  std::optional<uint64_t> last;
  for (int64_t e = 0; edges.next(); ++e) {
    if (e % (int64_t{1} << 20) == 0) progress(e);
    if (rules_.dedup && last == edges.key()) continue;
    if (const uint64_t end = std::max(edges.key() >> 32, edges.key() & 0xFFFFFFFF);
        end >= static_cast<uint64_t>(nodes))
      throw InputError(fmt::format("found an edge of node {}, expected nodes below {}; make the shards again",
                                   end, nodes));
    last = edges.key();
    if (!values.empty()) std::memcpy(values.data(), edges.payload(), values.size() * sizeof(float));
    rows.add(static_cast<int64_t>(edges.key() >> 32), static_cast<uint32_t>(edges.key()), values.data());
  }
  rows.finish();
}

void GraphEdges::write_topology(int64_t nodes, GraphWriter& writer) const {
  EdgeRules bare = rules_;
  bare.weight = false;
  bare.features = 0;
  write_rows(bare, nodes, writer, [](int64_t) {});
}

void GraphEdges::write(int64_t nodes, GraphWriter& writer, const std::function<void(int64_t)>& progress) {
  write_rows(rules_, nodes, writer, progress);
  sorted_->remove();
}

}  // namespace plimsoll
