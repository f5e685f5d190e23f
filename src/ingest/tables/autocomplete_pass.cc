#include "ingest/tables/autocomplete_pass.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <span>

#include "base/error.h"
#include "ingest/tables/target_sink.h"
#include "ingest/tables/time_values.h"
#include "store/typed_graph.h"

namespace plimsoll {
namespace {

constexpr int64_t kRowsAtOnce = 8192;
constexpr int64_t kFirst = std::numeric_limits<int64_t>::min();
constexpr int64_t kLast = std::numeric_limits<int64_t>::max();

ArrowTable open_table(const TableSpec& spec) {
  ArrowArrayStream stream{};
  spec.open(stream);
  return ArrowTable(spec.name, stream);
}

}  // namespace

AutocompletePass::AutocompletePass(const TaskSpec& task, const TableSpec& table, DataSetWriter& set)
    : task_(task),
      spec_(table),
      set_(set),
      table_(open_table(table)),
      time_(index_of(table.time, "time_col")),
      target_(index_of(task.target, "target_col")),
      time_unit_(time_unit_of(table_.columns()[time_].type, table.time_unit, table_.where(time_))),
      splits_{{{"train", kFirst, task.cuts->val},
               {"val", task.cuts->val, task.cuts->test},
               {"test", task.cuts->test, kLast}}} {
  for (Split& split : splits_) open(split);
}

std::string AutocompletePass::column(const Split& split, const char* role) const {
  return typed_column({"tasks", task_.name, split.name, role});
}

size_t AutocompletePass::index_of(const std::string& column, const char* key) const {
  const int64_t found = table_.find(column);
  if (found < 0)
    throw InputError(fmt::format("{}: has no column '{}', which is the {} of the task {}", table_.name(),
                                 column, key, task_.name));
  return static_cast<size_t>(found);
}

void AutocompletePass::open(Split& split) {
  split.nodes = &set_.column<uint32_t>(column(split, "nodes"));
  split.times = &set_.column<int64_t>(column(split, "times"));
  split.targets =
      make_target_sink(set_, task_, split.name, table_.columns()[target_].type, table_.where(target_));
}

Json AutocompletePass::run(const std::function<void(int64_t)>& progress) {
  while (table_.next())
    for (int64_t first = 0; first < table_.rows(); first += kRowsAtOnce) {
      add_rows(first, std::min(kRowsAtOnce, table_.rows() - first));
      progress(read_);
    }
  Json entries = Json::array();
  for (Split& split : splits_) entries.push_back(finish(split));
  return entries;
}

// Rows with a time are nodes, in the order of the table.
void AutocompletePass::add_rows(int64_t first, int64_t rows) {
  table_.read(time_, first, rows, times_);
  to_nanoseconds(times_, time_unit_, read_, table_.where(time_));
  table_.read(target_, first, rows, targets_);
  node_.resize(times_.rows);
  for (size_t row = 0; row < times_.rows; ++row) {
    node_[row] = static_cast<uint32_t>(nodes_);
    nodes_ += times_.valid[row];
  }
  for (Split& split : splits_) add_seeds(split);
  read_ += rows;
}

void AutocompletePass::add_seeds(Split& split) {
  kept_.assign(times_.rows, 0);
  seed_nodes_.clear();
  seed_times_.clear();
  for (size_t row = 0; row < times_.rows; ++row) {
    const int64_t time = times_.integers[row];
    const bool is_first = split.after == kFirst;
    if (times_.valid[row] == 0 || time > split.until || (!is_first && time <= split.after)) continue;
    if (targets_.valid[row] == 0) {
      ++split.without_target;
      continue;
    }
    kept_[row] = 1;
    seed_nodes_.push_back(node_[row]);
    seed_times_.push_back(time);
  }
  of_split_ = targets_;
  const ArrowType& type = table_.columns()[target_].type;
  of_split_.keep(kept_, type.kind == ValueKind::vector ? static_cast<size_t>(type.width) : 1);
  split.targets->add(of_split_);
  split.nodes->append(std::span<const uint32_t>(seed_nodes_));
  split.times->append(std::span<const int64_t>(seed_times_));
  split.seeds += std::ssize(seed_nodes_);
}

Json AutocompletePass::finish(Split& split) {
  set_.finish(column(split, "nodes"));
  set_.finish(column(split, "times"));
  return {{"name", split.name},
          {"seeds", split.seeds},
          {"dangling", 0},
          {"nodes", column(split, "nodes")},
          {"times", column(split, "times")},
          {"rows_without_target", split.without_target},
          {"target", finish_targets(*split.targets, table_.where(target_))}};
}

}  // namespace plimsoll
