#include "ingest/append/merge_lists.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <optional>

#include "base/error.h"
#include "ingest/append/checked_column.h"
#include "ingest/graph/edge_row_writer.h"

namespace plimsoll {
namespace {

constexpr int64_t kRowsAtOnce = 16384;
constexpr int64_t kEdgesAtOnce = 16384;
constexpr int64_t kNone = std::numeric_limits<int64_t>::max();

/// One pass over the rows of a graph and the sorted new edges.
class ListMerge {
 public:
  ListMerge(const GraphView& base, const GraphEdges& added, const InsertedNodes& nodes,
            const EdgeRules& rules, const GraphScratch& scratch,
            const std::function<std::string(int64_t)>& id_of, const std::function<void(int64_t)>& progress,
            GraphWriter& writer)
      : base_(base),
        nodes_(nodes),
        rules_(rules),
        id_of_(id_of),
        progress_(progress),
        added_(added.read()),
        rows_(writer, rules, nodes.nodes(), scratch),
        values_(rules.values()),
        added_values_(rules.values()) {
    for (const char* name : {"indptr", "indices", "edge_weight", "edge_attr"})
      columns_.emplace_back(base.set(), name);
    next_added();
  }

  void run() {
    nodes_.for_each_run(kRowsAtOnce, [&](bool is_new, int64_t first, int64_t count) {
      if (is_new) {
        for (int64_t i = first; i < first + count; ++i) add_new_edges(nodes_.new_of_inserted(i));
      } else {
        old_rows(first, first + count);
      }
    });
    rows_.finish();
    for (CheckedColumn& column : columns_) column.finish();
  }

 private:
  /// Indices into columns_.
  enum Column { kIndptr, kIndices, kWeights, kFeatures };

  void next_added() {
    added_row_ = added_.next() ? static_cast<int64_t>(added_.key() >> 32) : kNone;
    if (added_row_ != kNone && !added_values_.empty())
      std::memcpy(added_values_.data(), added_.payload(), added_values_.size() * sizeof(float));
  }
  uint32_t added_neighbour() const { return static_cast<uint32_t>(added_.key()); }

  // Returns the edge at which the row of an old node starts. For the number of old nodes, returns the end of
  // the last row.
  int64_t start_of(int64_t row) const {
    const std::span<const int64_t> indptr = base_.indptr();
    const int64_t start = indptr[static_cast<size_t>(row)];
    if (start < 0 || start > base_.edges() || (row > 0 && start < indptr[static_cast<size_t>(row) - 1]))
      throw damaged(fmt::format("column 'indptr' does not ascend at row {}", row));
    return start;
  }
  InputError damaged(const std::string& what) const {
    return InputError(
        fmt::format("{}: {}; the data set is damaged, make it again", base_.set().folder().string(), what));
  }
  uint32_t neighbour(int64_t edge) const {
    const int64_t old = base_.neighbour(edge);
    if (old < 0 || old >= base_.nodes())
      throw damaged(
          fmt::format("edge {}: its neighbour {} is not one of {} nodes", edge, old, base_.nodes()));
    return static_cast<uint32_t>(nodes_.new_of_old(old));
  }
  // Adds `rows` rows and their edges, which end at `end`, to the checksums.
  void check_to(int64_t rows, int64_t end) {
    columns_[kIndptr].read_to(rows + 1);
    for (const Column column : {kIndices, kWeights, kFeatures}) columns_[column].read_to(end);
  }

  // Writes the old rows [first, end). Those without new edges are copied together.
  void old_rows(int64_t first, int64_t end) {
    columns_[kIndptr].read_to(end + 1);
    progress_(start_of(first));
    while (first < end) {
      int64_t same = first;
      const int64_t offset = nodes_.new_of_old(first) - first;  // Equal for all nodes of a run.
      if (added_row_ != kNone)
        same = std::clamp(added_row_ - offset, first, end);
      else
        same = end;
      if (same > first) copy_rows(first, same, offset);
      if (same < end) merge_row(same, offset);
      first = std::min(same + 1, end);
    }
  }

  // Copies old rows without new edges, in parts of at most kEdgesAtOnce edges, or of one row.
  void copy_rows(int64_t first, int64_t end, int64_t offset) {
    while (first < end) {
      const int64_t start = start_of(first);
      int64_t stop = first + 1;
      int64_t edges_end = start_of(stop);
      for (; stop < end; ++stop) {
        const int64_t next = start_of(stop + 1);
        if (next - start > kEdgesAtOnce) break;
        edges_end = next;
      }
      check_to(stop, edges_end);
      if (edges_end - start > kEdgesAtOnce)
        merge_row(first, offset);
      else
        copy_part(first, stop, start, edges_end, offset);
      first = stop;
    }
  }

