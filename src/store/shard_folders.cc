#include "store/shard_folders.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/error.h"
#include "store/data_set.h"
#include "store/typed_graph.h"

namespace plimsoll {
namespace {

namespace fs = std::filesystem;

ShardFolder open_shard(const fs::path& folder) {
  const Json manifest = read_manifest(folder);
  ShardFolder shard{.folder = folder};
  if (has_node_types(manifest))
    throw InputError(
        folder.string() +
        ": is a graph with node types, which has no shards; give all tables to one `plimsoll ingest "
        "tables`");
  try {
    shard.provenance = manifest.at("provenance");
    (void)shard.provenance.at("sources");  // Is read when shards are merged.
    Json options = shard.provenance.at("options");
    const Json entry = options.at("shard");
    shard.number = whole_number(entry.at("number"));
    shard.shards = whole_number(entry.at("of"));
    options.erase("shard");
    shard.common = {{"kind", manifest.at("kind")},
                    {"tool", shard.provenance.at("tool")},
                    {"options", std::move(options)},
                    {"all", entry.at("all")},
                    {"of", shard.shards}};
  } catch (const Json::exception&) {
    throw InputError(folder.string() +
                     ": is not a shard of a data set; `plimsoll ingest can`, `plimsoll ingest graph` and "
                     "`plimsoll windows` "
                     "make them with --shard");
  } catch (const UsageError& error) {
    throw InputError(fmt::format("{}: manifest.json: shard: {}", folder.string(), error.what()));
  }
  return shard;
}

}  // namespace

std::vector<ShardFolder> open_shards(const std::vector<fs::path>& folders) {
  std::vector<ShardFolder> shards;
  shards.reserve(folders.size());
  for (const fs::path& folder : folders) shards.push_back(open_shard(folder));
  if (shards.empty()) throw UsageError("no shards to merge");
  const ShardFolder& first = shards.front();
  std::map<int64_t, const ShardFolder*> by_number;
  for (const ShardFolder& shard : shards) {
    for (const auto& [key, value] : first.common.items())
      if (shard.common.at(key) != value)
        throw InputError(fmt::format("{} is not a shard of the set of {}: its '{}' is {}, expected {}",
                                     shard.folder.string(), first.folder.string(), key,
                                     shard.common.at(key).dump(), value.dump()));
    const auto [known, fresh] = by_number.emplace(shard.number, &shard);
    if (!fresh)
      throw InputError(fmt::format("{} and {} are both shard {}/{}", known->second->folder.string(),
                                   shard.folder.string(), shard.number, shard.shards));
  }
  for (int64_t number = 1; number <= first.shards; ++number)
    if (!by_number.contains(number))
      throw InputError(fmt::format("shard {}/{} is missing; make it with --shard {}/{}", number, first.shards,
                                   number, first.shards));
  std::ranges::sort(shards, {}, &ShardFolder::number);
  return shards;
}

}  // namespace plimsoll
