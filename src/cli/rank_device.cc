#include "cli/rank_device.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "base/json.h"
#include "base/json_text.h"
#include "io/file.h"

namespace plimsoll {
namespace {

// Processes in containers on one machine share its GPUs and this text, but not a host name.
std::string machine() {
  const std::filesystem::path boot = "/proc/sys/kernel/random/boot_id";
  return std::filesystem::exists(boot) ? read_text(boot) : std::string();
}

// The ranks of this machine, and how many of them precede this one.
struct LocalRank {
  int rank = 0;
  int ranks = 0;
};

LocalRank local_rank(Exchange& exchange) {
  const std::vector<std::string> machines = gather_texts(exchange, machine());
  const auto own = machines.begin() + exchange.rank();
  return {static_cast<int>(std::count(machines.begin(), own, *own)),
          static_cast<int>(std::ranges::count(machines, *own))};
}

}  // namespace

int index_of_rank(const DeviceChoice& choice, int visible, Exchange* exchange) {
  if (exchange == nullptr) return choice.index;
  const LocalRank local = local_rank(*exchange);
  if (choice.is_indexed || visible <= 1) return choice.index;
  if (local.rank < visible) return local.rank;
  throw NoDevice(
      fmt::format("{} ranks on this machine, which shows them {} GPUs: each rank needs a GPU of its own; "
                  "give --ranks {}, "
                  "or request more GPUs (plimsoll slurm --device cuda --ranks {})",
                  local.ranks, visible, visible, local.ranks));
}

void require_own_devices(const RankDevice& mine, Exchange* exchange) {
  if (exchange == nullptr) return;
  const Json facts = {{"machine", machine()}, {"name", mine.name}, {"model", mine.model}, {"id", mine.id}};
  std::vector<Json> all;
  for (const std::string& text : gather_texts(*exchange, json_text(facts))) all.push_back(parse_json(text));
  const auto text_of = [&](size_t rank, const char* key) { return all[rank].at(key).get<std::string>(); };
  for (size_t rank = 1; rank < all.size(); ++rank) {
    if (text_of(rank, "model") != text_of(0, "model"))
      throw UsageError(fmt::format(
          "the ranks differ in --device: rank 0 has {}, rank {} has {}, and models of GPU round differently; "
          "request GPUs of one model (--gres or --constraint of sbatch)",
          text_of(0, "model"), rank, text_of(rank, "model")));
    for (size_t other = 0; other < rank; ++other)
      if (!text_of(rank, "id").empty() && text_of(rank, "id") == text_of(other, "id") &&
          text_of(rank, "machine") == text_of(other, "machine"))
        throw NoDevice(fmt::format(
            "ranks {} and {} have the same GPU ({}): each rank needs a GPU of its own; write --device cuda "
            "without a number, give fewer --ranks, or request more GPUs (srun --gpus-per-task=1)",
            other, rank, text_of(other, "name")));
  }
}

}  // namespace plimsoll
