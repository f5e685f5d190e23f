#include "ingest/graph/graph_build.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <memory>
#include <optional>

#include "base/error.h"
#include "base/hash64.h"
#include "base/units.h"
#include "ingest/graph/graph_edges.h"
#include "ingest/graph/graph_options.h"
#include "ingest/graph/graph_rows.h"
#include "ingest/graph/node_keys.h"
#include "ingest/graph/node_order.h"
#include "ingest/text/unique_texts.h"

namespace plimsoll {
namespace fs = std::filesystem;
namespace {

constexpr int64_t kUnlimited = std::numeric_limits<int64_t>::max();
// If the greatest number exceeds this many times the number of edge ends, numbers are sparse.
constexpr int64_t kSparseFactor = 4;

// Thrown while the kind of IDs is being determined if they are not dense.
struct NotDense {};

/// One attempt to make the data set, with one kind of IDs.
class GraphBuild {
 public:
  GraphBuild(const GraphIngestOptions& options, const EdgeList& edges, const EdgeShards* shards,
             NodeTable table, NodeIds ids, uint64_t seed, const GraphProgress& progress, FileSystem& files)
      : options_(options),
        list_(edges),
        shards_(shards),
        table_(std::move(table)),
        dense_(ids != NodeIds::sparse && ids != NodeIds::text),
        may_be_sparse_(ids == NodeIds::automatic),
        progress_(progress),
        writer_(options.out, options.force, files),
        scratch_{writer_.scratch(), files, memory_for_sorts(options.threads),
                 [this] { progress_(at_.what, at_.done, at_.total); }} {
    writer_.store_x(StoredAs::parse(options.features_dtype));
    rules_.texts = ids == NodeIds::text;
    rules_.seed = seed;
    if (ids == NodeIds::dense) rules_.limit = kMaxGraphNodes;
    rules_.refuse_padded = ids == NodeIds::automatic;
    result_.ids = rules_.texts ? NodeIds::text : dense_ ? NodeIds::dense : NodeIds::sparse;
  }

  GraphIngestResult run(const Json& sources_and_options);

 private:
  // Reports the progress of the work; scratch_.tick() reports the same values again.
  void report(const char* what, int64_t done, int64_t total) {
    at_ = {what, done, total};
    progress_(what, done, total);
  }
  bool in_order() const { return dense_ && options_.order == NodeOrderKind::none; }
  void scan_table();
  void settle_dense();
  void read_edges();
  void read_list(bool gather);
  void take_shards(bool gather);
  void announce_far_ids() const;
  void require_confirmed(int64_t nodes, int64_t named) const;
  void announce_comments() const;
  void index_ids();
  void index_texts();
  void order_by_degree();
  void order_by_edges();
  void write_ids();
  void write_rows();

  const GraphIngestOptions& options_;
  const EdgeList& list_;
  // Shards of the list, or null. If there are shards, the list is read only to locate an error.
  const EdgeShards* shards_;
  NodeTable table_;
  bool dense_;
  bool may_be_sparse_;
  const GraphProgress& progress_;
  struct {
    const char* what = "bytes";
    int64_t done = 0;
    int64_t total = 0;
  } at_;
  GraphWriter writer_;
  GraphScratch scratch_;
  IdRules rules_;
  GraphIngestResult result_;

