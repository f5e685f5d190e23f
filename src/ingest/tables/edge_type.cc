#include "ingest/tables/edge_type.h"

#include <fmt/format.h>

#include <cstring>
#include <utility>

#include "base/error.h"
#include "ingest/tables/appender.h"
#include "store/typed_graph.h"

namespace plimsoll {
namespace {

uint64_t pair_of(uint64_t high, uint64_t low) {
  return high << 32 | low;
}
uint32_t high_of(uint64_t pair) {
  return static_cast<uint32_t>(pair >> 32);
}
uint32_t low_of(uint64_t pair) {
  return static_cast<uint32_t>(pair);
}

}  // namespace

EdgeType::EdgeType(const TableScratch& scratch, int number, const ForeignKey& key,
                   const NodeTypeState& source, const NodeTypeState& target, const KeyColumns& columns)
    : scratch_(scratch),
      scratch_name_(fmt::format("edges-{}", number)),
      name_(key.edge_name()),
      types_(columns.types()),
      source_(source),
      target_(target),
      is_direct_(target.is_read && target.index->is_consecutive() && columns.is_number() &&
                 columns.types() == target.index->types()),
      is_number_(columns.is_number()) {
  if (is_direct_)
    by_target_ = sort("by-target", 0);
  else
    by_key_ = sort("by-key", KeyIndex::payload_bytes(is_number_));
}

std::unique_ptr<ExternalSort> EdgeType::sort(const char* name, size_t payload) const {
  return scratch_.sort(fmt::format("{}-{}", scratch_name_, name), payload);
}

void EdgeType::add(const KeyValue& key, int64_t row) {
  if (key.missing) {
    ++missing_;
    return;
  }
  if (!is_direct_) {
    const KeyRecord record{.row = static_cast<uint32_t>(row), .check = key.check};
    by_key_->add(key.sort, record.payload().data());
    return;
  }
  const int64_t target = target_.index->row_of(key);
  add_edge(target, static_cast<uint32_t>(row));
}

// Adds the edge from row `row` to the row that has the key, `target`, if there is one.
void EdgeType::add_edge(int64_t target, uint32_t row) {
  if (target < 0) {
    ++dangling_;
    return;
  }
  by_target_->add(pair_of(static_cast<uint64_t>(target), row));
  ++edges_;
}

// Replaces foreign keys with the rows that have these keys.
void EdgeType::find_targets() {
  const bool has_values = types_.find("nothing") == std::string::npos;
  if (has_values && types_ != target_.index->types())
    throw InputError(
        fmt::format("table '{}', foreign key {}: holds {}, but the key of table '{}' holds {}; store both in "
                    "one type",
                    source_.name, name_.substr(4), types_, target_.name, target_.index->types()));
  by_target_ = sort("by-target", 0);
  by_key_->seal();
  if (has_values)
    join_keys(*by_key_, *target_.index, [&](uint32_t row, int64_t target) { add_edge(target, row); });
  by_key_.reset();
}

// Sorts the sources of each target by their times, if rows are not already in this order.
void EdgeType::sort_by_time(const DataSetWriter& set) {
  std::unique_ptr<ExternalSort> by_row = sort("by-row", 0);
  for (ExternalSort::Reader edge = by_target_->read(); edge.next();)
    by_row->add(pair_of(low_of(edge.key()), high_of(edge.key())));
  by_target_.reset();
  by_row->seal();
  std::unique_ptr<ExternalSort> by_time = sort("by-time", sizeof(uint64_t));
  {
    const NpyView times(set.path() / (source_.time_column + ".npy"));
    const std::span<const int64_t> time = times.values<int64_t>();
    for (ExternalSort::Reader edge = by_row->read(); edge.next();) {
      const uint64_t pair = edge.key();
      by_time->add(static_cast<uint64_t>(time[high_of(pair)]) ^ uint64_t{1} << 63, &pair);
    }
  }
  by_row.reset();
  by_time->seal();
  by_target_ = sort("in-order", sizeof(uint32_t));
  for (ExternalSort::Reader edge = by_time->read(); edge.next();) {
    uint64_t pair = 0;
    std::memcpy(&pair, edge.payload(), sizeof pair);
    const uint32_t row = high_of(pair);
    by_target_->add(pair_of(low_of(pair), 0), &row);
  }
  by_time.reset();
  by_target_->seal();
}

// Writes the lists of `nodes` nodes from records whose key has the node in its upper half, and the neighbour
// in its lower half or in the payload.
void EdgeType::write_lists(DataSetWriter& set, const std::string& prefix, const ExternalSort& edges,
                           bool in_payload, int64_t nodes) {
  Appender<int64_t> ends(set.column<int64_t>(prefix + ".indptr"));
  Appender<uint32_t> neighbours(set.column<uint32_t>(prefix + ".indices"));
  int64_t end = 0;
  int64_t written = 0;
  const auto open_lists = [&](int64_t last) {
    for (; written <= last; ++written) ends.add(end);
  };
  for (ExternalSort::Reader edge = edges.read(); edge.next(); ++end) {
    open_lists(high_of(edge.key()));
    uint32_t neighbour = low_of(edge.key());
    if (in_payload) std::memcpy(&neighbour, edge.payload(), sizeof neighbour);
    neighbours.add(neighbour);
  }
  open_lists(nodes);
  ends.flush();
  neighbours.flush();
  set.finish(prefix + ".indptr");
  set.finish(prefix + ".indices");
}

void EdgeType::write(DataSetWriter& set, bool reverse, Json& entries) {
  if (!is_direct_) find_targets();
  by_target_->seal();
  const bool has_time = !source_.time_column.empty();
  const std::string prefix = typed_column({source_.name, name_, target_.name});
  const std::string back = typed_column({target_.name, "rev_" + name_, source_.name});
  std::unique_ptr<ExternalSort> by_row;
  if (reverse) {
    by_row = sort("reverse", 0);
    for (ExternalSort::Reader edge = by_target_->read(); edge.next();)
      by_row->add(pair_of(low_of(edge.key()), high_of(edge.key())));
    by_row->seal();
    write_lists(set, back, *by_row, false, source_.nodes);
    by_row.reset();
  }
  const bool is_by_time = has_time && !source_.times_rise;
  if (is_by_time) sort_by_time(set);
  write_lists(set, prefix, *by_target_, is_by_time, target_.nodes);
  by_target_.reset();
  is_written_ = true;
  const auto entry = [&](const std::string& from, const std::string& name, const std::string& to,
                         const std::string& files, const char* time) {
    return Json{{"source", from},
                {"name", name},
                {"target", to},
                {"edges", edges_},
                {"indptr", files + ".indptr"},
                {"indices", files + ".indices"},
                {"time", has_time ? Json(time) : Json()},
                {"columns", Json::array()}};
  };
  Json forward = entry(source_.name, name_, target_.name, prefix, "source");
  forward.update({{"missing", missing_}, {"dangling", dangling_}});
  entries.push_back(std::move(forward));
  if (reverse) entries.push_back(entry(target_.name, "rev_" + name_, source_.name, back, "target"));
}

}  // namespace plimsoll
