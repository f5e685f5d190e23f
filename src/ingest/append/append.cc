#include "ingest/append/append.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>

#include "base/error.h"
#include "base/units.h"
#include "ingest/append/appended_ids.h"
#include "ingest/append/merge_lists.h"
#include "ingest/append/merge_rows.h"
#include "ingest/graph/graph_options.h"
#include "ingest/graph/graph_rows.h"

namespace plimsoll {
namespace fs = std::filesystem;
namespace {

void require_same_names(const BaseGraph& base, const std::vector<std::string>& found,
                        const std::vector<std::string>& expected, const char* what) {
  if (found != expected)
    throw InputError(fmt::format("the new {} are {}, expected {} as {} has them", what, Json(found).dump(),
                                 Json(expected).dump(), base.view.set().folder().string()));
}

/// One attempt to append, with one seed of the hash of text IDs.
class AppendBuild {
 public:
  AppendBuild(const GraphIngestOptions& options, const BaseGraph& base, const EdgeList& list, uint64_t seed,
              const GraphProgress& progress, FileSystem& files)
      : options_(options),
        base_(base),
        list_(list),
        progress_(progress),
        table_(options.nodes),
        writer_(options.out, options.force, files),
        scratch_{writer_.scratch(), files, memory_for_sorts(options.threads),
                 [this] { progress_("hashes", 0, 0); }},
        nodes_(base.view.nodes()),
        rules_{.texts = base.ids == NodeIds::text,
               .seed = seed,
               .nodes = fmt::format(", as {} has them; give rows of new nodes, or --node-count",
                                    base.view.set().folder().string()),
               .refuse_padded = base.options.ids == NodeIds::automatic} {
    result_.ids = base.ids;
  }

  GraphIngestResult run(const Json& provenance);

 private:
  bool dense() const { return base_.ids == NodeIds::dense; }
  void scan_rows();
  void require_same_rows() const;
  void settle_dense();
  void require_matrix_sizes() const;
  void read_edges();
  void finish_dense();
  void relabel();
  void write_new_rows(const fs::path& folder);
  [[noreturn]] void refuse_known_row(uint64_t id);
  [[noreturn]] void refuse_unknown(uint64_t id);
  NewRows new_rows() const;
  bool has_split_files() const;
  void require_same_splits() const;
  std::string id_of(int64_t old) const;
  std::string old_label(int64_t c) const;
  void require_same_base() const;

  const GraphIngestOptions& options_;
  const BaseGraph& base_;
  const EdgeList& list_;
  const GraphProgress& progress_;
  NodeTable table_;
  GraphWriter writer_;
  GraphScratch scratch_;
  InsertedNodes nodes_;
  IdRules rules_;
  GraphIngestResult result_;

