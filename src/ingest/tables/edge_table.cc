#include "ingest/tables/edge_table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <set>
#include <utility>

#include "base/error.h"
#include "ingest/tables/appender.h"
#include "ingest/tables/column_summary.h"
#include "store/typed_graph.h"

namespace plimsoll {
namespace {

constexpr int64_t kEdgesAtOnce = 8192;

// An edge while edges are sorted.
struct EdgeRecord {
  uint32_t target, neighbour, row;
};

EdgeRecord record_at(const ExternalSort::Reader& reader) {
  EdgeRecord record{};
  std::memcpy(&record, reader.payload(), sizeof record);
  return record;
}

ArrowTable open_edges(const TableSpec& spec) {
  ArrowArrayStream stream{};
  spec.open(stream);
  return ArrowTable(spec.name, stream);
}

// Sorts the lists of a multi-category column into the order of the edges.
void reorder_lists(DataSetWriter& set, const std::string& values, const std::string& ptr,
                   const ExternalSort& edges) {
  const std::string dtype = NpyView(set.path() / (values + ".npy")).shape().dtype;
  set.rewrite(values, dtype.c_str(), {}, [&](const NpyView& from, NpyWriter& to) {
    const NpyView old(set.path() / (ptr + ".npy"));
    const std::span<const int64_t> ends = old.values<int64_t>();
    const size_t bytes = ends.back() == 0 ? 0 : from.data().size() / static_cast<size_t>(ends.back());
    for (ExternalSort::Reader edge = edges.read(); edge.next();) {
      const uint32_t row = record_at(edge).row;
      const auto first = static_cast<size_t>(ends[row]);
      to.append(from.data().subspan(first * bytes, (static_cast<size_t>(ends[row + 1]) - first) * bytes));
    }
  });
  set.finish(values);
  set.rewrite(ptr, npy_dtype<int64_t>(), {}, [&](const NpyView& from, NpyWriter& to) {
    const std::span<const int64_t> ends = from.values<int64_t>();
    Appender<int64_t> rising(to);
    int64_t end = 0;
    rising.add(end);
    for (ExternalSort::Reader edge = edges.read(); edge.next();) {
      const uint32_t row = record_at(edge).row;
      rising.add(end += ends[row + 1] - ends[row]);
    }
    rising.flush();
  });
  set.finish(ptr);
}

}  // namespace

EdgeTable::EdgeTable(const TableSpec& spec, DataSetWriter& set, const TableScratch& scratch,
                     const NodeTypeState& source, const NodeTypeState& target)
    : spec_(spec),
      set_(set),
      scratch_(scratch),
      table_(open_edges(spec)),
      columns_(spec, table_, set, {source.name, spec.edge_name(), target.name}) {
  std::set<std::string> taken;
  ends_.reserve(2);
  for (size_t end = 0; end < 2; ++end) {
    const NodeTypeState& node_type = end == 0 ? source : target;
    const std::vector<std::string>& names = spec.foreign_keys[end].columns;
    KeyColumns keys(table_, names);
    require_key_types(keys, *node_type.index, node_type.name,
                      fmt::format("{}, foreign key {}", table_.name(), fmt::join(names, ", ")));
    ends_.push_back(
        {node_type, std::move(keys),
         KeyLookup(scratch, typed_column({"ends", spec.name, std::to_string(end)}), *node_type.index)});
    taken.insert(names.begin(), names.end());
  }
  columns_.open_columns(taken);
}

Json EdgeTable::run(bool reverse, const std::function<void(int64_t)>& progress) {
  int64_t read = 0;
  while (table_.next())
    for (int64_t first = 0; first < table_.rows(); first += kEdgesAtOnce) {
      const int64_t rows = std::min(kEdgesAtOnce, table_.rows() - first);
      add_rows(first, rows);
      progress(read += rows);
    }
  for (End& end : ends_) end.nodes.seal();
  Json entry = Json::object();
  columns_.finish(entry);
  const std::string& source = ends_[0].node_type.name;
  const std::string& target = ends_[1].node_type.name;
  found_ = scratch_.sort(typed_column({"edges", spec_.name}), sizeof(EdgeRecord));
  for (int64_t row = 0; row < rows_; ++row) {
    const int64_t from = ends_[0].nodes.next();
    const int64_t to = ends_[1].nodes.next();
    if (from < 0 || to < 0) continue;
    ++edges_;
    const EdgeRecord record{static_cast<uint32_t>(to), static_cast<uint32_t>(from),
                            static_cast<uint32_t>(row)};
    found_->add(static_cast<uint64_t>(row), &record);
  }
  found_->seal();
  Json entries = Json::array();
  if (reverse) {
    const Lists back{target, "rev_" + spec_.edge_name(), source, ends_[0].node_type.nodes, false};
    const std::unique_ptr<ExternalSort> edges = sort_edges(back);
    entries.push_back(write_lists(back, *edges));
  }
  const Lists forward{source, spec_.edge_name(), target, ends_[1].node_type.nodes, true};
  const std::unique_ptr<ExternalSort> edges = sort_edges(forward);
  found_.reset();
  Json made = write_lists(forward, *edges);
  if (!columns_.time_column().empty()) reorder(columns_.time_column(), *edges);
  made["columns"] = entry["columns"];
  reorder_columns(made["columns"], *edges);
  made["left_out"] = entry["left_out"];
  if (entry.contains("rows_without_time")) made["rows_without_time"] = entry["rows_without_time"];
  made.update({{"missing", missing_}, {"dangling", dangling()}});
  entries.insert(entries.begin(), std::move(made));
  return entries;
}

void EdgeTable::add_rows(int64_t first, int64_t rows) {
  const std::span<const uint8_t> kept = columns_.add_times(first, rows);
  for (End& end : ends_) end.keys.read(table_, first, rows, kept);
  for (size_t row = 0; row < ends_[0].keys.rows(); ++row) {
    bool is_missing = false;
    for (End& end : ends_) {
      const KeyValue key = end.keys.key(row);
      is_missing = is_missing || key.missing;
      end.nodes.add(key);
    }
    missing_ += is_missing ? 1 : 0;
    ++rows_;
  }
  columns_.add_values(first, rows, kept);
}

// Sorts edges by (target, time, source) of one direction. The sorts are stable, so the edges are sorted by
// the last of these keys first.
std::unique_ptr<ExternalSort> EdgeTable::sort_edges(const Lists& lists) {
  const auto sorted_by = [&](const char* key, const ExternalSort& edges, const auto& key_of) {
    auto sorted = scratch_.sort(typed_column({"edges", spec_.name, key}), sizeof(EdgeRecord));
    for (ExternalSort::Reader edge = edges.read(); edge.next();) {
      const EdgeRecord record = record_at(edge);
      sorted->add(key_of(record), &record);
    }
    sorted->seal();
    return sorted;
  };
  const bool is_forward = lists.is_forward;
  auto edges = sorted_by("neighbour", *found_, [&](const EdgeRecord& edge) -> uint64_t {
    return is_forward ? edge.neighbour : edge.target;
  });
  if (!columns_.time_column().empty()) {
    const NpyView times(set_.path() / (columns_.time_column() + ".npy"));
    const std::span<const int64_t> time = times.values<int64_t>();
    edges = sorted_by("time", *edges, [&](const EdgeRecord& edge) {
      return static_cast<uint64_t>(time[edge.row]) ^ uint64_t { 1 } << 63;
    });
  }
  return sorted_by("list", *edges, [&](const EdgeRecord& edge) -> uint64_t {
    return is_forward ? edge.target : edge.neighbour;
  });
}

// Writes the lists of one direction and, for the reverse direction, the times. Returns the first keys of the
// entry.
Json EdgeTable::write_lists(const Lists& lists, const ExternalSort& edges) {
  const std::string prefix = typed_column({lists.source, lists.name, lists.target});
  const bool has_time = !columns_.time_column().empty();
  Appender<int64_t> ends(set_.column<int64_t>(prefix + ".indptr"));
  Appender<uint32_t> neighbours(set_.column<uint32_t>(prefix + ".indices"));
  int64_t end = 0;
  int64_t written = 0;
  for (ExternalSort::Reader edge = edges.read(); edge.next(); ++end) {
    const EdgeRecord record = record_at(edge);
    for (; written <= static_cast<int64_t>(edge.key()); ++written) ends.add(end);
    neighbours.add(lists.is_forward ? record.neighbour : record.target);
  }
  for (; written <= lists.nodes; ++written) ends.add(end);
  ends.flush();
  neighbours.flush();
  set_.finish(prefix + ".indptr");
  set_.finish(prefix + ".indices");
  Json entry = {{"source", lists.source},
                {"name", lists.name},
                {"target", lists.target},
                {"edges", edges_},
                {"indptr", prefix + ".indptr"},
                {"indices", prefix + ".indices"},
                {"time", has_time ? Json("edge") : Json()}};
  if (has_time) entry["times"] = prefix + ".time";
  entry["columns"] = Json::array();
  if (!has_time || lists.is_forward) return entry;
  Appender<int64_t> times(set_.column<int64_t>(prefix + ".time"));
  const NpyView view(set_.path() / (columns_.time_column() + ".npy"));
  for (ExternalSort::Reader edge = edges.read(); edge.next();)
    times.add(view.values<int64_t>()[record_at(edge).row]);
  times.flush();
  set_.finish(prefix + ".time");
  return entry;
}

// Sorts the rows of a column into the order of the edges.
void EdgeTable::reorder(const std::string& column, const ExternalSort& edges) {
  const NpyShape shape = NpyView(set_.path() / (column + ".npy")).shape();
  const std::vector<int64_t> row(shape.shape.begin() + 1, shape.shape.end());
  set_.rewrite(column, shape.dtype.c_str(), row, [&](const NpyView& from, NpyWriter& to) {
    const std::span<const std::byte> data = from.data();
    const size_t bytes = rows_ == 0 ? 0 : data.size() / static_cast<size_t>(rows_);
    for (ExternalSort::Reader edge = edges.read(); edge.next();)
      to.append(data.subspan(record_at(edge).row * bytes, bytes));
  });
  set_.finish(column);
}

// Does the same to all files of the columns, and recomputes their summaries, because some rows make no edge.
void EdgeTable::reorder_columns(Json& columns, const ExternalSort& edges) {
  for (Json& column : columns) {
    const std::string values = column["column"];
    if (column.contains("ptr"))
      reorder_lists(set_, values, column["ptr"], edges);
    else
      reorder(values, edges);
    if (column.contains("valid")) {
      const std::string mask = column["valid"];
      reorder(mask, edges);
      const NpyView valid(set_.path() / (mask + ".npy"));
      column["missing"] = std::ranges::count(valid.values<uint8_t>(), uint8_t{0});
    }
    summarize_again(column, set_.path());
  }
}

}  // namespace plimsoll
