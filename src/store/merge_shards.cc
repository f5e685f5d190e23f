#include "store/merge_shards.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/error.h"
#include "store/column_check.h"
#include "store/data_kind.h"
#include "store/output.h"

namespace plimsoll {
namespace {

// Returns the provenance that a single process would write.
Json merged_provenance(const std::vector<ShardFolder>& shards, bool own_sources) {
  Json provenance = shards.front().provenance;
  provenance.at("options").erase("shard");
  if (own_sources)
    for (size_t i = 1; i < shards.size(); ++i)
      for (const Json& source : shards[i].provenance.at("sources"))
        provenance.at("sources").push_back(source);
  return provenance;
}

}  // namespace

Merged merge_shards(const MergeRequest& request) {
  const std::vector<ShardFolder> shards = open_shards(request.shards);
  const std::string name = shards.front().common.at("kind");
  const DataKind* const kind = find_data_kind(name);
  if (kind == nullptr || kind->merge == nullptr)
    throw InputError(fmt::format("{}: shards of kind '{}' cannot be merged, those of {} can",
                                 shards.front().folder.string(), name, fmt::join(mergeable_kinds(), ", ")));
  return kind->merge(request);
}

RowMerge::RowMerge(const MergeRequest& request, bool own_sources)
    : request_(request),
      shards_(open_shards(request.shards)),
      provenance_(merged_provenance(shards_, own_sources)),
      merged_{.kind = shards_.front().common.at("kind")} {
  merged_.already_there = is_made_already(request.out, request.force, provenance_, request.shards);
}

void RowMerge::check(const std::vector<const DataSetView*>& sets) {
  for (const DataSetView* const set : sets) merged_.bytes += column_bytes(*set);
  for (const DataSetView* const set : sets) {
    int64_t before = 0;
    check_columns(*set, {.full = true, .progress = [&](int64_t done, int64_t) {
                           add(done - before);
                           before = done;
                         }});
  }
}

Merged RowMerge::result(int64_t rows) {
  merged_.rows = rows;
  return merged_;
}

int64_t column_bytes(const DataSetView& set) {
  int64_t bytes = 0;
  for (const auto& [name, column] : set.columns()) bytes += static_cast<int64_t>(column.data().size());
  return bytes;
}

}  // namespace plimsoll
