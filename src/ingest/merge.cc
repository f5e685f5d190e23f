#include "ingest/merge.h"

#include "ingest/graph/edge_shard.h"
#include "ingest/graph/graph.h"

namespace plimsoll {

Merged merge_any(const MergeRequest& request) {
  const bool edges = !request.shards.empty() && kind_of(request.shards.front()) == kEdgeShard;
  return edges ? merge_graph(request) : merge_shards(request);
}

}  // namespace plimsoll
