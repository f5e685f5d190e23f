#include "cli/inspect_typed_graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "base/units.h"
#include "store/typed_graph.h"
#include "telemetry/counted.h"
#include "telemetry/table.h"

namespace plimsoll {
namespace {

// Returns a time, counted from 1970-01-01, as a date.
std::string date_text(int64_t time, const std::string& unit) {
  using std::chrono::days;
  using std::chrono::floor;
  const int64_t per_day = unit == "D"    ? 1
                          : unit == "s"  ? int64_t{86400}
                          : unit == "ms" ? int64_t{86400} * 1000
                          : unit == "us" ? int64_t{86400} * 1000000
                                         : int64_t{86400} * 1000000000;
  const int64_t day = time / per_day - (time % per_day < 0 ? 1 : 0);
  constexpr int64_t kMaxDays = 10000000;  // The calendar of <chrono> ends in the year 32767.
  if (day > kMaxDays || day < -kMaxDays) return fmt::format("{} {}", time, unit);
  const std::chrono::year_month_day date{std::chrono::sys_days(days(day))};
  return fmt::format("{:04}-{:02}-{:02}", static_cast<int>(date.year()), static_cast<unsigned>(date.month()),
                     static_cast<unsigned>(date.day()));
}

// Returns the first or last value as text. A number has the digits of its stored type.
std::string end_text(const DataSetView& set, const Json& column, const char* key) {
  if (!column.contains(key)) return "-";
  const Json& end = column[key];
  if (column.contains("unit") && end.is_number_integer()) return date_text(end, column["unit"]);
  const std::string& dtype = set.columns().at(column["column"].get<std::string>()).shape().dtype;
  if (end.is_number_float() && dtype == npy_dtype<float>()) return fmt::format("{}", end.get<float>());
  return end.dump();
}

std::string count_text(const Json& column, const char* key) {
  const Json count = column.value(key, Json());
  return count.is_number_integer() ? format_count(count) : "many";
}

std::string text_or_dash(const Json& value) {
  return value.is_string() ? value.get<std::string>() : "-";
}

void add_columns(const DataSetView& set, const Json& type, Table& table) {
  for (const Json& column : type["columns"])
    table.add({text_or_dash(type["name"]), text_or_dash(column["name"]), text_or_dash(column["meaning"]),
               count_text(column, "missing"),
               column.contains("distinct") ? count_text(column, "distinct") : "-",
               end_text(set, column, "min"), end_text(set, column, "max")});
}

std::string columns_table(const DataSetView& set) {
  Table table({"<type", "<column", "<meaning", "missing", "distinct", "first", "last"});
  for (const char* types : {"node_types", "edge_types"})
    for (const Json& type : set.manifest()[types]) add_columns(set, type, table);
  return table.text();
}

std::string tasks_table(const TypedGraphView& graph) {
  Table table({"<task", "<kind", "<type", "<entity", "<split", "seeds", "dangling", "first", "last"});
  const Json& manifest = graph.set().manifest();
  for (size_t at = 0; at < graph.tasks().size(); ++at) {
    const TaskView& task = graph.tasks()[at];
    if (task.splits.empty())
      table.add({task.name, task.kind, task.type, task.entity, "-", "-", "-", "-", "-"});
    for (size_t split = 0; split < task.splits.size(); ++split) {
      const SeedsView& seeds = task.splits[split];
      const bool any = !seeds.times.empty();
      const auto [first, last] = std::ranges::minmax_element(seeds.times);
      table.add({task.name, task.kind, task.type, task.entity, seeds.split,
                 format_count(static_cast<int64_t>(seeds.nodes.size())),
                 format_count(manifest["tasks"][at]["splits"][split]["dangling"]),
                 any ? date_text(*first, "ns") : "-", any ? date_text(*last, "ns") : "-"});
    }
  }
  return table.text();
}

void print_left_out(const Json& type) {
  for (const Json& column : type.value("left_out", Json::array()))
    fmt::print("left out: {}.{}: {}\n", text_or_dash(type["name"]),
               text_or_dash(column.value("name", Json())), text_or_dash(column.value("reason", Json())));
}

}  // namespace

void inspect_typed_graph(const std::string& folder) {
  const TypedGraphView graph(folder);
  const Json& manifest = graph.set().manifest();
  fmt::print("{}: graph with {} and {}\n\n", folder,
             counted(static_cast<int64_t>(graph.node_types().size()), "node type"),
             counted(static_cast<int64_t>(graph.edge_types().size()), "edge type"));
  Table nodes({"<node type", "nodes", "<time", "first", "last"});
  for (const NodeTypeView& type : graph.node_types()) {
    const bool any = !type.time.empty();
    const auto [first, last] = std::ranges::minmax_element(type.time);
    nodes.add({type.name, format_count(type.nodes), any ? "yes" : "-", any ? date_text(*first, "ns") : "-",
               any ? date_text(*last, "ns") : "-"});
  }
  Table edges({"<source", "<edge type", "<target", "edges", "<time"});
  for (const EdgeTypeView& type : graph.edge_types())
    edges.add({type.source, type.name, type.target, format_count(static_cast<int64_t>(type.indices.size())),
               type.time.empty() ? "-" : "of the " + type.time});
  fmt::print("{}\n{}\n{}", nodes.text(), edges.text(), columns_table(graph.set()));
  if (!graph.tasks().empty()) fmt::print("\n{}", tasks_table(graph));
  for (const char* types : {"node_types", "edge_types"})
    for (const Json& type : manifest[types]) print_left_out(type);
}

}  // namespace plimsoll
