#include "ingest/graph/edge_shard.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/hash.h"
#include "base/json_text.h"
#include "ingest/graph/graph_options.h"
#include "ingest/text/source_hashes.h"
#include "store/column_check.h"
#include "store/data_kind.h"
#include "store/output.h"

namespace plimsoll {
namespace fs = std::filesystem;
namespace {

const DataKindRegistration kEdgeShardKind({.name = kEdgeShard, .merge = merge_graph});

// Returns the identity of the input of all shards, from the names and sizes of all files.
std::string identity_of(const std::vector<fs::path>& files) {
  Hasher all;
  for (const fs::path& path : files) {
    if (!fs::is_regular_file(path))
      throw InputError(path.string() + ": is not a regular file; --shard needs its size");
    const std::string text = json_text(Json{path.filename().string(), fs::file_size(path)});
    all.add(text.data(), text.size());
  }
  return all.hex64();
}

bool has_texts(const GraphIngestOptions& options, const EdgeList& list) {
  return options.ids == NodeIds::text || (options.ids == NodeIds::automatic && !list.has_numbers());
}

// Returns rules that reject IDs that are already known not to be nodes. The IDs of a node table are checked
// when the table is read.
IdRules rules_of(const GraphIngestOptions& options, const EdgeList& list, const NodeTable& table) {
  constexpr uint64_t kMaxNodes = uint64_t{1} << 32;
  IdRules rules{.texts = has_texts(options, list), .refuse_padded = options.ids == NodeIds::automatic};
  if (rules.texts || options.ids == NodeIds::sparse) return rules;
  if (options.node_count >= 0) {
    rules.limit = static_cast<uint64_t>(options.node_count);
    rules.nodes = ", as --node-count says";
  } else if (!table.has_ids() && list.nodes() >= 0) {
    rules.limit = static_cast<uint64_t>(list.nodes());
    rules.nodes = ", as the size of the matrix says";
  } else if (!table.has_ids() && table.rows() >= 0) {
    rules.limit = static_cast<uint64_t>(table.rows());
    rules.nodes = ", as " + table.path() + " has them";
  } else if (options.ids == NodeIds::dense) {
    rules.limit = kMaxNodes;
  }
  return rules;
}

void write_run(DataSetWriter& set, const char* name, const auto& sort) {
  NpyWriter& column = set.column<uint8_t>(name);
  sort.write_run([&](std::span<const std::byte> piece) { column.append(piece); });
}

void write_texts(DataSetWriter& set, UniqueTexts& texts) {
  NpyWriter& names = set.column<uint8_t>("name");
  NpyWriter& ends = set.column<int64_t>("name_ptr");
  int64_t end = 0;
  ends.append(std::span<const int64_t>(&end, 1));
  texts.take([&](std::string_view text) {
    names.append(std::span(text.data(), text.size()));
    end += static_cast<int64_t>(text.size());
    ends.append(std::span<const int64_t>(&end, 1));
  });
}

// Returns all input files of a graph, which are the same for all of its shards.
std::vector<fs::path> input_files(const GraphIngestOptions& options, const EdgeList& list,
                                  const NodeTable& table) {
  std::vector<fs::path> files = list.edge_files();
  for (const auto& more : {list.value_files(), table.files()})
    files.insert(files.end(), more.begin(), more.end());
  for (const fs::path& path : options.splits)
    if (!path.empty()) files.push_back(array_place(path).file);
  return files;
}

// Writes the sorted edges and IDs of a shard, and frees them. `ids` and `texts` may be null.
void write_columns(DataSetWriter& set, GraphEdges& edges, std::unique_ptr<ExternalSort> ids,
                   std::unique_ptr<UniqueTexts> texts) {
  edges.seal();
  write_run(set, "edges", edges);
  edges.remove();
  if (ids) {
    ids->seal();
    write_run(set, "ids", *ids);
    ids.reset();
  }
  if (texts) write_texts(set, *texts);
}

}  // namespace

bool sorts_once(const GraphIngestOptions& options) {
  return options.ids == NodeIds::dense && options.order == NodeOrderKind::none;
}

GraphIngestResult make_edge_shard(const GraphIngestOptions& options, const GraphProgress& progress,
                                  FileSystem& files) {
  EdgeList list(options.edges);
  const NodeTable table(options.nodes);
  const std::vector<fs::path> all = input_files(options, list, table);
  Json described = graph_options_json(options);
  described["shard"] = options.shard.to_json(identity_of(all));
  list.keep(options.shard.items(list.part_sizes()));
  std::vector<fs::path> sources = list.edge_files();
  for (const fs::path& path : list.value_files()) sources.push_back(path);
  Json provenance =
      make_provenance(source_hashes(sources, [&] { progress("hashes", 0, 0); }).take(), std::move(described));

  GraphIngestResult result{.ids = has_texts(options, list) ? NodeIds::text : options.ids,
                           .edge_features = static_cast<int64_t>(list.feature_names().size())};
  for (const Json& source : provenance.at("sources"))
    result.source_bytes += source.at("bytes").get<int64_t>();
  if (is_made_already(options.out, options.force, provenance, all)) {
    const Json counts = read_manifest(options.out).at("edges");
    result.already_there = true;
    result.edges = whole_number(counts.at("stored"));
    result.edges_read = whole_number(counts.at("read"));
    return result;
  }

  const IdRules rules = rules_of(options, list, table);
  DataSetWriter set(options.out, options.force, files);
  const GraphScratch scratch{set.path(), files, memory_for_sorts(options.threads)};
  const bool once = sorts_once(options);
  const bool gather = !once && !table.has_ids();  // Whether the ends define the nodes.
  GraphEdges edges(scratch, edge_rules(options, list), once, list.max_edges());
  std::unique_ptr<ExternalSort> ids;
  std::unique_ptr<UniqueTexts> texts;
  if (gather && rules.texts)
    texts = std::make_unique<UniqueTexts>(scratch.folder, "texts", scratch.memory / 5, files);
  else if (gather)
    ids = scratch.unique_sort("ids", GraphScratch::kIds, list.max_edges() * 2);
  uint64_t ids_end = 0;
  const auto take = [&](const EdgeBatch& batch, int64_t bytes) {
    if (!rules.texts) ids_end = std::max(ids_end, batch.ids_end());
    gather_ends(batch, ids.get(), texts.get());
    result.edges_read += static_cast<int64_t>(batch.size());
    result.comments += batch.comments;
    edges.add(batch);
    progress("bytes", bytes, result.source_bytes);
  };
  try {
    list.read(rules, options.threads, take);
  } catch (const PaddedId& padded) {
    throw InputError(std::string(padded.what()) + "; give all shards --ids text or --ids sparse");
  }
  result.headers = list.headers();
  write_columns(set, edges, std::move(ids), std::move(texts));
  result.edges = edges.added();
  set.publish({{"kind", kEdgeShard},
               {"edges", {{"read", result.edges_read}, {"stored", result.edges}, {"ids_end", ids_end}}},
               {"inputs", graph_inputs_json(options)},
               {"provenance", std::move(provenance)}});
  return result;
}

EdgeShards::EdgeShards(const std::vector<ShardFolder>& shards) {
  for (const ShardFolder& shard : shards) {
    const DataSetView& set = sets_.emplace_back(shard.folder, kEdgeShard);
    try {
      const Json& counts = set.manifest().at("edges");
      stored_.push_back(whole_number(counts.at("stored")));
      edges_read_ += whole_number(counts.at("read"));
      ids_end_ = std::max(ids_end_, counts.at("ids_end").get<uint64_t>());
      if (sets_.size() == 1) options_ = read_graph_inputs(set.manifest().at("inputs"));
    } catch (const Json::exception& error) {
      throw InputError(shard.folder.string() + ": manifest.json: " + error.what() + "; make the shard again");
    } catch (const UsageError& error) {
      throw InputError(shard.folder.string() + ": manifest.json: " + error.what() + "; make the shard again");
    }
    for (const auto& [name, column] : set.columns()) bytes_ += static_cast<int64_t>(column.data().size());
  }
}

void EdgeShards::check(const std::function<void(int64_t)>& progress) const {
  int64_t before = 0;
  for (const DataSetView& set : sets_) {
    int64_t in_set = 0;
    check_columns(
        set, {.full = true, .progress = [&](int64_t done, int64_t) { progress(before + (in_set = done)); }});
    before += in_set;
  }
}

void EdgeShards::add_edges(GraphEdges& edges) const {
  for (size_t i = 0; i < sets_.size(); ++i) {
    sets_[i].column<uint8_t>("edges");  // This throws if it is not a shard.
    const NpyView& column = sets_[i].columns().at("edges");
    edges.take_run(column.file().path(), column.offset(), stored_[i]);
  }
}

void EdgeShards::add_ends(ExternalSort* ids, UniqueTexts* texts) const {
  for (const DataSetView& set : sets_) {
    if (ids != nullptr) {
      set.column<uint8_t>("ids");
      const NpyView& column = set.columns().at("ids");
      ids->take_run(column.file().path(), column.offset());
    }
    if (texts == nullptr) continue;
    const auto names = set.column<uint8_t>("name");
    const auto ends = set.column<int64_t>("name_ptr");
    for (size_t i = 1; i < ends.size(); ++i) {
      if (ends[i - 1] < 0 || ends[i] < ends[i - 1] || ends[i] > static_cast<int64_t>(names.size()))
        throw InputError(set.folder().string() + ": column 'name_ptr' does not ascend; make the shard again");
      const auto name =
          names.subspan(static_cast<size_t>(ends[i - 1]), static_cast<size_t>(ends[i] - ends[i - 1]));
      texts->add({reinterpret_cast<const char*>(name.data()), name.size()});
    }
  }
}

}  // namespace plimsoll
