#include <fmt/format.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/json.h"
#include "base/units.h"
#include "base/word_text.h"
#include "cli/command.h"
#include "cli/interrupt.h"
#include "cli/made_set.h"
#include "cli/number_checks.h"
#include "cli/verbs.h"
#include "cli/word_option.h"
#include "ingest/append/base_graph.h"
#include "ingest/graph/graph.h"
#include "ingest/graph/graph_options.h"
#include "ingest/graph/split_sizes.h"
#include "telemetry/counted.h"
#include "telemetry/progress.h"

namespace plimsoll {
namespace {

struct IngestGraphVerbOptions {
  GraphIngestOptions graph;
  std::string shard = "1/1";
  Resources resources;
  bool json = false;
  std::function<bool(std::string_view option)> is_given;  // Whether the command line has an option.
};

// Returns lines about input that was skipped.
std::string skipped(const GraphIngestResult& result) {
  std::string lines;
  if (result.headers > 0) lines += fmt::format("{} skipped as a header\n", counted(result.headers, "line"));
  if (result.comments > 0) lines += fmt::format("{} skipped as comments\n", counted(result.comments, "line"));
  return lines;
}

// Returns lines about the sizes of splits and about nodes that are in several splits.
std::string splits_text(const SplitSizes& sizes) {
  std::string text;
  for (size_t split = 0; split < kGraphSplits.size(); ++split)
    if (sizes.nodes[split] > 0)
      text += fmt::format("{}{}: {}", text.empty() ? "" : "; ", kGraphSplits[split],
                          counted(sizes.nodes[split], "node"));
  if (!text.empty()) text += "\n";
  if (sizes.overlapping > 0)
    text += fmt::format("{} in more than one split: metrics on such nodes are unreliable\n",
                        counted(sizes.overlapping, "node"));
  return text;
}

Json splits_json(const SplitSizes& sizes) {
  Json json = {{"overlapping", sizes.overlapping}};
  for (size_t split = 0; split < kGraphSplits.size(); ++split) json[kGraphSplits[split]] = sizes.nodes[split];
  return json;
}

std::string made_text(const GraphIngestResult& result, const std::string& shard, bool is_all) {
  if (!is_all) return fmt::format("{} of shard {}", counted(result.edges, "edge"), shard);
  std::string text =
      fmt::format("{} ({} IDs) with {}, {} with {}, {}", counted(result.nodes, "node"), result.ids,
                  counted(result.node_features, "feature"), counted(result.edges, "edge"),
                  result.edge_features, counted(result.classes, "class"));
  if (result.targets > 0) text += fmt::format(", {} per node", counted(result.targets, "target"));
  return text;
}

void run(IngestGraphVerbOptions& options) {
  const Stopwatch watch;
  options.graph.note = [](const std::string& note) { fmt::print(stderr, "plimsoll: note: {}\n", note); };
  options.graph.threads = options.resources.thread_count();
  options.graph.shard = Shard::parse(options.shard);
  if (!options.graph.append.empty()) options.graph = append_options(options.graph, options.is_given);
  Budget budget(options.resources, 256 * kMiB);
  GraphIngestResult result;
  {
    Progress reading("ingest", "", Progress::Unit::bytes);
    Progress writing("ingest", "edges");
    result =
        ingest_graph(options.graph, until_stopped([&](std::string_view what, int64_t done, int64_t total) {
                       if (what == "bytes") reading.update(done, total);
                       if (what == "edges") writing.update(done, total);
                     }));
  }
  const double seconds = watch.seconds();
  const bool is_all = options.graph.shard.is_all();
  const SplitSizes splits = is_all ? split_sizes(GraphView(options.graph.out)) : SplitSizes{};
  print_made({.out = options.graph.out,
              .already_there = result.already_there,
              .counts = {{"ids", result.ids},
                         {"nodes", result.nodes},
                         {"edges", result.edges},
                         {"edges_read", result.edges_read},
                         {"node_features", result.node_features},
                         {"edge_features", result.edge_features},
                         {"classes", result.classes},
                         {"targets", result.targets},
                         {"splits", splits_json(splits)},
                         {"source_bytes", result.source_bytes},
                         {"comments", result.comments},
                         {"headers", result.headers}},
              .text = made_text(result, options.shard, is_all),
              .from = "sources",
              .remarks = skipped(result) + splits_text(splits),
              .took = fmt::format("{} read in {} ({})", counted(result.edges_read, "edge"),
                                  format_seconds(seconds), format_rate(result.edges_read, seconds, "edges"))},
             seconds, budget, options.json);
}

// Adds an option with the values yes and no; without a value, it means yes.
void add_yes_or_no(CLI::App& app, const char* name, std::optional<bool>& choice, const char* help) {
  app.add_option_function<std::string>(
         name, [&choice](const std::string& word) { choice = word != "no"; }, help)
      ->expected(0, 1)
      ->check([](const std::string& word) {
        const bool known = word.empty() || word == "yes" || word == "no";
        return known ? std::string() : fmt::format("found '{}', expected yes or no", word);
      })
      ->type_name("yes|no");
}

void add_node_arrays(CLI::App& group, GraphIngestOptions& options) {
  NodeTableOptions& nodes = options.nodes;
  group
      .add_option("--features", nodes.feature_array,
                  "Read node features from a .npy or .npz array [V, F], from a text file with one node per "
                  "line, or, with --dtype and --shape, from a raw file")
      ->type_name("FILE");
  group.add_flag(
      "--link", nodes.link,
      "Link to the file of --features instead of copying it into the graph; the file must then not "
      "change");
  CLI::Option* const dtype =
      group
          .add_option("--dtype", nodes.feature_layout.dtype,
                      "Read the raw file given to --features as numbers of this type, such as f32 or f16")
          ->type_name("TYPE");
  CLI::Option* const shape =
      group
          .add_option("--shape", nodes.feature_layout.shape,
                      "Read the raw file given to --features as V nodes with F features each")
          ->delimiter(',')
          ->type_name("V,F");
  dtype->needs(shape);
  shape->needs(dtype);
  group
      .add_option("--features-dtype", options.features_dtype,
                  "Store features in this type: auto (the smallest that keeps every value), f32, or f16, "
                  "bf16 or i8 (rounded)")
      ->check(CLI::IsMember({"auto", "f32", "f16", "bf16", "i8"}))
      ->capture_default_str();
  group
      .add_option("--labels", nodes.label_array,
                  "Read classes from a .npy or .npz array [V] of whole numbers, where -1 or NaN means "
                  "unlabelled, or from a text file with one per line")
      ->type_name("FILE");
  group
      .add_option("--targets", nodes.target_array,
                  "Read numbers to predict from a .npy or .npz array [V] or [V, T], where NaN means unknown; "
                  "for several labels per node, the numbers are 0 and 1")
      ->type_name("FILE");
  for (size_t split = 0; split < kGraphSplits.size(); ++split)
    group
        .add_option(
            fmt::format("--{}", kGraphSplits[split]), options.splits[split],
            fmt::format("Read the {} split as IDs, from a text file with one per line or from .npy or "
                        ".npz, or as a Boolean mask",
                        kGraphSplits[split]))
        ->type_name("FILE");
}

void add_node_options(CLI::App& graph, GraphIngestOptions& options) {
  NodeTableOptions& nodes = options.nodes;
  CLI::App* group = graph.add_option_group("nodes", "Node data");
  group
      ->add_option(
          "--nodes", nodes.table,
          "Read nodes from a text table with one row per node; it may be compressed with zstd or gzip")
      ->type_name("FILE");
  add_yes_or_no(*group, "--nodes-header", nodes.header,
                "State whether the first line of the table names the columns; default: yes if other options "
                "name columns or the ID in this line is not a number, else no");
  group->add_option("--id", nodes.id, "Read IDs from this column of the table; default: the first column")
      ->type_name("COLUMN");
  group->add_option("--label", nodes.label, "Read classes from this column of the table, as numbers or text")
      ->type_name("COLUMN");
  group
      ->add_option("--unlabelled", nodes.unlabelled,
                   "Treat this label as unlabelled, in addition to empty fields and -1")
      ->type_name("TEXT");
  group
      ->add_option("--split", nodes.split,
                   "Read splits from this column of the table: train, valid (or val), test or none")
      ->type_name("COLUMN");
  group
      ->add_option("--node-features", nodes.features,
                   "Read features from these columns of numbers in the table; a field may hold several, "
                   "separated by blanks")
      ->delimiter(',')
      ->type_name("COLUMN,...");
  group
      ->add_option("--missing", nodes.missing,
                   "Replace node features that are empty, NA or NaN with this value; default: refuse them")
      ->check(finite())
      ->type_name("NUMBER");
  add_node_arrays(*group, options);
  group
      ->add_option("--node-count", options.node_count,
                   "Set the number of nodes to V; all IDs must be below V")
      ->check(at_least(1))
      ->type_name("V");
}

void add_edge_options(CLI::App& graph, EdgeListOptions& edges) {
  graph
      .add_option(
          "--edges", edges.files,
          "Read edges from text files (fields separated by tabs, commas, semicolons, bars or blanks), which "
          "may be compressed with zstd or gzip, from MatrixMarket files, or from .npy arrays")
      ->required()
      ->type_name("FILE...");
  graph
      .add_option("--source", edges.source,
                  "Read sources from this column: a name, or a number counted from 0")
      ->type_name("COLUMN")
      ->capture_default_str();
  graph.add_option("--target", edges.target, "Read targets from this column")
      ->type_name("COLUMN")
      ->capture_default_str();
  graph.add_option("--weight", edges.weight, "Read weights from this column, or from a .npy file")
      ->type_name("COLUMN");
  graph
      .add_option("--edge-features", edges.features,
                  "Read edge features from these columns, or from a .npy file")
      ->delimiter(',')
      ->type_name("COLUMN,...");
  add_yes_or_no(graph, "--header", edges.header,
                "State whether the first line names the columns; default: detected from its contents");
  add_word_option(
      graph, "--comments", edges.comments,
      "Skip lines that begin with # or %: only those before the first edge (leading), all, or none");
  add_word_option(graph, "--layout", edges.layout,
                  "Read a .npy array of edges as rows ([E, 2]) or columns ([2, E]); default: by its shape");
}

}  // namespace

void add_ingest_graph(CLI::App& ingest) {
  auto options = std::make_shared<IngestGraphVerbOptions>();
  GraphIngestOptions& made = options->graph;
  CLI::App* graph = ingest.add_subcommand("graph", "Read one giant graph from edge lists");
  add_edge_options(*graph, made.edges);
  graph->add_option("--out", made.out, "Write the graph to this folder")->required()->type_name("DIR");
  add_word_option(*graph, "--ids", made.ids,
                  "Read IDs as dense (0 .. V-1), sparse (any numbers) or text; auto: detect");
  add_word_option(*graph, "--direction", made.direction,
                  "Store for each node the sources of its incoming edges (in) or the targets of its outgoing "
                  "edges (out)");
  graph->add_flag("--undirected", made.undirected, "Add each edge in both directions");
  graph->add_flag("--dedup", made.dedup, "Keep only the first of duplicate edges");
  add_word_option(*graph, "--self-loops", made.self_loops,
                  "Keep self-loops, drop them, or add one to each node that has none");
  add_word_option(*graph, "--order", made.order,
                  "Order nodes by ID (none), by degree (most connected first), by frequency (most often "
                  "sampled first), or by partition (parts with few edges between them)");
  graph
      ->add_option(
          "--append", made.append,
          "Append the edges, and the rows of new nodes, to this graph; the options with which it was made "
          "apply. --out is a new graph, which shares unchanged columns with it by links")
      ->type_name("GRAPH");
  graph
      ->add_option(
          "--shard", options->shard,
          "Make only shard I (from 1) of N, from whole edge files; `plimsoll merge` joins the shards")
      ->type_name("I/N");
  graph->add_flag("--force", made.force, "Replace an existing output");
  graph->add_flag("--json", options->json, "Print the summary as JSON");
  add_node_options(*graph, made);
  options->resources.add_budget(*graph);
  options->resources.add_threads(*graph);
  options->is_given = [graph](std::string_view option) { return graph->count(std::string(option)) > 0; };
  graph->footer(
      "Example: plimsoll ingest graph --edges edges.tsv.zst --nodes nodes.tsv --label class --out graph");
  graph->callback([options] { run(*options); });
}

}  // namespace plimsoll