  int64_t declared_ = -1;  // Number of nodes of a dense graph, if it is known before the edges are read.
  uint64_t ids_end_ = 0;   // The greatest number plus one.
  std::unique_ptr<ExternalSort> row_of_;  // Rows of the table, by ID; of a dense graph, by new node.
  std::unique_ptr<AppendedIds> ids_;      // Null for a dense graph.
  std::unique_ptr<GraphEdges> edges_;
};

// Reads the IDs and labels of the rows of new nodes.
void AppendBuild::scan_rows() {
  if (table_.has_ids() && !options_.nodes.label.empty())
    for (int64_t c = 0; c < base_.view.tables().classes; ++c) table_.add_known_label(old_label(c));
  if (!dense()) ids_ = std::make_unique<AppendedIds>(base_, scratch_, rules_.seed);
  if (!table_.has_ids()) {
    table_.scan([](std::string_view, const LineReader&) {});
    return;
  }
  row_of_ =
      scratch_.sort("row_of", GraphScratch::kNodes, sizeof(uint32_t), std::numeric_limits<int64_t>::max());
  const auto old = static_cast<uint64_t>(base_.view.nodes());
  if (dense()) rules_.limit = kMaxGraphNodes;
  int64_t rows = 0;
  table_.scan([&](std::string_view field, const LineReader& at) {
    const uint64_t id = node_id_of(field, rules_, at);
    if (rows == kMaxGraphNodes) at.refuse(field, fmt::format("at most {} rows", kMaxGraphNodes));
    if (dense() && id < old) at.refuse(field, fmt::format("the ID of a new node, from {}", old));
    scratch_.tick_at(rows);
    const auto row = static_cast<uint32_t>(rows++);
    row_of_->add(dense() ? id - old : id, &row);
    if (ids_) ids_->add(id, field);
    ids_end_ = std::max(ids_end_, id + 1);
  });
  row_of_->seal();
  require_single_rows(*row_of_, table_, rules_);
}

// The rows of new nodes must have the columns of those of the base.
void AppendBuild::require_same_rows() const {
  if (!table_.exists() || table_.rows() == 0) return;
  require_same_names(base_, table_.feature_names(), base_.view.tables().node_features, "features of nodes");
  if (static_cast<int64_t>(table_.target_width()) != base_.view.target_width())
    throw InputError(fmt::format("the new rows have {} values to predict, expected {} as {} has them",
                                 table_.target_width(), base_.view.target_width(),
                                 base_.view.set().folder().string()));
  if (table_.has_labels() && base_.view.y().empty())
    throw InputError(
        fmt::format("the new rows have classes, expected none, as {} has none; leave out --label",
                    base_.view.set().folder().string()));
}

// Determines the number of nodes of a dense graph, if it is known before the edges are read.
void AppendBuild::settle_dense() {
  if (!dense()) return;
  const int64_t old = base_.view.nodes();
  int64_t rows_end = old;  // Number of nodes with rows.
  if (table_.has_ids())
    rows_end = std::max(old, static_cast<int64_t>(ids_end_));
  else if (table_.exists())
    rows_end = old + table_.rows();
  declared_ = options_.node_count;
  if (declared_ < 0 && (base_.has_rows() || base_.options.node_count >= 0)) declared_ = rows_end;
  if (declared_ >= 0 &&
      (declared_ < rows_end || (table_.exists() && !table_.has_ids() && declared_ != rows_end)))
    throw InputError(fmt::format("--node-count {}: {} and the new rows have {} nodes; give that number",
                                 declared_, base_.view.set().folder().string(), rows_end));
  rules_.limit = static_cast<uint64_t>(declared_ >= 0 ? declared_ : kMaxGraphNodes);
}

// The size of a matrix counts as --node-count does, so nodes of a table without IDs must be as many, and a
// size that is far above the IDs of its entries needs confirmation.
void AppendBuild::require_matrix_sizes() const {
  const int64_t size = list_.nodes();
  if (size < 0 || !dense() || options_.node_count >= 0) return;
  const int64_t old = base_.view.nodes();
  if (declared_ >= 0 && base_.has_rows() && base_.options.nodes.table.empty() && size > declared_)
    throw InputError(
        fmt::format("{}: the size of the matrix makes {} nodes, expected at most the {} that {} and "
                    "the new rows have; fetch it again, or give --node-count",
                    list_.nodes_place(), size, declared_, base_.view.set().folder().string()));
  if (declared_ < 0 && size - old - 2 * result_.edges_read > kMaxUnconfirmedNodes)
    throw InputError(fmt::format(
        "{}: the size of the matrix makes {} nodes, of which at most {} have an edge; "
        "confirm it with --node-count {}",
        list_.nodes_place(), format_count(size), format_count(old + 2 * result_.edges_read), size));
}

void AppendBuild::read_edges() {
  const int64_t max = list_.max_edges();
  edges_ = std::make_unique<GraphEdges>(scratch_, edge_rules(options_, list_), dense(), max);
  const bool gather = ids_ && !base_.has_rows();  // Otherwise rows define the nodes.
  uint64_t edges_end = 0;
  const auto take = [&](const EdgeBatch& batch, int64_t bytes) {
    if (dense()) edges_end = std::max(edges_end, batch.ids_end());
    if (gather) ids_->add_ends(batch);
    result_.edges_read += static_cast<int64_t>(batch.size());
    result_.comments += batch.comments;
    edges_->add(batch);
    progress_("bytes", bytes, result_.source_bytes);
  };
  list_.read(rules_, options_.threads, take);
  edges_->seal();
  ids_end_ = std::max(ids_end_, edges_end);
}

// Appends the nodes of a dense graph, and gives a note if there are many without an edge.
void AppendBuild::finish_dense() {
  const int64_t old = base_.view.nodes();
  const int64_t nodes =
      declared_ >= 0 ? declared_ : std::max({old, static_cast<int64_t>(ids_end_), list_.nodes()});
  nodes_.add_last(nodes - old);
  constexpr int64_t kFar = 4;
  const int64_t named = 2 * result_.edges_read;
  if (declared_ >= 0 || nodes - old <= kFar * named + 1024) return;
  options_.note(
      fmt::format("the greatest ID, {}, adds {} nodes, of which at most {} have an edge: {} of row ends "
                  "are written",
                  format_count(nodes - 1), format_count(nodes - old), format_count(named),
                  format_bytes(8 * (nodes - old))));
}

void AppendBuild::relabel() {
  if (dense()) return;
  try {
    edges_->relabel(ids_->index());
  } catch (const UnknownId& unknown) {
    refuse_unknown(unknown.id);
  }
}

// Reads the list again to find the line of an ID that is no node.
void AppendBuild::refuse_unknown(uint64_t id) {
  rules_.unknown = id;
  rules_.nodes = fmt::format(" that {} has; give the rows of new nodes", base_.view.set().folder().string());
  list_.read(rules_, 1, [](const EdgeBatch&, int64_t) {});
  throw InputError("the new edges were changed while they were read; append them again");
}

// Scans the table again to find the row of a node that the base has.
void AppendBuild::refuse_known_row(uint64_t id) {
  NodeTable again(options_.nodes);
  again.scan([&](std::string_view field, const LineReader& at) {
    if (node_id_of(field, rules_, at) == id)
      at.refuse(field,
                fmt::format("the ID of a new node; {} has this one", base_.view.set().folder().string()));
  });
  throw InputError(table_.path() + ": was changed while it was read; append it again");
}

bool AppendBuild::has_split_files() const {
  return std::ranges::any_of(options_.splits, [](const fs::path& path) { return !path.empty(); });
}

// A table has a split for each of its rows, and files list IDs of all nodes, so the two cannot be mixed.
void AppendBuild::require_same_splits() const {
  const bool by_table = !base_.options.nodes.split.empty();
  if (has_split_files() && by_table)
    throw UsageError("give splits as a column of the table, as before, not as files");
  if (table_.exists() && !options_.nodes.split.empty() && !by_table)
    throw UsageError(fmt::format("--split: {} has no splits from a column of a table; give splits as files",
                                 base_.view.set().folder().string()));
}

// Writes the rows of new nodes as a graph without edges.
void AppendBuild::write_new_rows(const fs::path& folder) {
  GraphWriter rows(folder, true, scratch_.files);
  const NodeIndex dense_nodes(nodes_.count());
  if (row_of_) {
    try {
      write_rows_sorted(table_, *row_of_, dense() ? dense_nodes : ids_->new_nodes(), scratch_, rows);
    } catch (const UnknownId& known) {
      refuse_known_row(known.id);
    }
  } else if (table_.exists()) {
    write_rows_in_order(table_, scratch_, rows);
  }
  const NodeIndex all_nodes(nodes_.nodes());
  for (size_t split = 0; split < kGraphSplits.size(); ++split)
    if (!options_.splits[split].empty())
      write_split(split, options_.splits[split], rules_, dense() ? all_nodes : ids_->index(), scratch_, rows);
  for (int64_t i = 0; i < nodes_.count(); ++i) {
    const int64_t end = 0;
    rows.append_row_ends(std::span(&end, 1));
    scratch_.tick_at(i);
  }
  rows.publish({.classes = table_.classes()}, Json::object());
}

NewRows AppendBuild::new_rows() const {
  NewRows added{.splits_of_all = base_.options.nodes.split.empty(),
                .splits_by_node = !base_.options.nodes.split.empty(),
                .x = StoredAs::parse(options_.features_dtype)};
  const Json error = base_.view.set().manifest().value(Json::json_pointer("/narrow/x/largest_error"), Json());
  if (error.is_number()) added.x.error_before = error.get<float>();
  if (!table_.has_ids() || options_.nodes.label.empty()) return added;
  for (int64_t c = 0; c < base_.view.tables().classes; ++c)
    added.classes.push_back(table_.class_of(old_label(c)));
  return added;
}

// Returns the label that a class of the base has in tables.
std::string AppendBuild::old_label(int64_t c) const {
  const std::vector<std::string>& names = base_.view.tables().class_names;
  return names.empty() ? std::to_string(c) : names[static_cast<size_t>(c)];
}

// Returns the ID of an old node, for error texts.
std::string AppendBuild::id_of(int64_t old) const {
  return base_.view.has_names() ? std::string(base_.view.name(old)) : std::to_string(base_.view.id(old));
}

// Refuses a base that was replaced after it was opened: columns that are shared now would be those of the
// new one.
void AppendBuild::require_same_base() const {
  const fs::path& folder = base_.view.set().folder();
  Charge charge(Tag::ingest);
  if (read_manifest(folder, charge) != base_.view.set().manifest())
    throw InputError(
        fmt::format("{}: has another manifest.json than when the append began, because the graph "
                    "was replaced; append again",
                    folder.string()));
}

GraphIngestResult AppendBuild::run(const Json& provenance) {
  for (const fs::path& path : list_.edge_files())
    result_.source_bytes += static_cast<int64_t>(fs::file_size(path));
  const GraphTables& old = base_.view.tables();
  const EdgeRules rules = edge_rules(options_, list_);
  require_same_splits();
  scan_rows();
  require_same_rows();
  settle_dense();
  read_edges();
  require_matrix_sizes();
  if (dense())
    finish_dense();
  else
    ids_->number(nodes_, writer_);
  nodes_.seal();
  if (nodes_.nodes() > kMaxGraphNodes)
    throw InputError(fmt::format("found {} nodes, expected at most {}", nodes_.nodes(), kMaxGraphNodes));
  if (nodes_.count() > 0 && base_.view.node_features() > 0 && (!table_.exists() || table_.rows() == 0))
    throw UsageError(
        fmt::format("--append {}: its nodes have features, and there are {} new nodes; give their rows",
                    base_.view.set().folder().string(), nodes_.count()));
  relabel();
  const int64_t total = base_.view.edges() + edges_->added();
  merge_lists(
      base_.view, *edges_, nodes_, rules, scratch_, [this](int64_t node) { return id_of(node); },
      [&](int64_t done) { progress_("edges", done, total); }, writer_);
  edges_.reset();

  NewRows added = new_rows();
  if (table_.exists() || has_split_files()) {
    const fs::path folder = scratch_.folder / "new_rows";
    write_new_rows(folder);
    const GraphView rows(folder);
    added.rows = &rows;
    merge_rows(base_.view, nodes_, added, scratch_, writer_);
    fs::remove_all(folder);
  } else {
    merge_rows(base_.view, nodes_, added, scratch_, writer_);
  }
  ids_.reset();

  result_.nodes = writer_.nodes();
  result_.edges = writer_.edges();
  result_.node_features = base_.view.node_features();
  result_.edge_features = base_.view.edge_features();
  const bool labels = table_.exists() && table_.has_labels();
  result_.classes = labels ? std::max(old.classes, table_.classes()) : old.classes;
  result_.targets = base_.view.target_width();
  result_.headers = list_.headers();
  GraphTables tables = old;
  tables.classes = result_.classes;
  if (!added.classes.empty() || (labels && old.classes == 0)) tables.class_names = table_.class_names();
  require_same_base();
  writer_.publish(tables, provenance);
  return result_;
}

// The new edges must have the values of those of the base.
void require_same_values(const BaseGraph& base, const EdgeList& list) {
  require_same_names(base, list.feature_names(), base.view.tables().edge_features, "features of edges");
  if (list.has_weight() == base.view.edge_weight().empty() && base.view.edges() > 0)
    throw InputError(fmt::format("{}: its edges have {}weights; {} --weight",
                                 base.view.set().folder().string(), list.has_weight() ? "no " : "",
                                 list.has_weight() ? "leave out" : "give"));
}

}  // namespace

GraphIngestResult append_graph(const GraphIngestOptions& options, const BaseGraph& base,
                               const EdgeList& edges, const Json& provenance, const GraphProgress& progress,
                               FileSystem& files) {
  require_same_values(base, edges);
  for (uint64_t seed = 0;; ++seed) {
    try {
      return AppendBuild(options, base, edges, seed, progress, files).run(provenance);
    } catch (const PaddedId& padded) {
      throw InputError(
          fmt::format("{}; the IDs of {} are numbers: remove the zeros, or ingest all files "
                      "together with --ids text",
                      padded.what(), base.view.set().folder().string()));
    } catch (const HashCollision&) {
      // Tries the next seed, with which the two texts have different hashes.
    }
  }
}

}  // namespace plimsoll
