#include "ingest/tables/table_columns.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "base/error.h"
#include "ingest/tables/time_values.h"
#include "store/typed_graph.h"

namespace plimsoll {
namespace {

// Rows of vectors and lists that are in memory at a time. A row may have thousands of numbers.
constexpr int64_t kWideRowsAtOnce = 512;

std::string time_file(const std::vector<std::string>& owner) {
  std::vector<std::string_view> parts(owner.begin(), owner.end());
  parts.emplace_back("time");
  return typed_column(parts);
}

}  // namespace

TableColumns::TableColumns(const TableSpec& spec, const ArrowTable& table, DataSetWriter& set,
                           std::vector<std::string> owner)
    : spec_(spec),
      table_(table),
      set_(set),
      owner_(std::move(owner)),
      last_time_(std::numeric_limits<int64_t>::min()) {
  if (spec_.time.empty()) return;
  time_ = table_.find(spec_.time);
  if (time_ < 0)
    throw UsageError(
        fmt::format("{}: has no column '{}', which should be its time", table_.name(), spec_.time));
  const auto column = static_cast<size_t>(time_);
  time_unit_ = time_unit_of(table_.columns()[column].type, spec_.time_unit, table_.where(column));
  time_column_ = time_file(owner_);
  time_writer_ = &set_.column<int64_t>(time_column_);
}

void TableColumns::open_columns(const std::set<std::string>& keys) {
  const auto is_taken = [&](const std::string& name) { return name == spec_.time || keys.contains(name); };
  for (const auto& [name, meaning] : spec_.meanings)
    if (table_.find(name) < 0 || is_taken(name))
      throw UsageError(
          fmt::format("{}: '{}' gets the meaning {}, but is not a column, or is a key or the time",
                      table_.name(), name, meaning));
  for (size_t at = 0; at < table_.columns().size(); ++at) {
    const ArrowTable::Column& column = table_.columns()[at];
    if (is_taken(column.name)) continue;
    const auto meaning = spec_.meanings.find(column.name);
    sinks_.push_back(
        {at, make_column_sink(ColumnFiles(set_, owner_, column.name), column.type,
                              meaning == spec_.meanings.end() ? "" : meaning->second, table_.where(at))});
  }
}

std::span<const uint8_t> TableColumns::add_times(int64_t first, int64_t rows) {
  const int64_t from = read_;
  read_ += rows;
  if (time_ < 0) return {};
  const auto column = static_cast<size_t>(time_);
  table_.read(column, first, rows, times_);
  to_nanoseconds(times_, time_unit_, from, table_.where(column));
  kept_.assign(times_.valid.begin(), times_.valid.begin() + rows);
  const auto missing = static_cast<int64_t>(std::ranges::count(kept_, uint8_t{0}));
  without_time_ += missing;
  if (missing > 0) times_.keep(kept_, 1);
  for (size_t row = 0; row < times_.rows; ++row) {
    times_rise_ = times_rise_ && times_.integers[row] >= last_time_;
    last_time_ = times_.integers[row];
  }
  time_writer_->append(std::span<const int64_t>(times_.integers.data(), times_.rows));
  if (missing == 0) return {};
  return kept_;
}

void TableColumns::add_values(int64_t first, int64_t rows, std::span<const uint8_t> kept) {
  for (const Sink& sink : sinks_) {
    const ArrowType& type = table_.columns()[sink.column].type;
    const bool is_vector = type.kind == ValueKind::vector;
    const int64_t at_once = is_vector || type.kind == ValueKind::list ? kWideRowsAtOnce : rows;
    for (int64_t at = 0; at < rows && !sink.sink->is_left_out(); at += at_once) {
      const int64_t count = std::min(at_once, rows - at);
      table_.read(sink.column, first + at, count, values_);
      if (!kept.empty())
        values_.keep(kept.subspan(static_cast<size_t>(at), static_cast<size_t>(count)),
                     is_vector ? static_cast<size_t>(type.width) : 1);
      sink.sink->add(values_);
    }
  }
}

void TableColumns::finish(Json& entry) {
  Json columns = Json::array();
  Json left_out = Json::array();
  for (const Sink& sink : sinks_) {
    Json column = sink.sink->finish();
    (column.contains("reason") ? left_out : columns).push_back(std::move(column));
  }
  if (time_ >= 0) {
    set_.finish(time_column_);
    entry["time"] = {{"name", spec_.time}, {"column", time_column_}, {"rises", times_rise_}};
    entry["rows_without_time"] = without_time_;
  }
  entry["columns"] = std::move(columns);
  entry["left_out"] = std::move(left_out);
}

}  // namespace plimsoll
