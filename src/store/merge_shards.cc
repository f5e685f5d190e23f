#include "store/merge_shards.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "store/column_check.h"
#include "can/frames/frames.h"
#include "store/graph_set.h"
#include "store/output.h"
#include "store/shard_folders.h"

namespace plimsoll {
namespace {

namespace fs = std::filesystem;

// The provenance that a single process gives: of frames each shard has sources of its own, of graphs all have
// the same.
Json merged_provenance(const std::vector<ShardFolder>& shards, bool frames) {
  Json provenance = shards.front().provenance;
  provenance.at("options").erase("shard");
  if (frames)
    for (size_t i = 1; i < shards.size(); ++i)
      for (const Json& source : shards[i].provenance.at("sources"))
        provenance.at("sources").push_back(source);
  return provenance;
}

// Says how far the work is, over all shards.
class Advance {
 public:
  Advance(const MergeRequest& request, int64_t bytes) : request_(request), all_(2 * bytes) {}
  void add(int64_t bytes) { request_.progress(done_ += bytes, all_); }

 private:
  const MergeRequest& request_;
  int64_t all_;
  int64_t done_ = 0;
};

void check(const DataSetView& set, Advance& advance) {
  int64_t before = 0;
  check_columns(set, {.full = true, .progress = [&](int64_t done, int64_t) {
                        advance.add(done - before);
                        before = done;
                      }});
}

int64_t bytes_of(const DataSetView& set) {
  int64_t bytes = 0;
  for (const auto& [name, column] : set.columns()) bytes += static_cast<int64_t>(column.data().size());
  return bytes;
}

int64_t merge_frames(const std::vector<ShardFolder>& shards, const MergeRequest& request, Json provenance,
                     int64_t& bytes) {
  std::vector<FramesView> views;
  for (const ShardFolder& shard : shards) {
    views.emplace_back(shard.folder);
    bytes += bytes_of(views.back().set());
    if (views.back().frames().width != views.front().frames().width)
      throw InputError(shard.folder.string() + ": its frames are of another width than those of " +
                       shards.front().folder.string());
  }
  Advance advance(request, bytes);
  for (const FramesView& view : views) check(view.set(), advance);
  FramesWriter writer(request.out, request.force, views.front().frames().width, request.files);
  int64_t frames = 0;
  for (const FramesView& view : views)
    for (const Recording& recording : view.recordings()) {
      const FrameSpans part = view.frames().part(recording.first_frame, recording.frames);
      writer.append_recording(part, recording);
      frames += part.size();
      advance.add(part.size() * (static_cast<int64_t>(sizeof(int64_t) + sizeof(uint32_t)) + 2 + part.width));
    }
  writer.publish(std::move(provenance));
  return frames;
}

// Errors: InputError that names both where a column of one is wider than of the other, or there is none.
void require_same_widths(const GraphSetView& first, const GraphSetView& more) {
  const auto require = [&](const char* what, int64_t expected, int64_t found) {
    if (found != expected)
      throw InputError(fmt::format("{}: has {} {}, {} has {}; make both shards from the same data",
                                   more.set().folder().string(), found, what, first.set().folder().string(),
                                   expected));
  };
  require("features of nodes (x)", first.node_features(), more.node_features());
  require("features of edges (edge_attr)", first.edge_features(), more.edge_features());
  require("numbers to be predicted of a graph (target)", first.targets().graph, more.targets().graph);
  require("numbers to be predicted of a node (node_target)", first.targets().node, more.targets().node);
}

// Of the same rows in each shard, with the graphs that lie in it.
void add_ranges(std::vector<GraphRange>& sum, const std::vector<GraphRange>& more, const fs::path& folder) {
  const auto same = [](const GraphRange& a, const GraphRange& b) {
    return a.name == b.name && a.split == b.split && a.content == b.content;
  };
  if (!std::ranges::equal(sum, more, same))
    throw InputError(folder.string() + ": its splits or recordings are not those of the other shards");
  int64_t next = 0;
  for (size_t i = 0; i < sum.size(); ++i) {
    sum[i].graphs += more[i].graphs;
    sum[i].first_graph = next;
    next += sum[i].graphs;
  }
}

int64_t merge_graphs(const std::vector<ShardFolder>& shards, const MergeRequest& request, Json provenance,
                     int64_t& bytes) {
  std::vector<GraphSetView> views;
  for (const ShardFolder& shard : shards) {
    views.emplace_back(shard.folder);
    bytes += bytes_of(views.back().set());
  }
  const GraphSetView& first = views.front();
  GraphSetTables tables = first.tables();
  for (size_t i = 1; i < views.size(); ++i) {
    const GraphSetTables& more = views[i].tables();
    if (more.node_features != tables.node_features || more.edge_features != tables.edge_features ||
        more.vocabulary != tables.vocabulary)
      throw InputError(shards[i].folder.string() +
                       ": its features or vocabulary are not those of the other shards");
    require_same_widths(first, views[i]);
    add_ranges(tables.splits, more.splits, shards[i].folder);
    add_ranges(tables.recordings, more.recordings, shards[i].folder);
  }
  Advance advance(request, bytes);
  for (const GraphSetView& view : views) check(view.set(), advance);
  GraphSetWriter writer(request.out, request.force, first.node_features(), first.edge_features(),
                        first.targets(), request.files);
  int64_t graphs = 0;
  for (const GraphSetView& view : views) {
    writer.append(view.graphs());
    graphs += view.graphs().graphs();
    advance.add(bytes_of(view.set()));
  }
  writer.publish(tables, std::move(provenance));
  return graphs;
}

}  // namespace

Merged merge_shards(const MergeRequest& request) {
  const std::vector<ShardFolder> shards = open_shards(request.shards);
  Merged merged{.kind = shards.front().apart.at("kind")};
  const bool frames = merged.kind == "frames";
  if (!frames && merged.kind != "graph_set")
    throw InputError(
        fmt::format("{}: shards of kind '{}' cannot be merged, those of frames and graph_set can",
                    shards.front().folder.string(), merged.kind));
  Json provenance = merged_provenance(shards, frames);
  merged.already_there = is_made_already(request.out, request.force, provenance, request.shards);
  if (merged.already_there) return merged;
  merged.rows = frames ? merge_frames(shards, request, std::move(provenance), merged.bytes)
                       : merge_graphs(shards, request, std::move(provenance), merged.bytes);
  return merged;
}

}  // namespace plimsoll
