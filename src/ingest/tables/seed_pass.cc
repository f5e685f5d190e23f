#include "ingest/tables/seed_pass.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "ingest/tables/target_sink.h"
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

// Whether the nodes of all keys are known without a sort.
bool SeedPass::is_direct() const {
  return entity_.index->is_consecutive() &&
         (destination_ == nullptr || destination_->index->is_consecutive());
}

Json SeedPass::run(const std::function<void(int64_t)>& progress) {
  if (!is_direct()) find_nodes(progress);
  ArrowArrayStream stream = open_split(split_);
  ArrowTable table(name_, stream);
  open_columns(table);
  each_chunk(table, [&](int64_t first, int64_t rows) {
    write_rows(table, first, rows);
    progress(read_);
  });
  return finish();
}

// Finds the nodes of all entities, and of all targets that are keys, in a pass before the rows are written.
void SeedPass::find_nodes(const std::function<void(int64_t)>& progress) {
  ArrowArrayStream stream = open_split(split_);
  ArrowTable table(name_, stream);
  open_keys(table);
  const bool has_target_nodes = target_nodes_ && target_ >= 0;
  each_chunk(table, [&](int64_t first, int64_t rows) {
    keys_->read(table, first, rows, {});
    for (size_t row = 0; row < keys_->rows(); ++row) nodes_.add(keys_->key(row));
    progress(read_);
    if (!has_target_nodes) return;
    const auto target = static_cast<size_t>(target_);
    table.read(target, first, rows, targets_);
    target_nodes_->add(table.columns()[target].type, targets_);
  });
  nodes_.seal();
  if (has_target_nodes) target_nodes_->seal();
}

void SeedPass::open_keys(const ArrowTable& table) {
  keys_.emplace(table, std::vector{task_.entity_column});
  require_key_types(*keys_, *entity_.index, entity_.name,
                    fmt::format("table '{}', column '{}'", name_, task_.entity_column));
  target_ = table.find(task_.target);
}

// For some rows, sets found_ to their nodes, and kept_ to whether they have one.
void SeedPass::find_nodes_of(const ArrowTable& table, int64_t first, int64_t rows) {
  kept_.assign(static_cast<size_t>(rows), 1);
  found_.assign(static_cast<size_t>(rows), 0);
  if (is_direct()) keys_->read(table, first, rows, {});
  for (size_t row = 0; row < kept_.size(); ++row) {
    const int64_t node = is_direct() ? node_of(*entity_.index, keys_->key(row)) : nodes_.next();
    kept_[row] = node >= 0 ? 1 : 0;
    found_[row] = static_cast<uint32_t>(std::max<int64_t>(node, 0));
  }
  dangling_ += std::ranges::count(kept_, uint8_t{0});
}

void SeedPass::open_columns(const ArrowTable& table) {
  open_keys(table);
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
  if (target_ < 0) return;  // A test split may have no labels.
  if (target_nodes_) return target_nodes_->open(set_, column("targets"), column("target_ptr"));
  const auto at = static_cast<size_t>(target_);
  const ArrowType& type = table.columns()[at].type;
  sink_ = make_target_sink(set_, task_, split_.name, type, table.where(at));
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
  find_nodes_of(table, first, rows);
  read_times(table, first, rows);
  if (target_ >= 0) table.read(static_cast<size_t>(target_), first, rows, targets_);
  if (target_ >= 0 && target_nodes_) {
    const int64_t before = std::ranges::count(kept_, uint8_t{1});
    target_nodes_->find(table.columns()[static_cast<size_t>(target_)].type, targets_, kept_);
    without_target_ += before - std::ranges::count(kept_, uint8_t{1});
    target_nodes_->write({kept_.data(), kept_.size()});
  } else if (target_ >= 0) {
    const ArrowType& type = table.columns()[static_cast<size_t>(target_)].type;
    targets_.keep(kept_, type.kind == ValueKind::vector ? static_cast<size_t>(type.width) : 1);
    sink_->add(targets_);
  }
  size_t seeds = 0;
  for (size_t row = 0; row < kept_.size(); ++row)
    if (kept_[row] != 0) found_[seeds++] = found_[row];
  node_writer_->append(std::span<const uint32_t>(found_.data(), seeds));
  if (time_ >= 0) times_.keep(kept_, 1);
  if (time_ >= 0) time_writer_->append(std::span<const int64_t>(times_.integers.data(), seeds));
  seeds_ += static_cast<int64_t>(seeds);
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
    entry["target"] = finish_targets(*sink_, fmt::format("table '{}', column '{}'", name_, task_.target));
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