  void copy_part(int64_t first, int64_t stop, int64_t start, int64_t edges_end, int64_t offset) {
    const auto part = [&](auto column, int64_t width) {
      return column.subspan(static_cast<size_t>(start * width),
                            static_cast<size_t>((edges_end - start) * width));
    };
    neighbours_.clear();
    for (int64_t edge = start; edge < edges_end; ++edge) neighbours_.push_back(neighbour(edge));
    rows_.add_rows(
        first + offset,
        base_.indptr().subspan(static_cast<size_t>(first) + 1, static_cast<size_t>(stop - first)), start,
        neighbours_, rules_.weight ? part(base_.edge_weight(), 1) : std::span<const float>{},
        rules_.features > 0 ? part(base_.edge_attr(), base_.edge_features()) : std::span<const float>{});
  }

  // Merges one old row with its new edges, if it has any. Old edges come before new ones with the same ends.
  void merge_row(int64_t old, int64_t offset) {
    const int64_t row = old + offset;
    const int64_t start = start_of(old);
    const int64_t end = start_of(old + 1);
    last_.reset();
    for (int64_t edge = start; edge < end; ++edge) {
      if ((edge - start) % kEdgesAtOnce == 0) check_to(old + 1, std::min(edge + kEdgesAtOnce, end));
      const uint32_t next = neighbour(edge);
      while (added_row_ == row && added_neighbour() < next) put_added(row);
      read_values(edge);
      if (next == row) require_own_loop(row, old, edge, start, end);
      put(row, next, values_.data());
    }
    add_new_edges(row);
  }
  // Adds the new edges of a row that are left.
  void add_new_edges(int64_t row) {
    if (row != row_of_last_) last_.reset();
    while (added_row_ == row) put_added(row);
  }

  void put_added(int64_t row) {
    put(row, added_neighbour(), added_values_.data());
    next_added();
  }
  void put(int64_t row, uint32_t neighbour, const float* values) {
    row_of_last_ = row;
    if (rules_.dedup && last_ == neighbour) return;
    last_ = neighbour;
    rows_.add(row, neighbour, values);
  }
  void read_values(int64_t edge) {
    const size_t weights = rules_.weight ? 1 : 0;
    if (rules_.weight) values_[0] = base_.edge_weight()[static_cast<size_t>(edge)];
    const auto width = static_cast<int64_t>(rules_.features);
    if (width > 0)
      std::copy_n(base_.edge_attr().begin() + edge * width, width,
                  values_.begin() + static_cast<ptrdiff_t>(weights));
  }

  // Refuses a new self-loop of a node if it is unknown whether its only old one, the edge `edge` of the row
  // from `start` to `end`, was added: an added one would have been left out if all edges had been known.
  void require_own_loop(int64_t row, int64_t old, int64_t edge, int64_t start, int64_t end) const {
    if (rules_.loops != SelfLoops::add || added_row_ != row || added_neighbour() != row) return;
    const auto is_loop = [&](int64_t other) {
      return other >= start && other < end && neighbour(other) == row;
    };
    const bool single = !is_loop(edge - 1) && !is_loop(edge + 1);
    const bool plain = std::ranges::all_of(values_, [&, i = size_t{0}](float value) mutable {
      return value == (rules_.weight && i++ == 0 ? 1.0F : 0.0F);
    });
    if (!single || !plain || (rules_.dedup && values_.empty())) return;
    throw InputError(
        fmt::format("the new edges have a self-loop of node {}, and {} does not say whether its self-loop of "
                    "that node is from the edges or was added by --self-loops add; ingest all edges together",
                    id_of_(old), base_.set().folder().string()));
  }

  const GraphView& base_;
  const InsertedNodes& nodes_;
  const EdgeRules& rules_;
  const std::function<std::string(int64_t)>& id_of_;
  const std::function<void(int64_t)>& progress_;
  ExternalSort::Reader added_;
  int64_t added_row_ = kNone;  // Row of the next new edge.
  EdgeRowWriter rows_;
  std::vector<CheckedColumn> columns_;
  std::optional<uint32_t> last_;  // The last neighbour in this row.
  int64_t row_of_last_ = -1;
  Vector<uint32_t, Tag::ingest> neighbours_;
  Vector<float, Tag::ingest> values_;        // Values of the current old edge.
  Vector<float, Tag::ingest> added_values_;  // Values of the next new edge.
};

}  // namespace

void merge_lists(const GraphView& base, const GraphEdges& added, const InsertedNodes& nodes,
                 const EdgeRules& rules, const GraphScratch& scratch,
                 const std::function<std::string(int64_t)>& id_of,
                 const std::function<void(int64_t)>& progress, GraphWriter& writer) {
  ListMerge(base, added, nodes, rules, scratch, id_of, progress, writer).run();
}

}  // namespace plimsoll
