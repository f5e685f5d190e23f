#include "ingest/tables/tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <memory>

#include "base/error.h"
#include "base/units.h"
#include "ingest/tables/autocomplete_pass.h"
#include "ingest/tables/edge_table.h"
#include "ingest/tables/edge_type.h"
#include "ingest/tables/seed_pass.h"
#include "ingest/tables/smallest_budget.h"
#include "ingest/tables/table_pass.h"
#include "ingest/tables/table_sources.h"
#include "io/replaceable.h"
#include "store/output.h"
#include "store/typed_graph.h"

namespace plimsoll {
namespace {

// Returns the options that change the result.
Json options_json(const TablesOptions& options) {
  Json tables = Json::array();
  for (const TableSpec& table : options.tables) {
    Json foreign = Json::array();
    for (const ForeignKey& key : table.foreign_keys)
      foreign.push_back({{"columns", key.columns}, {"table", key.table}});
    Json meanings = Json::object();
    for (const auto& [column, meaning] : table.meanings) meanings[column] = meaning;
    tables.push_back({{"name", table.name},
                      {"files", table.files},
                      {"key", table.key},
                      {"time", table.time},
                      {"time_unit", table.time_unit},
                      {"foreign_keys", std::move(foreign)},
                      {"meanings", std::move(meanings)}});
    // Listed only if used, because earlier versions did not have these options.
    if (table.as_edge) tables.back()["as_edge"] = true;
    if (!table.partitions.empty()) tables.back()["partitions"] = table.partitions;
  }
  Json json = {{"tables", std::move(tables)}, {"reverse", options.reverse}};
  for (const TaskSpec& task : options.tasks) json["tasks"].push_back(task.name);
  return json;
}

// Returns the memory of each sort. Reading and writing columns may use one half of the free memory; the other
// half is shared by all sorts that can exist at the same time.
int64_t memory_of_a_sort(const TablesOptions& options) {
  constexpr int64_t kMax = 256 * kMiB;
  int64_t sorts = 3;  // One edge type needs three while it is written.
  int64_t keys = 0;
  bool has_lookups = !options.tasks.empty();
  for (const TableSpec& table : options.tables) {
    sorts += static_cast<int64_t>(table.foreign_keys.size());
    keys += table.key.empty() ? 0 : 1;
    has_lookups = has_lookups || table.as_edge;
  }
  constexpr int64_t kOfLookups = 6;  // Two lookups of keys, and the edges that they produce.
  if (has_lookups) sorts = std::max(sorts, kOfLookups);
  sorts += keys;
  const Ledger& ledger = Ledger::process();
  if (ledger.cap() == Ledger::kUnlimited) return kMax;
  return std::clamp((ledger.cap() - ledger.held()) / 2 / sorts, kMinSortBytes, kMax);
}

// Returns whether tables come from a program. Such tables can be read only once, and may have other rows than
// before.
bool is_stream(const TablesOptions& options) {
  return options.files.empty() && options.objects.empty();
}

// Seeds of a task are nodes, and rows of an event table become edges.
void check_tasks(const TablesOptions& options) {
  for (const TaskSpec& task : options.tasks) {
    const auto table = std::ranges::find(options.tables, task.entity, &TableSpec::name);
    if (table != options.tables.end() && table->as_edge)
      throw UsageError(
          fmt::format("--as-edge {}: the task {} has the rows of this table as its seeds, so they must be "
                      "nodes; leave the option out, or remove the task's folder",
                      task.entity, task.name));
  }
}

class TablesBuild {
 public:
  TablesBuild(const TablesOptions& options, const TablesProgress& progress, FileSystem& files,
              int64_t sort_bytes)
      : options_(options),
        progress_(progress),
        set_(options.out, options.force, files),
        scratch_{set_.path(), &files, sort_bytes},
        states_(options.tables.size()),
        entries_(options.tables.size()) {
    for (size_t table = 0; table < states_.size(); ++table) states_[table].name = options.tables[table].name;
  }

  TablesResult run(const Json& provenance, bool is_rehearsal);

 private:
  struct Edges {
    size_t source;
    std::unique_ptr<EdgeType> type;
    Json entries = Json::array();
  };

