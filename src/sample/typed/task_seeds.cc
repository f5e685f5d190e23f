#include "sample/typed/task_seeds.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "base/error.h"

namespace plimsoll {
namespace {

// Take the place of the class of a seed without a label, and of a seed with a label that no training seed
// has.
constexpr int64_t kMissingClass = -1;
constexpr int64_t kUnknownClass = -2;

const TaskView& find_seed_task(const TypedGraphView& graph, const std::string& name) {
  const auto found = std::ranges::find(graph.tasks(), name, &TaskView::name);
  if (found != graph.tasks().end()) return *found;
  std::vector<std::string> names;
  for (const TaskView& task : graph.tasks()) names.push_back(task.name);
  throw UsageError(fmt::format("relational.task: found '{}', expected a task of {}: {}", name,
                               graph.set().folder().string(),
                               names.empty() ? "it has none" : fmt::format("{}", fmt::join(names, ", "))));
}

const Json& entry_named(const Json& list, const std::string& name) {
  return *std::ranges::find_if(list, [&](const Json& entry) { return entry.at("name") == name; });
}

bool has_name(const Json& list, const std::string& name) {
  return std::ranges::any_of(list, [&](const Json& entry) { return entry.at("name") == name; });
}

// Returns whether an edge type was made from a foreign key that has this column: "f2p_a+b" has a and b.
bool has_key_column(const std::string& edge_type, const std::string& column) {
  constexpr std::string_view kPrefix = "f2p_";
  if (!edge_type.starts_with(kPrefix)) return false;
  const std::string columns = fmt::format("+{}+", edge_type.substr(kPrefix.size()));
  return columns.find(fmt::format("+{}+", column)) != std::string::npos;
}

}  // namespace

TaskSeeds::TaskSeeds(const TypedGraphView& graph, const std::string& name) : name_(name) {
  const TaskView& task = find_seed_task(graph, name);
  const std::optional<SeedTask> kind = find_word<SeedTask>(task.type);
  if (!kind)
    throw UsageError(fmt::format("relational.task: {} is of type {}, expected {}", name, task.type,
                                 list_words(kWords<SeedTask>)));
  kind_ = *kind;
  entity_ = task.entity;
  const Json& entry = entry_named(graph.set().manifest().at("tasks"), name);
  manifest_ = &entry.at("manifest");
  target_width_ = kind_ == SeedTask::regression ? 1 : 0;
  if (kind_ == SeedTask::recommendation) read_destination(graph);
  completes_column_ = find_word<LabelOrigin>(task.kind) == LabelOrigin::autocomplete;
  require_hidable(graph);
  for (const SeedsView& seeds : task.splits)
    add_split(graph, seeds, entry_named(entry.at("splits"), seeds.split));
  const auto training = std::ranges::find(task.splits, std::string(kTrain), &SeedsView::split);
  if (training == task.splits.end() || training->nodes.empty())
    throw InputError(
        fmt::format("{}: task {} has no seeds in the split train", graph.set().folder().string(), name));
  cut_ = std::ranges::max(training->times);
  if (kind_ == SeedTask::multilabel_classification) count_labels(graph);
  name_classes(graph);
}

// Numbers the texts of labels by those of the split train. Each split has its own codes.
void TaskSeeds::name_classes(const TypedGraphView& graph) {
  for (size_t part = 0; part < parts_.size(); ++part)
    if (splits_[part].name == kTrain) class_names_ = parts_[part].texts;
  const auto refuse = [&](const std::string& split, const std::string& found) {
    throw InputError(
        fmt::format("{}: task {}, split {}: {}", graph.set().folder().string(), name_, split, found));
  };
  for (size_t part = 0; part < parts_.size(); ++part) {
    if (parts_[part].values && parts_[part].texts.empty() != class_names_.empty())
      refuse(splits_[part].name,
             "labels are texts in one split and numbers in another; store both in one type");
    for (const std::string_view text : parts_[part].texts) {
      const auto found = std::ranges::lower_bound(class_names_, text);
      parts_[part].class_of_code.push_back(
          found == class_names_.end() || *found != text ? kUnknownClass : found - class_names_.begin());
    }
  }
  if (class_names_.empty()) return;
  const bool is_binary = kind_ == SeedTask::binary_classification;
  if (class_names_.size() < 2 || (is_binary && class_names_.size() > 2))
    refuse(kTrain, fmt::format("found {} different texts as labels, expected two{}", class_names_.size(),
                               is_binary ? "" : " or more"));
}

// Takes the number of labels from the first training row that has labels.
void TaskSeeds::count_labels(const TypedGraphView& graph) {
  for (size_t part = 0; part < parts_.size(); ++part)
    for (int64_t row = 0; splits_[part].name == kTrain && target_width_ == 0 && row < splits_[part].count;
         ++row)
      target_width_ = parts_[part].labels->width(row);
  if (target_width_ == 0)
    throw InputError(fmt::format("{}: task {}: no row of the split train has labels",
                                 graph.set().folder().string(), name_));
}

// Outputs of a model are f32, which must represent the number of each node.
void TaskSeeds::read_destination(const TypedGraphView& graph) {
  constexpr int64_t kMaxDestinations = int64_t{1} << 24;
  constexpr int64_t kDefaultLength = 10;
  const Json& entry = entry_named(graph.set().manifest().at("tasks"), name_);
  destination_ = entry.at("destination");
  target_width_ = graph.node_type(destination_).nodes;
  if (target_width_ < 1 || target_width_ > kMaxDestinations)
    throw InputError(fmt::format("{}: task {}: table {} has {} rows to recommend, expected 1 .. {}",
                                 graph.set().folder().string(), name_, destination_, target_width_,
                                 kMaxDestinations));
  const int64_t length = manifest_->value("eval_k", kDefaultLength);
  if (length < 1)
    throw InputError(fmt::format("{}: task {}: found eval_k {}, expected 1 or more",
                                 graph.set().folder().string(), name_, length));
  list_length_ = std::min(length, target_width_);
}

void TaskSeeds::add_split(const TypedGraphView& graph, const SeedsView& seeds, const Json& split) {
  const std::string place =
      fmt::format("{}: task {}, split {}", graph.set().folder().string(), name_, seeds.split);
  if (!split.contains("target") && seeds.split == kTrain)
    throw InputError(
        place + ": found no labels; add the column of labels to its table, then ingest the tables again");
  if (seeds.times.empty() && !seeds.nodes.empty())
    throw InputError(place + ": seeds have no times, but a model needs the time of each seed");
  const int64_t nodes = graph.node_type(entity_).nodes;
  const auto bad = std::ranges::find_if(seeds.nodes, [&](uint32_t node) { return node >= nodes; });
  if (bad != seeds.nodes.end())
    throw InputError(
        fmt::format("{}: row {} is the node {}, expected one of {} of the type {}; ingest the "
                    "tables again",
                    place, bad - seeds.nodes.begin(), *bad, nodes, entity_));
  splits_.push_back({seeds.split, splits_.empty() ? 0 : this->seeds(), std::ssize(seeds.nodes)});
  parts_.push_back({&seeds});
  if (!split.contains("target")) return;
  const Json& target = split.at("target");
  if (kind_ == SeedTask::multilabel_classification) {
    parts_.back().labels.emplace(graph.set(), target, std::ssize(seeds.nodes), place);
    return;
  }
  if (kind_ == SeedTask::recommendation) {
    parts_.back().ptr = graph.set().column<int64_t>(target.at("ptr"));
    parts_.back().lists = graph.set().column<uint32_t>(target.at("column"));
    if (parts_.back().ptr.size() != seeds.nodes.size() + 1)
      throw InputError(fmt::format("{}: found lists for {} seeds, expected {}; ingest the tables again",
                                   place, std::ssize(parts_.back().ptr) - 1, seeds.nodes.size()));
    return;
  }
  if (target.contains("vocabulary")) {
    if (kind_ == SeedTask::regression) throw InputError(place + ": labels are texts, expected numbers");
    parts_.back().texts = target_vocabulary(graph.set(), target, place);
  }
  parts_.back().values.emplace(graph.set(), target.at("column"), target.value("valid", ""));
}

// If the task hides a foreign key or the times of rows, models would still read its edges or these times.
void TaskSeeds::require_hidable(const TypedGraphView& graph) const {
  const auto refuse = [&](const std::string& table, const std::string& column, const char* what) {
    throw InputError(fmt::format(
        "{}: task {} hides {}.{}, which is a {} and would still be read; ingest the tables without it",
        graph.set().folder().string(), name_, table, column, what));
  };
  for (const Json& type : graph.set().manifest().at("node_types")) {
    const std::string table = type.at("name");
    for (const std::string& column : hidden(table)) {
      if (type.contains("time") && type.at("time").is_object() &&
          type.at("time").value("name", std::string()) == column)
        refuse(table, column, "time");
      if (std::ranges::any_of(graph.edge_types(), [&](const EdgeTypeView& edges) {
            return edges.source == table && has_key_column(edges.name, column);
          }))
        refuse(table, column, "foreign key");
    }
  }
  // The manifest lists all columns of an event table but its keys and its time.
  for (const Json& type : graph.set().manifest().at("edge_types")) {
    const std::string table = type.at("name");
    for (const std::string& column : hidden(table))
      if (type.contains("left_out") && !has_name(type.at("columns"), column) &&
          !has_name(type.at("left_out"), column))
        refuse(table, column, "foreign key or time");
  }
}

size_t TaskSeeds::part_of(int64_t seed) const {
  size_t part = 0;
  while (seed >= splits_[part].first + splits_[part].count) ++part;
  return part;
}

int64_t TaskSeeds::node(int64_t seed) const {
  const size_t part = part_of(seed);
  return parts_[part].seeds->nodes[static_cast<size_t>(seed - splits_[part].first)];
}

int64_t TaskSeeds::time(int64_t seed) const {
  const size_t part = part_of(seed);
  return parts_[part].seeds->times[static_cast<size_t>(seed - splits_[part].first)];
}

bool TaskSeeds::has_label(int64_t seed) const {
  if (kind_ == SeedTask::recommendation) return !destinations(seed).empty();
  if (kind_ != SeedTask::multilabel_classification) return !std::isnan(value(seed));
  const size_t part = part_of(seed);
  return parts_[part].labels && parts_[part].labels->width(seed - splits_[part].first) > 0;
}

std::span<const uint32_t> TaskSeeds::destinations(int64_t seed) const {
  const size_t part = part_of(seed);
  const std::span<const int64_t> ptr = parts_[part].ptr;
  const std::span<const uint32_t> lists = parts_[part].lists;
  if (ptr.empty()) return {};
  const auto row = static_cast<size_t>(seed - splits_[part].first);
  const auto damaged = [&](const std::string& found) {
    return InputError(fmt::format("task {}: row {} of the split {}: {}; ingest the tables again", name_, row,
                                  splits_[part].name, found));
  };
  if (ptr[row] < 0 || ptr[row + 1] < ptr[row] || ptr[row + 1] > std::ssize(lists))
    throw damaged(fmt::format("its list is {} .. {} of {} targets", ptr[row], ptr[row + 1], lists.size()));
  const auto list =
      lists.subspan(static_cast<size_t>(ptr[row]), static_cast<size_t>(ptr[row + 1] - ptr[row]));
  for (const uint32_t node : list)
    if (node >= target_width_)
      throw damaged(fmt::format("found node {}, but {} has {} nodes", node, destination_, target_width_));
  return list;
}

void TaskSeeds::write_targets(int64_t seed, std::span<float> targets) const {
  if (kind_ == SeedTask::regression) {
    targets[0] = static_cast<float>(value(seed));
    return;
  }
  if (kind_ == SeedTask::multilabel_classification) {
    const size_t part = part_of(seed);
    if (parts_[part].labels) return parts_[part].labels->write(seed - splits_[part].first, targets);
    std::ranges::fill(targets, std::numeric_limits<float>::quiet_NaN());
    return;
  }
  std::ranges::fill(targets, 0.0F);
  for (const uint32_t node : destinations(seed)) ++targets[node];
}

double TaskSeeds::value(int64_t seed) const {
  const size_t part = part_of(seed);
  const std::optional<NumberColumn>& values = parts_[part].values;
  if (!values) return std::numeric_limits<double>::quiet_NaN();
  const int64_t row = seed - splits_[part].first;
  if (!class_names_.empty()) {
    const int64_t known = class_of(parts_[part], row);
    return known < 0 ? std::numeric_limits<double>::quiet_NaN() : static_cast<double>(known);
  }
  const double found = values->at(row);
  if (std::isinf(static_cast<float>(found)))
    throw InputError(fmt::format(
        "task {}: row {} of the split {} has the label {}, expected a finite number of 32 bits; store "
        "it in a larger unit",
        name_, row, splits_[part].name, found));
  return found;
}

// Returns the class of a label that is a text; kMissingClass or kUnknownClass if it has none.
int64_t TaskSeeds::class_of(const Part& part, int64_t row) const {
  const int64_t code = part.values->whole(row);
  if (code < 0) return kMissingClass;
  if (code < std::ssize(part.class_of_code)) return part.class_of_code[static_cast<size_t>(code)];
  throw InputError(
      fmt::format("task {}: row {} of the split {} has the code {} of {} labels; ingest the tables again",
                  name_, row, part.seeds->split, code, part.class_of_code.size()));
}

bool TaskSeeds::has_unknown_label(int64_t seed) const {
  const size_t part = part_of(seed);
  return !class_names_.empty() && parts_[part].values &&
         class_of(parts_[part], seed - splits_[part].first) == kUnknownClass;
}

int64_t TaskSeeds::label(int64_t seed) const {
  constexpr double kMaxClass = 65535;
  const double found = value(seed);
  if (std::isnan(found)) return -1;
  const double max = kind_ == SeedTask::binary_classification ? 1 : kMaxClass;
  if (found >= 0 && found <= max && found == std::floor(found)) return static_cast<int64_t>(found);
  const Split& split = splits_[part_of(seed)];
  throw InputError(fmt::format("task {}: row {} of the split {} has the label {}, expected a class 0 .. {}",
                               name_, seed - split.first, split.name, found, max));
}

std::vector<std::string> TaskSeeds::hidden(const std::string& node_type) const {
  std::vector<std::string> names;
  if (manifest_->contains("remove_columns"))
    for (const Json& column : manifest_->at("remove_columns")) {
      if (!column.is_array() || column.size() != 2)
        throw InputError(fmt::format("task {}: found {} in remove_columns, expected [TABLE, COLUMN]", name_,
                                     column.dump()));
      if (column.at(0) == node_type) names.push_back(column.at(1));
    }
  if (completes_column_ && node_type == entity_ && manifest_->contains("target_col"))
    names.push_back(manifest_->at("target_col"));
  return names;
}

}  // namespace plimsoll
