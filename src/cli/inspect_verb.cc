#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <memory>
#include <numeric>
#include <set>

#include "base/error.h"
#include "base/units.h"
#include "can/frames/frames.h"
#include "can/live/dbc_remarks.h"
#include "can/live/dbc_table.h"
#include "can/live/group_table.h"
#include "cli/command.h"
#include "cli/verbs.h"
#include "memory/limits.h"
#include "memory/meter.h"
#include "store/graph.h"
#include "store/graph_set.h"
#include "telemetry/table.h"

namespace plimsoll {
namespace {

struct InspectVerbOptions {
  std::string folder;
  std::string dbc;
  bool j1939 = false;
  bool limits = false;
  bool json = false;
};

std::string traps_text(const Recording& recording) {
  std::string text;
  if (recording.truncated_at) text = fmt::format("cut off at byte {}", *recording.truncated_at);
  for (const auto& [name, count] : recording.traps.items())
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", format_count(count.get<int64_t>()), name);
  return text;
}

// "of them 12,000 extended, 3 remote, 1 error, 40 with more than 8 bytes; channels: can0, can1"
std::string kinds_text(const FramesView& view) {
  int64_t extended = 0, remote = 0, error = 0;
  for (const uint32_t id : view.frames().can_id) {
    extended += (id & kCanExtended) != 0;
    remote += (id & kCanRemote) != 0;
    error += (id & kCanError) != 0;
  }
  const FrameSpans& frames = view.frames();
  int64_t fd = 0, brs = 0, esi = 0, sent = 0;
  for (size_t i = 0; i < frames.length.size(); ++i) {
    const uint8_t flags = frames.flags.empty() ? 0 : frames.flags[i];
    fd += (flags & kFrameFd) != 0 || frames.length[i] > kPayloadBytes;
    brs += (flags & kFrameBrs) != 0;
    esi += (flags & kFrameEsi) != 0;
    sent += (flags & kFrameSent) != 0;
  }
  std::set<std::string> channels;
  for (const Recording& recording : view.recordings()) {
    if (recording.channel) channels.insert(*recording.channel);
    channels.insert(recording.channels.begin(), recording.channels.end());
  }
  std::string text =
      fmt::format("of them {} with extended IDs, {} remote frames, {} error frames, {} of CAN FD",
                  format_count(extended), format_count(remote), format_count(error), format_count(fd));
  if (brs + esi + sent > 0)
    text += fmt::format("; {} with BRS, {} with ESI, {} sent by the recorder", format_count(brs),
                        format_count(esi), format_count(sent));
  if (!channels.empty())
    text +=
        fmt::format("; {}channels: {}", frames.channel.empty() ? "" : "merged ", fmt::join(channels, ", "));
  return text;
}

void inspect_frames(const InspectVerbOptions& options) {
  const std::string& folder = options.folder;
  const FramesView view(folder);
  const Dbc dbc = options.dbc.empty() ? Dbc() : read_dbc_with_remarks(options.dbc);
  Table table(
      {"<split", "<recording", "frames", "attack", "<kind", "seconds", "<copy of", "<handled on purpose"});
  for (const Recording& recording : view.recordings()) {
    const auto times = view.frames().part(recording.first_frame, recording.frames).time_ns;
    const double seconds = times.empty() || !recording.has_time
                               ? 0
                               : static_cast<double>(*std::max_element(times.begin(), times.end()) -
                                                     *std::min_element(times.begin(), times.end())) /
                                     1e9;
    table.add({recording.split, recording.name, format_count(recording.frames),
               format_count(recording.attack_frames), recording.attack.value_or("-"),
               fmt::format("{:.1f}", seconds), recording.copy_of.value_or(""), traps_text(recording)});
  }
  fmt::print("{}: frames, {} of {} recordings\n{}\n\n{}", folder, format_count(view.frames().size()),
             view.recordings().size(), kinds_text(view), table.text());
  const bool clean = std::all_of(view.recordings().begin(), view.recordings().end(),
                                 [](const Recording& recording) { return traps_text(recording).empty(); });
  if (clean) fmt::print("\nno odd payloads, blanks, blank lines, CR LF or time running back were found\n");
  if (options.j1939 || dbc.has_groups()) fmt::print("\n{}", group_table(view.frames(), dbc));
  if (!options.dbc.empty()) fmt::print("\n{}", dbc_table(view.frames(), dbc));
}

void inspect_graphs(const std::string& folder) {
  const GraphSetView view(folder);
  const GraphSpans& graphs = view.graphs();
  Table table({"<split", "graphs", "attack", "nodes", "edges"});
  for (const GraphRange& split : view.tables().splits) {
    const auto first = static_cast<size_t>(split.first_graph);
    const auto last = first + static_cast<size_t>(split.graphs);
    if (split.first_graph < 0 || split.graphs < 0 || last >= graphs.node_ptr.size())
      throw InputError(
          fmt::format("{}: split '{}' lies outside the graphs; run `plimsoll verify`", folder, split.name));
    const int64_t attacks = std::accumulate(graphs.y.begin() + split.first_graph,
                                            graphs.y.begin() + split.first_graph + split.graphs, int64_t{0});
    table.add({split.name, format_count(split.graphs), format_count(attacks),
               format_count(graphs.node_ptr[last] - graphs.node_ptr[first]),
               format_count(graphs.edge_ptr[last] - graphs.edge_ptr[first])});
  }
  fmt::print("{}: graph_set, {} graphs, {} node and {} edge features, {} IDs{}\n\n{}", folder,
             format_count(graphs.graphs()), view.node_features(), view.edge_features(),
             format_count(static_cast<int64_t>(view.tables().vocabulary.size())),
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
  fmt::print("{}: graph, {} nodes with {} features, {} edges with {}, {} classes; rows hold {}-neighbours\n",
             folder, format_count(graph.nodes()), graph.node_features(), format_count(graph.edges()),
             graph.edge_features(), tables.classes, tables.direction);
  for (size_t split = 0; split < kGraphSplits.size(); ++split)
    if (!graph.split(split).empty())
      fmt::print("{}: {} nodes\n", kGraphSplits[split],
                 format_count(static_cast<int64_t>(graph.split(split).size())));
  for (size_t split = 0; split < kGraphSplits.size(); ++split)
    if (!graph.split_edges(split).empty())
      fmt::print("{}: {} edges to predict\n", kGraphSplits[split],
                 format_count(static_cast<int64_t>(graph.split_edges(split).size() / 2)));
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

// The manifest, and what was asked for beside it.
void print_manifest(const InspectVerbOptions& options, const DataSetView& set) {
  Json json = set.manifest();
  if (options.j1939 || !options.dbc.empty()) {
    const FramesView view(options.folder);
    const Dbc dbc = options.dbc.empty() ? Dbc() : read_dbc_with_remarks(options.dbc);
    if (options.j1939 || dbc.has_groups()) json["j1939"] = groups_json(view.frames(), dbc);
    if (!options.dbc.empty()) json["dbc"] = dbc_json(view.frames(), dbc);
  }
  print_json(json);
}

void run(const InspectVerbOptions& options) {
  if (options.limits) return inspect_limits(options.json);
  if (options.folder.empty()) throw UsageError("inspect needs a data set, or --limits");
  const DataSetView set(options.folder);
  if (set.kind() != "frames" && (options.j1939 || !options.dbc.empty()))
    throw UsageError(fmt::format("{}: is a data set of kind {}; --dbc and --j1939 are for frames",
                                 options.folder, set.kind()));
  if (options.json) {
    print_manifest(options, set);
  } else if (set.kind() == "frames") {
    inspect_frames(options);
  } else if (set.kind() == "graph") {
    inspect_graph(options.folder);
  } else if (set.kind() == "graph_set") {
    inspect_graphs(options.folder);
  } else {
    fmt::print("{}: {}\n\n{}", options.folder, set.kind(), columns_text(set));
  }
}

}  // namespace

void add_inspect(CLI::App& app) {
  auto options = std::make_shared<InspectVerbOptions>();
  CLI::App* verb = app.add_subcommand("inspect", "Show what is in a data set, or the memory limits found");
  CLI::Option* const folder = verb->add_option("DIR", options->folder, "A data set");
  CLI::Option* const j1939 = verb->add_flag(
      "--j1939", options->j1939,
      "Of frames the parameter groups and addresses of 29-bit IDs; so does a DBC with such groups");
  CLI::Option* const dbc =
      verb->add_option("--dbc", options->dbc,
                       "Of frames the messages and signals that it names, and IDs that it does not know");
  dbc->type_name("FILE");
  verb->add_flag("--limits", options->limits, "Show the limits on memory, each with its source")
      ->excludes(folder)
      ->excludes(j1939)
      ->excludes(dbc);
  verb->add_flag(
      "--json", options->json,
      "Print the manifest, with the messages of --dbc and the groups of --j1939, or the limits, as JSON");
  verb->footer("Example: plimsoll inspect frames");
  verb->callback([options] { run(*options); });
}

}  // namespace plimsoll
