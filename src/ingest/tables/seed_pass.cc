#include "ingest/tables/seed_pass.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "ingest/tables/time_values.h"
#include "store/typed_graph.h"

namespace plimsoll {
namespace {

constexpr int64_t kSeedsAtOnce = 8192;

// Calls take(first, rows) for chunks of each batch of a table.
template <typename Take>
void each_chunk(ArrowTable& table, const Take& take) {
  while (table.next())
    for (int64_t first = 0; first < table.rows(); first += kSeedsAtOnce)
      take(first, std::min(kSeedsAtOnce, table.rows() - first));
}

ArrowArrayStream open_split(const TaskSplit& split) {
  ArrowArrayStream stream{};
  split.open(stream);
  return stream;
}

}  // namespace

SeedPass::SeedPass(const TaskSpec& task, const TaskSplit& split, const NodeTypeState& entity,
                   const NodeTypeState* destination, DataSetWriter& set, const TableScratch& scratch)
    : task_(task),
      split_(split),
      entity_(entity),
      destination_(destination),
      set_(set),
      name_(fmt::format("tasks/{}/{}", task.name, split.name)),
      nodes_(scratch, typed_column({"seeds", task.name, split.name}), *entity.index) {
  if (destination != nullptr)
    target_nodes_.emplace(scratch, typed_column({"targets", task.name, split.name}), *destination,
                          fmt::format("table '{}', column '{}'", name_, task.target));
}

std::string SeedPass::column(const char* role) const {
  return typed_column({"tasks", task_.name, split_.name, role});
}

Json SeedPass::run(const std::function<void(int64_t)>& progress) {
  find_nodes(progress);
  ArrowArrayStream stream = open_split(split_);
  ArrowTable table(name_, stream);
  open_columns(table);
  each_chunk(table, [&](int64_t first, int64_t rows) {
    write_rows(table, first, rows);
    progress(read_);
  });
  return finish();
}

// Finds the nodes of all entities, and of all targets that are keys.
void SeedPass::find_nodes(const std::function<void(int64_t)>& progress) {
  ArrowArrayStream stream = open_split(split_);
  ArrowTable table(name_, stream);
  KeyColumns keys(table, {task_.entity_column});
  require_key_types(keys, *entity_.index, entity_.name,
                    fmt::format("table '{}', column '{}'", name_, task_.entity_column));
  target_ = table.find(task_.target);
  const bool has_target_nodes = target_nodes_ && target_ >= 0;
  each_chunk(table, [&](int64_t first, int64_t rows) {
    keys.read(table, first, rows, {});
    for (size_t row = 0; row < keys.rows(); ++row) nodes_.add(keys.key(row));
    progress(read_);
    if (!has_target_nodes) return;
    const auto target = static_cast<size_t>(target_);
    table.read(target, first, rows, targets_);
    target_nodes_->add(table.columns()[target].type, targets_);
  });
  nodes_.seal();
  if (has_target_nodes) target_nodes_->seal();
}

void SeedPass::open_columns(const ArrowTable& table) {
  node_writer_ = &set_.column<uint32_t>(column("nodes"));
  if (!task_.time.empty()) {
    time_ = table.find(task_.time);
    if (time_ < 0)
      throw InputError(
          fmt::format("{}: has no column '{}', which is to be its time", table.name(), task_.time));
    const auto at = static_cast<size_t>(time_);
    time_unit_ = time_unit_of(table.columns()[at].type, "", table.where(at));
    time_writer_ = &set_.column<int64_t>(column("times"));
  }
  if (target_ < 0) return;  // Labels of a test split may be hidden.
  if (target_nodes_) return target_nodes_->open(set_, column("targets"), column("target_ptr"));
  const auto at = static_cast<size_t>(target_);
  const ArrowType& type = table.columns()[at].type;
  const bool is_category = (type.kind == ValueKind::text && type.is_utf8) || type.kind == ValueKind::list;
  sink_ = make_column_sink(ColumnFiles(set_, {"tasks", task_.name, split_.name}, task_.target), type,
                           is_category ? "category" : "", table.where(at));
}

void SeedPass::read_times(const ArrowTable& table, int64_t first, int64_t rows) {
  if (time_ < 0) return;
  const auto at = static_cast<size_t>(time_);
  table.read(at, first, rows, times_);
  to_nanoseconds(times_, time_unit_, read_, table.where(at));
  for (size_t row = 0; row < times_.rows; ++row) {
    if (kept_[row] == 0 || times_.valid[row] != 0) continue;
    kept_[row] = 0;
    ++without_time_;
  }
}

void SeedPass::write_rows(const ArrowTable& table, int64_t first, int64_t rows) {
  kept_.assign(static_cast<size_t>(rows), 1);
  found_.assign(static_cast<size_t>(rows), 0);
  for (size_t row = 0; row < kept_.size(); ++row) {
    const int64_t node = nodes_.next();
    kept_[row] = node >= 0 ? 1 : 0;
    found_[row] = static_cast<uint32_t>(std::max<int64_t>(node, 0));
  }
  dangling_ += std::ranges::count(kept_, uint8_t{0});
  read_times(table, first, rows);
  if (target_ >= 0) table.read(static_cast<size_t>(target_), first, rows, targets_);
  if (target_ >= 0 && target_nodes_) {
    const int64_t before = std::ranges::count(kept_, uint8_t{1});
    target_nodes_->find(targets_, kept_);
    without_target_ += before - std::ranges::count(kept_, uint8_t{1});
    target_nodes_->write({kept_.data(), kept_.size()});
  } else if (target_ >= 0) {
    const ArrowType& type = table.columns()[static_cast<size_t>(target_)].type;
    targets_.keep(kept_, type.kind == ValueKind::vector ? static_cast<size_t>(type.width) : 1);
    sink_->add(targets_);
  }
  for (size_t row = 0; row < kept_.size(); ++row) {
    if (kept_[row] == 0) continue;
    node_writer_->append(std::span<const uint32_t>(&found_[row], 1));
    if (time_ >= 0) time_writer_->append(std::span<const int64_t>(&times_.integers[row], 1));
    ++seeds_;
  }
  read_ += rows;
}

Json SeedPass::finish() {
  Json entry = {
      {"name", split_.name}, {"seeds", seeds_}, {"dangling", dangling_}, {"nodes", column("nodes")}};
  set_.finish(column("nodes"));
  if (time_ >= 0) {
    set_.finish(column("times"));
    entry["times"] = column("times");
    entry["rows_without_time"] = without_time_;
  }
  if (target_ < 0) return entry;
  if (sink_) {
    entry["target"] = sink_->finish();
    if (entry["target"].contains("reason"))
      throw InputError(fmt::format("table '{}', column '{}': {}, expected targets", name_, task_.target,
                                   entry["target"]["reason"].get<std::string>()));
    return entry;
  }
  set_.finish(column("targets"));
  set_.finish(column("target_ptr"));
  entry["target"] = {{"name", task_.target},
                     {"meaning", "nodes"},
                     {"column", column("targets")},
                     {"ptr", column("target_ptr")}};
  entry["dangling_targets"] = target_nodes_->dangling();
  entry["rows_without_target"] = without_target_;
  return entry;
}

}  // namespace plimsoll
