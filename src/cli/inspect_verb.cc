#include <fmt/format.h>

#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/units.h"
#include "base/word_text.h"
#include "cli/command.h"
#include "cli/inspect_typed_graph.h"
#include "cli/inspector.h"
#include "cli/verbs.h"
#include "memory/limits.h"
#include "memory/meter.h"
#include "store/graph.h"
#include "store/graph_set.h"
#include "store/typed_graph.h"
#include "telemetry/counted.h"
#include "telemetry/table.h"

namespace plimsoll {
namespace {

// The inspector of a kind of data set, and the options that it added.
struct KindInspector {
  std::unique_ptr<Inspector> inspector;
  std::vector<CLI::Option*> options;
};

struct InspectVerbOptions {
  std::string folder;
  std::vector<KindInspector> of_kinds;
  bool limits = false;
  bool json = false;
};

// Returns the number of graphs of each class, such as "0: 1,200, 1: 34"; for many classes, only the number of
// classes.
std::string classes_text(std::span<const int64_t> y) {
  constexpr size_t kMaxShown = 5;
  std::map<int64_t, int64_t> counts;
  for (const int64_t value : y) ++counts[value];
  if (counts.size() > kMaxShown) return counted(std::ssize(counts), "class");
  std::string text;
  for (const auto& [value, graphs] : counts)
    text += fmt::format("{}{}: {}", text.empty() ? "" : ", ", value, format_count(graphs));
  return text;
}

void inspect_graphs(const std::string& folder) {
  const GraphSetView view(folder);
  const GraphSpans& graphs = view.graphs();
  Table table({"<split", "graphs", "<graphs of each class", "nodes", "edges"});
  for (const GraphRange& split : view.tables().splits) {
    const auto first = static_cast<size_t>(split.first_graph);
    const auto last = first + static_cast<size_t>(split.graphs);
    if (split.first_graph < 0 || split.graphs < 0 || last >= graphs.node_ptr.size())
      throw InputError(fmt::format("{}: split '{}' is outside the range of graphs; run `plimsoll verify`",
                                   folder, split.name));
    table.add({split.name, format_count(split.graphs),
               classes_text(graphs.y.subspan(first, static_cast<size_t>(split.graphs))),
               format_count(graphs.node_ptr[last] - graphs.node_ptr[first]),
               format_count(graphs.edge_ptr[last] - graphs.edge_ptr[first])});
  }
  fmt::print("{}: graph_set, {}, {} node and {} edge features, {}{}\n\n{}", folder,
             counted(graphs.graphs(), "graph"), view.node_features(), view.edge_features(),
             counted(static_cast<int64_t>(view.tables().vocabulary.size()), "ID"),
             view.set().has_column("pos") ? ", coordinates of nodes" : "", table.text());
}

std::string columns_text(const DataSetView& set) {
  Table table({"<column", "<dtype", "<shape", "bytes"});
  for (const auto& [name, column] : set.columns())
    table.add({name, column.shape().dtype, Json(column.shape().shape).dump(),
               format_bytes(static_cast<int64_t>(column.data().size()))});
  return table.text();
}

void inspect_graph(const std::string& folder) {
  const GraphView graph(folder);
  const GraphTables& tables = graph.tables();
  fmt::print("{}: graph, {} with {}, {} with {}, {}; rows hold {}-neighbours\n", folder,
             counted(graph.nodes(), "node"), counted(graph.node_features(), "feature"),
             counted(graph.edges(), "edge"), graph.edge_features(), counted(tables.classes, "class"),
             tables.direction);
  for (size_t split = 0; split < kGraphSplits.size(); ++split)
    if (!graph.split(split).empty())
      fmt::print("{}: {}\n", kGraphSplits[split], counted(std::ssize(graph.split(split)), "node"));
  for (size_t split = 0; split < kGraphSplits.size(); ++split)
    if (!graph.split_edges(split).empty())
      fmt::print("{}: {} to predict\n", kGraphSplits[split],
                 counted(std::ssize(graph.split_edges(split)) / 2, "edge"));
  fmt::print("\n{}", columns_text(graph.set()));
}

std::string held_text() {
  Table table({"<held now", "bytes", "peak"});
  const ProcessMemory process = process_memory();
  if (process.anonymous > 0) {
    table.add({"this process, anonymous", format_bytes(process.anonymous), "-"});
    table.add({"this process, file-backed", format_bytes(process.file_backed), "-"});
    table.add({"this process, shared", format_bytes(process.shared), "-"});
  }
  if (const auto group = cgroup_memory())
    table.add({group->source, format_bytes(group->bytes), group->peak ? format_bytes(*group->peak) : "-"});
  return table.text();
}

void inspect_limits(bool json) {
  const std::vector<Limit> limits = find_limits();
  if (json) {
    print_json({{"limits", limits_json(limits)},
                {"default_budget_bytes", default_budget(limits)},
                {"held", held_json()}});
    return;
  }
  Table table({"<source", "limit", "held by others", "usable"});
  for (const Limit& limit : limits)
    table.add(
        {limit.source, format_bytes(limit.bytes), format_bytes(limit.others), format_bytes(limit.usable())});
  fmt::print("{}\ndefault budget: {}\n\n{}", table.text(), format_bytes(default_budget(limits)), held_text());
}

void print(const std::string& folder, const DataSetView& set, const Inspector* inspector) {
  if (inspector != nullptr)
    inspector->print(folder);
  else if (has_node_types(set.manifest()))
    inspect_typed_graph(folder);
  else if (set.kind() == "graph")
    inspect_graph(folder);
  else if (set.kind() == "graph_set")
    inspect_graphs(folder);
  else
    fmt::print("{}: {}\n\n{}", folder, set.kind(), columns_text(set));
}

void run(const InspectVerbOptions& options) {
  if (options.limits) return inspect_limits(options.json);
  if (options.folder.empty()) throw UsageError("inspect needs a data set, or --limits");
  const DataSetView set(options.folder);
  const Inspector* inspector = nullptr;
  for (const KindInspector& known : options.of_kinds) {
    if (known.inspector->kind() == set.kind()) {
      inspector = known.inspector.get();
      continue;
    }
    for (const CLI::Option* option : known.options)
      if (*option)
        throw UsageError(fmt::format("{}: is a data set of kind {}, but {} is for kind {}", options.folder,
                                     set.kind(), option->get_name(), known.inspector->kind()));
  }
  if (!options.json) return print(options.folder, set, inspector);
  Json json = set.manifest();
  if (inspector != nullptr) inspector->add_json(options.folder, json);
  print_json(json);
}

}  // namespace

void add_inspect(CLI::App& app) {
  auto options = std::make_shared<InspectVerbOptions>();
  CLI::App* verb =
      app.add_subcommand("inspect", "Show the contents of a data set or the detected memory limits");
  CLI::Option* const folder = verb->add_option("DIR", options->folder, "The folder of a data set");
#ifdef PLIMSOLL_CAN
  options->of_kinds.push_back({inspector_can(), {}});
#endif
  for (KindInspector& known : options->of_kinds) known.options = known.inspector->add_options(*verb);
  CLI::Option* const limits =
      verb->add_flag("--limits", options->limits, "Show the detected memory limits and their sources");
  limits->excludes(folder);
  for (const KindInspector& known : options->of_kinds)
    for (CLI::Option* option : known.options) limits->excludes(option);
  verb->add_flag(
      "--json", options->json,
      "Print the manifest and the results of the other options as JSON; with --limits, print the limits");
  verb->footer("Example: plimsoll inspect graphs");
  verb->callback([options] { run(*options); });
}

}  // namespace plimsoll
