#include "ingest/tables/table_pass.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/error.h"
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

// Opens the stream of a table, and passes its ownership to an ArrowTable.
ArrowTable open_table(const TableSpec& spec) {
  ArrowArrayStream stream = open_stream(spec);
  return ArrowTable(spec.name, stream);
}

}  // namespace

TablePass::TablePass(const TableSpec& spec, DataSetWriter& set, const TableScratch& scratch,
                     NodeTypeState& state, const MakeEdges& make_edges)
    : spec_(spec), set_(set), scratch_(scratch), state_(state), table_(open_table(spec)) {
  if (!spec.key.empty()) {
    key_.emplace(table_, spec.key);
    key_files_.emplace(set_, spec.name, table_, spec.key);
    state_.index =
        std::make_unique<KeyIndex>(scratch_, typed_column({spec.name, "keys"}), table_.name(), *key_);
  }
  columns_.emplace(spec_, table_, set_, std::vector{spec_.name});
  state_.time_column = columns_->time_column();
  open_columns(make_edges);
}

// Columns that are neither key, foreign key nor time become columns of the nodes.
void TablePass::open_columns(const MakeEdges& make_edges) {
  std::set<std::string> keys(spec_.key.begin(), spec_.key.end());
  for (const ForeignKey& foreign : spec_.foreign_keys) {
    keys.insert(foreign.columns.begin(), foreign.columns.end());
    KeyColumns columns(table_, foreign.columns);
    EdgeType& edges = make_edges(foreign, columns);
    foreign_.push_back({std::move(columns), edges});
  }
  columns_->open_columns(keys);
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
  const std::span<const uint8_t> kept = columns_->add_times(first, rows);
  const int64_t nodes = kept.empty() ? rows : std::ranges::count(kept, uint8_t{1});
  if (state_.nodes + nodes > kMaxNodesOfType)
    throw InputError(
        fmt::format("{}: has more than 2^32 rows, which a node type cannot hold", table_.name()));
  read_keys(first, rows, kept);
  read_foreign_keys(first, rows, kept);
  columns_->add_values(first, rows, kept);
  read_ += rows;
  state_.nodes += nodes;
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
  Json columns = Json::object();
  columns_->finish(columns);
  if (state_.index) state_.index->seal();
  entry["key"] = key_files_ ? key_files_->finish(state_.index->is_row_number()) : Json::array();
  entry.update(columns);
  state_.times_rise = columns_->times_rise();
  state_.is_read = true;
  return entry;
}

}  // namespace plimsoll