  // Number of nodes, if it is known before the edges are read; otherwise -1.
  int64_t declared_ = -1;
  uint64_t ids_end_ = 0;                  // The greatest number plus one.
  std::unique_ptr<ExternalSort> row_of_;  // Rows of the table, by ID.
  std::shared_ptr<ExternalSort> ids_;     // All IDs, if they are sparse.
  std::unique_ptr<UniqueTexts> texts_;
  std::unique_ptr<GraphEdges> edges_;
  std::unique_ptr<NodeIndex> index_;
};

// Reads the IDs and labels of the node table.
void GraphBuild::scan_table() {
  if (rules_.texts)
    texts_ = std::make_unique<UniqueTexts>(scratch_.folder, "texts", scratch_.memory / 5, scratch_.files);
  if (!table_.has_ids()) {
    if (table_.exists() && !dense_)
      throw UsageError(
          "arrays of nodes do not contain their IDs, which are not 0 .. V-1; give --nodes in addition");
    table_.scan([](std::string_view, const LineReader&) {});
    return;
  }
  row_of_ = scratch_.sort("row_of", GraphScratch::kNodes, sizeof(uint32_t), kUnlimited);
  if (!dense_ && !rules_.texts) ids_ = scratch_.unique_sort("ids", GraphScratch::kIds, kUnlimited);
  int64_t rows = 0;
  table_.scan([&](std::string_view field, const LineReader& at) {
    const uint64_t id = node_id_of(field, rules_, at);
    if (rows == kMaxGraphNodes) at.refuse(field, fmt::format("at most {} rows", kMaxGraphNodes));
    scratch_.tick_at(rows);
    const auto row = static_cast<uint32_t>(rows++);
    row_of_->add(id, &row);
    if (texts_) texts_->add(field);
    if (ids_) ids_->add(id);
    ids_end_ = std::max(ids_end_, id + 1);
  });
  row_of_->seal();
}

// Determines the number of nodes, if it is known before the edges are read.
void GraphBuild::settle_dense() {
  const int64_t rows = table_.exists() ? table_.rows() : -1;
  declared_ = options_.node_count;
  if (declared_ < 0 && !table_.has_ids()) declared_ = list_.nodes();
  if (table_.has_ids()) {
    if (dense_ && may_be_sparse_ && static_cast<int64_t>(ids_end_) != rows) throw NotDense();
    if (dense_ && declared_ < 0) declared_ = static_cast<int64_t>(ids_end_);
  } else if (rows >= 0) {
    if (rows > kMaxGraphNodes)
      throw InputError(
          fmt::format("{}: has {} rows, expected at most {}", table_.path(), rows, kMaxGraphNodes));
    if (declared_ >= 0 && declared_ != rows)
      throw InputError(fmt::format("{}: has {} rows, expected {}, one for each node; make it again",
                                   table_.path(), rows, declared_));
    declared_ = rows;
  }
  if (!dense_) return;
  if (declared_ >= 0) {
    rules_.limit = static_cast<uint64_t>(declared_);
    rules_.nodes = table_.exists()            ? fmt::format(", as {} has them", table_.path())
                   : options_.node_count >= 0 ? std::string(", as --node-count says")
                                              : std::string(", as the size of the matrix says");
    may_be_sparse_ = false;
  }
  if (static_cast<int64_t>(ids_end_) > declared_ && table_.has_ids())
    throw InputError(fmt::format("{}: has the ID {}, expected IDs below {}, as --node-count says",
                                 table_.path(), ids_end_ - 1, declared_));
}

void GraphBuild::read_edges() {
  const int64_t max = shards_ != nullptr ? 0 : list_.max_edges();  // Number of edges that this process sorts.
  edges_ = std::make_unique<GraphEdges>(scratch_, edge_rules(options_, list_),
                                        shards_ != nullptr ? sorts_once(options_) : in_order(), max);
  const bool gather = !dense_ && !table_.has_ids();  // Whether the ends of edges define the nodes.
  if (gather && !rules_.texts) ids_ = scratch_.unique_sort("ids", GraphScratch::kIds, max * 2);
  if (shards_ != nullptr)
    take_shards(gather);
  else
    read_list(gather);
  edges_->seal();
  if (may_be_sparse_ && dense_ &&
      ids_end_ > static_cast<uint64_t>(kSparseFactor * 2 * result_.edges_read + 1024))
    throw NotDense();
}

void GraphBuild::read_list(bool gather) {
  list_.read(rules_, options_.threads, [&](const EdgeBatch& batch, int64_t bytes) {
    if (dense_) ids_end_ = std::max(ids_end_, batch.ids_end());
    if (dense_ && may_be_sparse_ && ids_end_ > static_cast<uint64_t>(kMaxGraphNodes)) throw NotDense();
    if (gather) gather_ends(batch, ids_.get(), texts_.get());
    result_.edges_read += static_cast<int64_t>(batch.size());
    result_.comments += batch.comments;
    edges_->add(batch);
    report("bytes", bytes, result_.source_bytes);
  });
}

void GraphBuild::take_shards(bool gather) {
  if (dense_) ids_end_ = std::max(ids_end_, shards_->ids_end());
  if (dense_ && may_be_sparse_ && ids_end_ > static_cast<uint64_t>(kMaxGraphNodes)) throw NotDense();
  if (dense_ && ids_end_ > rules_.limit) {
    list_.read(rules_, 1, [](const EdgeBatch&, int64_t) {});  // This throws an error with the line.
    throw InputError(
        fmt::format("found the ID {}, expected nodes below {}{}; the edges were changed since "
                    "the shards were made: make them again",
                    ids_end_ - 1, rules_.limit, rules_.nodes));
  }
  shards_->add_edges(*edges_);
  if (gather) shards_->add_ends(ids_.get(), texts_.get());
  result_.edges_read = shards_->edges_read();
}

// If the IDs have large gaps, gives a note with the bytes that nodes without edges need, before they are
// written.
void GraphBuild::announce_far_ids() const {
  const bool given = options_.node_count >= 0 || (table_.exists() && !table_.has_ids());
  if (!dense_ || given) return;
  const int64_t nodes = std::max(declared_, static_cast<int64_t>(ids_end_));
  const int64_t named = std::max(2 * result_.edges_read, table_.has_ids() ? table_.rows() : 0);
  if (nodes <= kSparseFactor * named + 1024) return;
  if (declared_ >= 0 && declared_ == list_.nodes()) return require_confirmed(nodes, named);
  options_.note(fmt::format(
      "the greatest ID, {}, makes {} nodes, of which at most {} have an edge or a row: {} of row ends are "
      "written; --ids sparse numbers only the IDs that occur",
      format_count(nodes - 1), format_count(nodes), format_count(named), format_bytes(8 * nodes)));
}

// Does the same for the size of a matrix, and refuses a very large one, because the size may be wrong by many
// digits.
void GraphBuild::require_confirmed(int64_t nodes, int64_t named) const {
  const std::string text = fmt::format(
      "{}: the size of the matrix makes {} nodes, of which at most {} have an edge: {} of row ends",
      list_.nodes_place(), format_count(nodes), format_count(named), format_bytes(8 * nodes));
  if (nodes - named > kMaxUnconfirmedNodes)
    throw InputError(fmt::format(
        "{}; confirm it with --node-count {}, or number only the IDs that occur with --ids sparse", text,
        nodes));
  options_.note(text + " are written; --ids sparse numbers only the IDs that occur");
}

// Gives a note if lines that may be edges were skipped, because text IDs may begin with # or %.
void GraphBuild::announce_comments() const {
  if (!rules_.texts || result_.comments == 0 || options_.edges.comments == Comments::none) return;
  options_.note(fmt::format("{} {} skipped as comments; if IDs begin with # or %, give --comments none",
                            format_count(result_.comments), result_.comments == 1 ? "line is" : "lines are"));
}

void GraphBuild::index_ids() {
  if (dense_) {
    const int64_t nodes = declared_ >= 0 ? declared_ : static_cast<int64_t>(ids_end_);
    index_ = std::make_unique<NodeIndex>(nodes);
  } else if (rules_.texts) {
    index_texts();
  } else {
    ids_->seal();
    int64_t nodes = 0;
    for (ExternalSort::Reader ids = ids_->read(); ids.next();) ++nodes;
    index_ = std::make_unique<NodeIndex>(ids_, false, nodes);
  }
  if (index_->nodes() > kMaxGraphNodes)
    throw InputError(fmt::format("found {} nodes, expected at most {}", index_->nodes(), kMaxGraphNodes));
}

// Numbers the text IDs in byte order and writes them as the table of names.
void GraphBuild::index_texts() {
  auto hashes = scratch_.sort("hashes", GraphScratch::kNodes, sizeof(uint32_t), kUnlimited);
  int64_t nodes = 0;
  texts_->take([&](std::string_view text) {
    const auto node = static_cast<uint32_t>(nodes++);
    hashes->add(hash64(text, rules_.seed), &node);
    writer_.append_node_name(text);
  });
  texts_.reset();
  hashes->seal();
  {
    ExternalSort::Reader reader = hashes->read();
    std::optional<uint64_t> last;
    while (reader.next()) {
      if (last == reader.key()) throw HashCollision();
      last = reader.key();
    }
  }
  index_ = std::make_unique<NodeIndex>(std::move(hashes), true, nodes);
}

// Nodes that are a neighbour of the most edges come first.
void GraphBuild::order_by_degree() {
  NodeOrder order(scratch_, index_->nodes());
  NodeIndex::Reader ids(*index_);
  const auto put = [&](uint64_t degree) {
    constexpr uint64_t kMax = 0xFFFFFFFF;
    order.add(ids.node(), ids.id(), static_cast<uint32_t>(kMax - std::min(degree, kMax)));
  };
  edges_->count_neighbours([&](uint64_t id, uint64_t degree) {
    bool found = false;
    while (!found && ids.next()) {
      found = ids.id() == id;
      if (!found && ids.id() > id) throw UnknownId(id);
      put(found ? degree : 0);
    }
    if (!found) throw UnknownId(id);
  });
  while (ids.next()) put(0);
  order.write_ids(rules_.texts, writer_);
  index_->remove();
  index_ = order.by_id();
  order.by_node().remove();
}

// Orders nodes by the topology. At this point, edges refer to nodes, not to IDs.
void GraphBuild::order_by_edges() {
  const fs::path folder = scratch_.folder / "topology";
  {
    GraphWriter topology(folder, true, scratch_.files);
    edges_->write_topology(index_->nodes(), topology);
    topology.publish({.direction = options_.direction}, Json::object());
  }
  NodeOrder order(scratch_, index_->nodes());
  {
    const Vector<uint32_t, Tag::columns> keys =
        node_keys(options_.order, folder, scratch_.memory / 2, scratch_.tick);
    for (NodeIndex::Reader ids(*index_); ids.next();) order.add(ids.node(), ids.id(), keys[ids.node()]);
  }
  fs::remove_all(folder);
  order.write_ids(rules_.texts, writer_);
  NodeIndex numbers = order.by_node();
  edges_->renumber(numbers);
  numbers.remove();
  index_->remove();
  index_ = order.by_id();
}

// Writes the column node_id if nodes keep the order of their IDs.
void GraphBuild::write_ids() {
  if (dense_ || rules_.texts) return;
  NodeIndex::Reader ids(*index_);
  while (ids.next()) {
    const auto id = static_cast<int64_t>(ids.id());
    writer_.append_node_id(std::span<const int64_t>(&id, 1));
  }
}

void GraphBuild::write_rows() {
  if (options_.nodes.link) writer_.link_x(options_.nodes.feature_array, scratch_.tick);
  if (table_.exists()) {
    if (!table_.has_ids() && !in_order()) {  // Row r belongs to ID r.
      row_of_ = scratch_.sort("row_of", GraphScratch::kNodes, sizeof(uint32_t), table_.rows());
      // There may be exactly as many rows as u32 has values.
      for (int64_t r = 0; r < table_.rows(); ++r) {
        const auto row = static_cast<uint32_t>(r);
        row_of_->add(row, &row);
        scratch_.tick_at(r);
      }
      row_of_->seal();
    }
    if (row_of_)
      write_rows_sorted(table_, *row_of_, *index_, scratch_, writer_);
    else
      write_rows_in_order(table_, scratch_, writer_);
  }
  for (size_t split = 0; split < kGraphSplits.size(); ++split) {
    if (options_.splits[split].empty()) continue;
    if (table_.has_splits()) throw UsageError("give splits as a column of the table or as files, not both");
    rules_.row_is_id = dense_ && !table_.has_ids();
    write_split(split, options_.splits[split], rules_, *index_, scratch_, writer_);
  }
}

GraphIngestResult GraphBuild::run(const Json& provenance) {
  for (const Json& source : provenance.at("sources"))
    result_.source_bytes += source.at("bytes").get<int64_t>();
  if (options_.nodes.link && (!in_order() || StoredAs::parse(options_.features_dtype).type))
    throw UsageError(
        "--link: keeps the rows and type of --features, which need --order none, --features-dtype auto and "
        "IDs "
        "0 .. V-1; leave --link out");
  scan_table();
  if (row_of_) require_single_rows(*row_of_, table_, rules_);
  settle_dense();
  read_edges();
  announce_far_ids();
  announce_comments();
  index_ids();
  try {
    if (options_.order == NodeOrderKind::degree)
      order_by_degree();
    else if (options_.order == NodeOrderKind::none)
      write_ids();
    edges_->relabel(*index_);
  } catch (const UnknownId& unknown) {
    if (!table_.exists())
      throw InputError(fmt::format(
          "found an edge of node {}, expected a node that the shards count; make the shards again",
          unknown.id));
    // An edge has an ID that is not in the node table: the list is read again to find its line.
    rules_.unknown = unknown.id;
    rules_.nodes = fmt::format(" that {} has", table_.path());
    list_.read(rules_, 1, [](const EdgeBatch&, int64_t) {});
    throw InputError(fmt::format(
        "{}: has no row for a node that occurs in the edges, which were changed in the meantime; make them, "
        "or their shards, again",
        table_.path()));
  }
  if (options_.order == NodeOrderKind::frequency || options_.order == NodeOrderKind::partition)
    order_by_edges();
  edges_->write(index_->nodes(), writer_, [&](int64_t done) { report("edges", done, edges_->added()); });
  edges_.reset();
  write_rows();
  index_->remove();

  result_.nodes = writer_.nodes();
  result_.edges = writer_.edges();
  result_.node_features = static_cast<int64_t>(table_.width());
  result_.edge_features = static_cast<int64_t>(list_.feature_names().size());
  result_.classes = table_.classes();
  result_.targets = static_cast<int64_t>(table_.target_width());
  result_.headers = list_.headers();
  writer_.publish({.direction = options_.direction,
                   .classes = table_.classes(),
                   .class_names = table_.class_names(),
                   .node_features = table_.feature_names(),
                   .edge_features = list_.feature_names()},
                  provenance);
  return result_;
}

}  // namespace

GraphIngestResult build_graph(const GraphIngestOptions& options, const EdgeList& edges,
                              const EdgeShards* shards, const Json& provenance, const GraphProgress& progress,
                              FileSystem& files) {
  NodeIds ids = options.ids;
  if (ids == NodeIds::automatic && !edges.has_numbers()) ids = NodeIds::text;
  for (uint64_t seed = 0;; ++seed) {
    try {
      return GraphBuild(options, edges, shards, NodeTable(options.nodes), ids, seed, progress, files)
          .run(provenance);
    } catch (const NotDense&) {
      ids = NodeIds::sparse;
    } catch (const PaddedId& padded) {
      const std::string found = padded.what();
      if (shards != nullptr) throw InputError(found + "; make the shards with --ids text or --ids sparse");
      options.note(found + ": IDs are read as texts; --ids sparse reads numbers");
      ids = NodeIds::text;
    } catch (const HashCollision&) {
      // Tries the next seed. All shards use the first seed.
      if (shards != nullptr)
        throw InputError(
            "two names of nodes have the same hash (one pair in 1.8e19): run ingest graph without --shard");
    }
  }
}

}  // namespace plimsoll
