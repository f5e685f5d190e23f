#include "ingest/graph/graph_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>

#include "base/error.h"
#include "base/hash64.h"
#include "ingest/text/characters.h"
#include "ingest/text/unique_texts.h"
#include "io/input_stream.h"
#include "io/number_array.h"

namespace plimsoll {
namespace {

// Writes the rows of all nodes, in order.
class RowColumns {
 public:
  RowColumns(const NodeTable& table, GraphWriter& writer) : table_(table), writer_(writer) {}

  void add(int64_t node, const float* x, const float* targets, int64_t y, int split) {
    if (table_.has_features())
      writer_.append_x(std::span(x, table_.width()), static_cast<int64_t>(table_.width()));
    if (const size_t width = table_.target_width(); width > 0)
      writer_.append_node_targets(std::span(targets, width), static_cast<int64_t>(width));
    if (table_.has_labels()) writer_.append_y(std::span<const int64_t>(&y, 1));
    if (split >= 0) writer_.append_split(static_cast<size_t>(split), std::span<const int64_t>(&node, 1));
  }

 private:
  const NodeTable& table_;
  GraphWriter& writer_;
};

template <typename T>
T value_at(const std::byte* bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof value);
  return value;
}

// Returns whether two rows, of which `first` is the earlier one, have the same ID.
bool have_same_id(const NodeTableOptions& options, uint32_t first, uint32_t second) {
  NodeTable table(options);
  std::string id;
  bool same = false;
  uint32_t row = 0;
  table.scan([&](std::string_view field, const LineReader&) {
    if (row == first) id = field;
    if (row == second) same = id == field;
    ++row;
  });
  return same;
}

}  // namespace

void require_single_rows(const ExternalSort& row_of, const NodeTable& table, const IdRules& rules) {
  ExternalSort::Reader rows = row_of.read();
  std::optional<uint64_t> last;
  uint32_t first_row = 0;
  while (rows.next()) {
    const auto row = value_at<uint32_t>(rows.payload());
    if (last == rows.key()) {
      if (rules.texts && !have_same_id(table.options(), first_row, row)) throw HashCollision();
      throw InputError(
          fmt::format("{}:{}: found the ID of line {} again, expected a row for each node; remove one",
                      table.path(), table.first_line() + row, table.first_line() + first_row));
    }
    last = rows.key();
    first_row = row;
  }
}

void write_rows_in_order(const NodeTable& table, const GraphScratch& scratch, GraphWriter& writer) {
  RowColumns columns(table, writer);
  int64_t node = 0;
  table.read([&](const NodeTable::Row& row) {
    scratch.tick_at(node);
    columns.add(node++, row.x.data(), row.targets.data(), row.y, row.split);
  });
}

void write_rows_sorted(const NodeTable& table, ExternalSort& row_of, const NodeIndex& index,
                       const GraphScratch& scratch, GraphWriter& writer) {
  const auto node_of = scratch.sort("node_of", GraphScratch::kNodes, sizeof(uint32_t), table.rows());
  join(row_of, index,
       [&](uint32_t node, const std::byte* row) { node_of->add(value_at<uint32_t>(row), &node); });
  row_of.remove();
  node_of->seal();

  // A record has the features, the values to predict, the class and the split.
  const size_t x_bytes = table.width() * sizeof(float);
  const size_t number_bytes = x_bytes + table.target_width() * sizeof(float);
  Vector<std::byte, Tag::ingest> record(number_bytes + sizeof(int64_t) + sizeof(int8_t));
  const auto by_node = scratch.sort("rows", GraphScratch::kAlone, record.size(), table.rows());
  {
    ExternalSort::Reader nodes = node_of->read();
    int64_t read = 0;
    table.read([&](const NodeTable::Row& row) {
      scratch.tick_at(read++);
      nodes.next();
      const auto split = static_cast<int8_t>(row.split);
      if (x_bytes > 0) std::memcpy(record.data(), row.x.data(), x_bytes);
      if (number_bytes > x_bytes)
        std::memcpy(record.data() + x_bytes, row.targets.data(), number_bytes - x_bytes);
      std::memcpy(record.data() + number_bytes, &row.y, sizeof row.y);
      std::memcpy(record.data() + number_bytes + sizeof row.y, &split, sizeof split);
      by_node->add(value_at<uint32_t>(nodes.payload()), record.data());
    });
  }
  node_of->remove();
  by_node->seal();
  {
    RowColumns columns(table, writer);
    ExternalSort::Reader rows = by_node->read();
    Vector<float, Tag::ingest> x(table.width());
    const Vector<float, Tag::ingest> unknown(table.target_width(), std::numeric_limits<float>::quiet_NaN());
    Vector<float, Tag::ingest> targets(table.target_width());
    bool more = rows.next();
    int64_t missing = 0;
    for (int64_t node = 0; node < index.nodes(); ++node) {
      scratch.tick_at(node);
      if (!more || rows.key() != static_cast<uint64_t>(node)) {
        ++missing;
        if (table.width() == 0) columns.add(node, nullptr, unknown.data(), -1, -1);
        continue;
      }
      if (x_bytes > 0) std::memcpy(x.data(), rows.payload(), x_bytes);
      if (!targets.empty()) std::memcpy(targets.data(), rows.payload() + x_bytes, number_bytes - x_bytes);
      columns.add(node, x.data(), targets.data(), value_at<int64_t>(rows.payload() + number_bytes),
                  value_at<int8_t>(rows.payload() + number_bytes + sizeof(int64_t)));
      more = rows.next();
    }
    if (missing > 0 && table.width() > 0)
      throw InputError(
          fmt::format("{}: has no row for {} of {} nodes, expected the features of each; add them",
                      table.path(), missing, index.nodes()));
  }
  by_node->remove();
}

