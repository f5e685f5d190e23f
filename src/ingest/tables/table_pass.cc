#include "ingest/tables/table_pass.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <set>

#include "base/error.h"
#include "ingest/tables/time_values.h"
#include "store/typed_graph.h"

namespace plimsoll {
namespace {

constexpr int64_t kRowsAtOnce = 8192;
constexpr int64_t kMaxNodesOfType = int64_t{1} << 32;  // Sources of edges are u32.

ArrowArrayStream open_stream(const TableSpec& spec) {
  ArrowArrayStream stream{};
  spec.open(stream);
  return stream;
}

// Makes a table that takes ownership of the stream as it is opened.
ArrowTable open_table(const TableSpec& spec) {
  ArrowArrayStream stream = open_stream(spec);
  return ArrowTable(spec.name, stream);
}

}  // namespace

TablePass::TablePass(const TableSpec& spec, DataSetWriter& set, const TableScratch& scratch,
                     NodeTypeState& state, const MakeEdges& make_edges)
    : spec_(spec),
      set_(set),
      scratch_(scratch),
      state_(state),
      table_(open_table(spec)),
      last_time_(std::numeric_limits<int64_t>::min()) {
  if (!spec.key.empty()) {
    key_.emplace(table_, spec.key);
    key_files_.emplace(set_, spec.name, table_, spec.key);
    state_.index =
        std::make_unique<KeyIndex>(scratch_, typed_column({spec.name, "keys"}), table_.name(), *key_);
  }
  open_time();
  find_columns(make_edges);
}

void TablePass::open_time() {
  if (spec_.time.empty()) return;
  time_ = table_.find(spec_.time);
  if (time_ < 0)
    throw UsageError(
        fmt::format("{}: has no column '{}', which should be its time", table_.name(), spec_.time));
  const auto column = static_cast<size_t>(time_);
  time_unit_ = time_unit_of(table_.columns()[column].type, spec_.time_unit, table_.where(column));
  state_.time_column = typed_column({spec_.name, "time"});
  time_writer_ = &set_.column<int64_t>(state_.time_column);
}

// Columns that are neither key, foreign key nor time become columns of the nodes.
void TablePass::find_columns(const MakeEdges& make_edges) {
  std::set<std::string> taken(spec_.key.begin(), spec_.key.end());
  for (const ForeignKey& foreign : spec_.foreign_keys) {
    taken.insert(foreign.columns.begin(), foreign.columns.end());
    KeyColumns columns(table_, foreign.columns);
    EdgeType& edges = make_edges(foreign, columns);
    foreign_.push_back({std::move(columns), edges});
  }
  if (!spec_.time.empty()) taken.insert(spec_.time);
  for (const auto& [name, meaning] : spec_.meanings)
    if (table_.find(name) < 0 || taken.contains(name))
      throw UsageError(
          fmt::format("{}: '{}' gets the meaning {}, but is not a column, or is a key or the time",
                      table_.name(), name, meaning));
  for (size_t at = 0; at < table_.columns().size(); ++at) {
    const ArrowTable::Column& column = table_.columns()[at];
    if (taken.contains(column.name)) continue;
    const auto meaning = spec_.meanings.find(column.name);
    sinks_.push_back(
        {at, make_column_sink(ColumnFiles(set_, {spec_.name}, column.name), column.type,
                              meaning == spec_.meanings.end() ? "" : meaning->second, table_.where(at))});
  }
}

Json TablePass::run(const std::function<void(int64_t)>& progress) {
  while (table_.next()) {
    for (int64_t first = 0; first < table_.rows(); first += kRowsAtOnce) {
      read_chunk(first, std::min(kRowsAtOnce, table_.rows() - first));
      progress(read_);
    }
  }
  return finish();
}

void TablePass::read_chunk(int64_t first, int64_t rows) {
  const int64_t before = without_time_;
  const std::span<const uint8_t> kept = read_times(first, rows);
  const int64_t nodes = rows - (without_time_ - before);
  if (state_.nodes + nodes > kMaxNodesOfType)
    throw InputError(
        fmt::format("{}: has more than 2^32 rows, which a node type cannot hold", table_.name()));
  read_keys(first, rows, kept);
  read_foreign_keys(first, rows, kept);
  for (const Sink& sink : sinks_) {
    if (sink.sink->is_left_out()) continue;
    table_.read(sink.column, first, rows, values_);
    const ArrowType& type = table_.columns()[sink.column].type;
    if (!kept.empty())
      values_.keep(kept, type.kind == ValueKind::vector ? static_cast<size_t>(type.width) : 1);
    sink.sink->add(values_);
  }
  read_ += rows;
  state_.nodes += nodes;
}

// Writes the times of some rows. Returns which rows have one; empty if all have.
std::span<const uint8_t> TablePass::read_times(int64_t first, int64_t rows) {
  if (time_ < 0) return {};
  const auto column = static_cast<size_t>(time_);
  table_.read(column, first, rows, times_);
  to_nanoseconds(times_, time_unit_, read_, table_.where(column));
  kept_.assign(times_.valid.begin(), times_.valid.begin() + rows);
  const auto missing = static_cast<int64_t>(std::ranges::count(kept_, uint8_t{0}));
  without_time_ += missing;
  if (missing > 0) times_.keep(kept_, 1);
  for (size_t row = 0; row < times_.rows; ++row) {
    state_.times_rise = state_.times_rise && times_.integers[row] >= last_time_;
    last_time_ = times_.integers[row];
  }
  time_writer_->append(std::span<const int64_t>(times_.integers.data(), times_.rows));
  if (missing == 0) return {};
  return kept_;
}

void TablePass::read_keys(int64_t first, int64_t rows, std::span<const uint8_t> kept) {
  if (!key_) return;
  key_->read(table_, first, rows, kept);
  for (size_t row = 0; row < key_->rows(); ++row) state_.index->add(key_->key(row));
  key_files_->add(*key_);
}

void TablePass::read_foreign_keys(int64_t first, int64_t rows, std::span<const uint8_t> kept) {
  for (Foreign& foreign : foreign_) {
    foreign.columns.read(table_, first, rows, kept);
    for (size_t row = 0; row < foreign.columns.rows(); ++row)
      foreign.edges.add(foreign.columns.key(row), state_.nodes + static_cast<int64_t>(row));
  }
}

Json TablePass::finish() {
  Json entry = {{"name", spec_.name}, {"nodes", state_.nodes}};
  Json columns = Json::array();
  Json left_out = Json::array();
  for (const Sink& sink : sinks_) {
    Json column = sink.sink->finish();
    (column.contains("reason") ? left_out : columns).push_back(std::move(column));
  }
  if (state_.index) state_.index->seal();
  entry["key"] = key_files_ ? key_files_->finish(state_.index->is_row_number()) : Json::array();
  if (time_ >= 0) {
    set_.finish(state_.time_column);
    entry["time"] = {{"name", spec_.time}, {"column", state_.time_column}, {"rises", state_.times_rise}};
    entry["rows_without_time"] = without_time_;
  }
  entry["columns"] = std::move(columns);
  entry["left_out"] = std::move(left_out);
  state_.is_read = true;
  return entry;
}

}  // namespace plimsoll