  // Returns a function that counts the rows of one pass in addition to `before`.
  TablesProgress progress_from(int64_t before) {
    return [this, before](int64_t rows) {
      result_.rows = before + rows;
      progress_(result_.rows);
    };
  }
  size_t next_table() const;
  size_t index_of(const std::string& table) const;
  void read_table(size_t table);
  void read_edge_table(size_t table);
  void note_left_out(const std::string& table, const Json& left_out);
  void write_edges();
  Json write_task(const TaskSpec& task);
  Json manifest(const Json& provenance);

  const TablesOptions& options_;
  const TablesProgress& progress_;
  DataSetWriter set_;
  TableScratch scratch_;
  std::vector<NodeTypeState> states_;
  std::vector<Json> entries_;  // For each table, its node type or list of edge types.
  std::deque<Edges> edges_;
  Json tasks_ = Json::array();
  TablesResult result_;
};

size_t TablesBuild::index_of(const std::string& table) const {
  return static_cast<size_t>(std::ranges::find(states_, table, &NodeTypeState::name) - states_.begin());
}

// Returns the first table whose foreign keys refer to tables that have been read, because its edges need only
// one sort. If keys form a cycle, returns the first table that has not been read.
size_t TablesBuild::next_table() const {
  size_t first = states_.size();
  for (size_t table = 0; table < states_.size(); ++table) {
    if (states_[table].is_read || options_.tables[table].as_edge) continue;
    if (first == states_.size()) first = table;
    const auto is_known = [&](const ForeignKey& key) { return states_[index_of(key.table)].is_read; };
    if (std::ranges::all_of(options_.tables[table].foreign_keys, is_known)) return table;
  }
  return first;
}

void TablesBuild::read_table(size_t table) {
  const auto make_edges = [&](const ForeignKey& key, const KeyColumns& columns) -> EdgeType& {
    const auto number = static_cast<int>(edges_.size());
    edges_.push_back({table, std::make_unique<EdgeType>(scratch_, number, key, states_[table],
                                                        states_[index_of(key.table)], columns)});
    return *edges_.back().type;
  };
  TablePass pass(options_.tables[table], set_, scratch_, states_[table], make_edges);
  entries_[table] = pass.run(progress_from(result_.rows));
  note_left_out(states_[table].name, entries_[table]["left_out"]);
}

void TablesBuild::read_edge_table(size_t table) {
  const TableSpec& spec = options_.tables[table];
  const auto state = [&](size_t end) -> const NodeTypeState& {
    return states_[index_of(spec.foreign_keys[end].table)];
  };
  EdgeTable edges(spec, set_, scratch_, state(0), state(1));
  entries_[table] = edges.run(options_.reverse, progress_from(result_.rows));
  result_.edges += edges.edges() * (options_.reverse ? 2 : 1);
  result_.dangling += edges.dangling();
  const Json& entry = entries_[table][0];
  result_.rows_without_time += entry.value("rows_without_time", int64_t{0});
  result_.rows_without_ends += entry["missing"].get<int64_t>();
  note_left_out(spec.name, entry["left_out"]);
}

void TablesBuild::note_left_out(const std::string& table, const Json& left_out) {
  for (const Json& column : left_out)
    result_.left_out.push_back(fmt::format("{}.{}: {}", table, column["name"].get<std::string>(),
                                           column["reason"].get<std::string>()));
}

void TablesBuild::write_edges() {
  for (Edges& edges : edges_) {
    if (edges.type->is_written() || !edges.type->is_ready()) continue;
    edges.type->write(set_, options_.reverse, edges.entries);
    progress_(result_.rows);
    result_.edges += edges.type->edges() * (options_.reverse ? 2 : 1);
    result_.dangling += edges.type->dangling();
  }
}

Json TablesBuild::write_task(const TaskSpec& task) {
  const auto state = [&](const std::string& table) -> const NodeTypeState& {
    return states_[index_of(table)];
  };
  Json entry = {{"name", task.name}, {"kind", task.kind}, {"type", task.type}, {"entity", task.entity}};
  if (!task.destination.empty()) entry["destination"] = task.destination;
  entry["manifest"] = task.words;
  entry["splits"] = Json::array();
  if (task.cuts) {
    AutocompletePass pass(task, options_.tables[index_of(task.entity)], set_);
    entry["splits"] = pass.run(progress_from(result_.rows));
  }
  for (const TaskSplit& split : task.splits) {
    SeedPass pass(task, split, state(task.entity),
                  task.destination.empty() ? nullptr : &state(task.destination), set_, scratch_);
    entry["splits"].push_back(pass.run(progress_from(result_.rows)));
  }
  for (const Json& seeds : entry["splits"]) {
    result_.seeds += seeds["seeds"].get<int64_t>();
    result_.dangling_seeds += seeds["dangling"].get<int64_t>();
    result_.seeds_without_time += seeds.value("rows_without_time", int64_t{0});
    result_.seeds_without_target += seeds.value("rows_without_target", int64_t{0});
    result_.dangling_targets += seeds.value("dangling_targets", int64_t{0});
  }
  ++result_.tasks;
  return entry;
}

Json TablesBuild::manifest(const Json& provenance) {
  Json node_types = Json::array();
  Json edge_types = Json::array();
  for (size_t table = 0; table < states_.size(); ++table) {
    if (options_.tables[table].as_edge) {
      edge_types.insert(edge_types.end(), entries_[table].begin(), entries_[table].end());
      continue;
    }
    result_.nodes += states_[table].nodes;
    result_.rows_without_time += entries_[table].value("rows_without_time", int64_t{0});
    node_types.push_back(std::move(entries_[table]));
    for (Edges& edges : edges_)
      if (edges.source == table)
        edge_types.insert(edge_types.end(), edges.entries.begin(), edges.entries.end());
  }
  result_.node_types = static_cast<int64_t>(node_types.size());
  result_.edge_types = static_cast<int64_t>(edge_types.size());
  Json manifest = {{"kind", "graph"},
                   {"format_version", 0},
                   {"nodes", result_.nodes},
                   {"edges", result_.edges},
                   {"direction", "in"},
                   {"columns", Json::object()},
                   {"node_types", std::move(node_types)},
                   {"edge_types", std::move(edge_types)}};
  if (!tasks_.empty()) manifest["tasks"] = std::move(tasks_);
  if (!options_.words.empty()) manifest["source"] = options_.words;
  manifest["provenance"] = provenance;
  return manifest;
}

TablesResult TablesBuild::run(const Json& provenance, bool is_rehearsal) {
  for (size_t table = next_table(); table < states_.size(); table = next_table()) {
    read_table(table);
    write_edges();
  }
  for (size_t table = 0; table < states_.size(); ++table)
    if (options_.tables[table].as_edge) read_edge_table(table);
  for (const TaskSpec& task : options_.tasks) tasks_.push_back(write_task(task));
  for (NodeTypeState& state : states_) state.index.reset();
  Json whole = manifest(provenance);
  if (!is_rehearsal) set_.publish(std::move(whole), kTypedGraphVersion);
  return std::move(result_);
}

}  // namespace

TablesResult ingest_tables(const TablesOptions& options, const TablesProgress& progress, FileSystem& files) {
  check_specs(options.tables);
  check_tasks(options);
  const Json provenance = make_provenance(sources_of(options), options_json(options));
  if (is_stream(options)) {
    require_free(options.out, options.force, {});
  } else if (is_made_already(options.out, options.force, provenance, options.files)) {
    const TypedGraphView view(options.out);
    int64_t seeds = 0;
    for (const TaskView& task : view.tasks())
      for (const SeedsView& split : task.splits) seeds += std::ssize(split.nodes);
    return {.already_there = true,
            .node_types = static_cast<int64_t>(view.node_types().size()),
            .edge_types = static_cast<int64_t>(view.edge_types().size()),
            .nodes = view.set().manifest().value("nodes", int64_t{0}),
            .edges = view.set().manifest().value("edges", int64_t{0}),
            .tasks = static_cast<int64_t>(view.tasks().size()),
            .seeds = seeds};
  }
  const BuildTables build = [&](int64_t sort_bytes, bool is_rehearsal) {
    return TablesBuild(options, progress, files, sort_bytes).run(provenance, is_rehearsal);
  };
  const int64_t sort_bytes = memory_of_a_sort(options);
  return is_stream(options) ? build(sort_bytes, false) : build_in_budget(options, sort_bytes, build);
}

}  // namespace plimsoll