uint64_t node_id_of(std::string_view field, const IdRules& rules, const LineReader& at) {
  if (rules.texts) {
    if (field.empty() || field.size() > UniqueTexts::kLongest) at.refuse(field, UniqueTexts::kExpected);
    return hash64(field, rules.seed);
  }
  if (const std::optional<uint64_t> whole = whole_real(field)) {
    if (*whole >= rules.limit) at.refuse(field, fmt::format("a node ID from 0 to {}", rules.limit - 1));
    return *whole;
  }
  if (!is_number(field))
    at.refuse(field, "a node ID, a whole number from 0; IDs that are texts need --ids text");
  if (rules.refuse_padded && field.size() > 1 && field.front() == '0')
    throw PaddedId(fmt::format("{}:{}", at.name(), at.line()), std::string(field));
  if (field.front() == '-' || field.size() > 19)
    at.refuse(field, "a node ID from 0; negative IDs and hashes of 64 bits need --ids text");
  const auto max = static_cast<int64_t>(rules.limit - 1);
  return static_cast<uint64_t>(at.whole(field, 0, max, "a node ID"));
}

namespace {

// Refuses an array that is not a list of nodes, or whose meaning is ambiguous.
void require_ids(const NumberArray& array, const IdRules& rules, int64_t nodes) {
  const std::string& path = array.path();
  if (array.shape().empty() || array.shape().size() > 2 || array.columns() != 1)
    throw InputError(path + ": expected one axis, [n] IDs or a mask [V] of bool");
  if (!array.is_whole())
    throw InputError(
        fmt::format("{}: dtype is '{}', expected whole numbers, or bool for a mask", path, array.dtype()));
  const bool mask = array.type() == NumberArray::Type::boolean;
  if (rules.texts)
    throw InputError(fmt::format(
        "{}: row 0: found {}, expected node IDs, which are texts; write them as a text, one per line", path,
        mask ? "a mask" : "a number"));
  if (mask && (!rules.row_is_id || array.rows() != nodes))
    throw InputError(
        rules.row_is_id
            ? fmt::format("{}: has {} rows, expected {}, one for each node; make it again", path,
                          array.rows(), nodes)
            : path + ": is a mask, expected IDs: rows of a mask are the IDs 0 .. V-1, and these are others");
}

// Detects masks given as lists: all of their numbers are 0 or 1, and there is one per node.
class LooksLikeMask {
 public:
  void add(uint64_t id) {
    ++count_;
    bits_ = bits_ && id <= 1;
  }
  void refuse(const std::filesystem::path& path, int64_t nodes) const {
    if (!bits_ || count_ != nodes || nodes <= 2) return;
    throw InputError(fmt::format(
        "{}: contains {} numbers that are 0 or 1, one per node, expected IDs of nodes; save a mask "
        "as an array of bool",
        path.string(), nodes));
  }

 private:
  int64_t count_ = 0;
  bool bits_ = true;
};

}  // namespace

void write_split(size_t split, const std::filesystem::path& path, const IdRules& rules,
                 const NodeIndex& index, const GraphScratch& scratch, GraphWriter& writer) {
  ExternalSort::Options options = scratch.options("split", GraphScratch::kNodes, 0, index.nodes());
  ExternalSort::Options ids_options = options;
  ids_options.max = std::numeric_limits<int64_t>::max();
  ids_options.unique = options.unique = true;
  options.name = "split_nodes";
  const auto read = [&](const auto& take) {
    if (names_array(path)) {
      const NumberArray array(path);
      require_ids(array, rules, index.nodes());
      const bool mask = array.type() == NumberArray::Type::boolean;
      for (int64_t row = 0; row < array.rows(); ++row) {
        scratch.tick_at(row);
        const int64_t value = array.whole(row);
        if (mask && value == 0) continue;
        const int64_t id = mask ? row : value;
        if (id < 0)
          throw InputError(
              fmt::format("{}: row {}: found {}, expected a node ID from 0", path.string(), row, id));
        take(static_cast<uint64_t>(id), [&] { return fmt::format("{}: row {}", path.string(), row); });
      }
      return;
    }
    LineReader lines(InputStream::open(path), path.string());
    for (std::string_view line; lines.next(line);)
      take(node_id_of(trim(line), rules, lines),
           [&] { return fmt::format("{}:{}", path.string(), lines.line()); });
  };
  ExternalSort ids(ids_options);
  LooksLikeMask mask;
  read([&](uint64_t id, const auto&) {
    mask.add(id);
    ids.add(id);
  });
  if (!rules.texts) mask.refuse(path, index.nodes());
  ids.seal();
  ExternalSort nodes(options);
  try {
    join(ids, index, [&](uint32_t node, const std::byte*) { nodes.add(node); });
  } catch (const UnknownId& unknown) {
    read([&](uint64_t id, const auto& place) {
      if (id == unknown.id)
        throw InputError(place() + ": names no node of the graph; remove it, or fix the ID");
    });
  }
  ids.remove();
  nodes.seal();
  {
    ExternalSort::Reader reader = nodes.read();
    while (reader.next()) {
      const auto node = static_cast<int64_t>(reader.key());
      writer.append_split(split, std::span<const int64_t>(&node, 1));
    }
  }
  nodes.remove();
}

}  // namespace plimsoll
