#include "sample/neighbour/walk_rounds.h"

#include <algorithm>
#include <bit>
#include <numeric>

#include "sample/neighbour/walk_file.h"

namespace plimsoll {
namespace {

// Returns the number of starts in a round: as many as fit, balanced over the rounds. 0 if not even one fits.
template <typename T>
int64_t starts_of_round(int64_t nodes, const WalkOptions& walks, int64_t room) {
  const auto fits = [&](int64_t starts) {
    return starts * walks.walks_per_node <= UINT32_MAX && RandomWalks<T>::bytes_for(starts, walks) <= room;
  };
  if (!fits(1)) return 0;
  int64_t max = 1;
  for (int64_t more = std::bit_floor(static_cast<uint64_t>(std::max<int64_t>(nodes, 1))); more > 0; more /= 2)
    if (max + more <= nodes && fits(max + more)) max += more;
  const int64_t rounds = (nodes + max - 1) / max;
  return (nodes + rounds - 1) / std::max<int64_t>(rounds, 1);
}

}  // namespace

template <typename T>
bool write_in_rounds(const MakeWalksOptions& options, DiskTopology& topology, int64_t room,
                     const std::filesystem::path& folder, NpyWriter& column, const WalksDone& progress) {
  const WalkOptions& walk_options = options.walks;
  const int64_t nodes = topology.nodes();
  const int64_t each = walk_options.walks_per_node;
  const int64_t places = walk_options.length + 1;
  constexpr int64_t kMin = WalkFile<T>::kMinTogether;
  const int64_t together = room / WalkFile<T>::bytes_for(kMin, places) * kMin;
  const int64_t starts = starts_of_round<T>(nodes, walk_options, room);
  if (together == 0 || starts == 0) return false;
  auto file = WalkFile<T>::make(folder, starts * each, places);
  if (!file) return false;
  const int64_t spare = room - RandomWalks<T>::bytes_for(starts, walk_options);
  for (int64_t first = 0; first < nodes; first += starts) {
    const int64_t walks = std::min(starts, nodes - first) * each;
    topology.resize(std::min(topology.min_bytes() + spare, topology.max_bytes()));
    {
      RandomWalks<T> sampler(topology, walk_options, options.seed, RandomWalks<T>::Reading::disk);
      Vector<int64_t, Tag::blocks> from(static_cast<size_t>(walks / std::max<int64_t>(each, 1)));
      std::iota(from.begin(), from.end(), first);
      sampler.begin(from, 0);
      Vector<int64_t, Tag::blocks>().swap(from);
      file->begin(walks);
      file->add(sampler.at());
      for (int64_t step = 1; step < places; ++step) {
        sampler.step();
        file->add(sampler.at());
        progress(first * each + walks / places * step, nodes * each);
      }
    }
    topology.resize(topology.min_bytes());
    file->read(std::min(together, (walks + kMin - 1) / kMin * kMin),
               [&](std::span<const T> some) { column.append(some); });
    progress(first * each + walks, nodes * each);
  }
  return true;
}

template bool write_in_rounds<uint32_t>(const MakeWalksOptions&, DiskTopology&, int64_t,
                                        const std::filesystem::path&, NpyWriter&, const WalksDone&);
template bool write_in_rounds<int64_t>(const MakeWalksOptions&, DiskTopology&, int64_t,
                                       const std::filesystem::path&, NpyWriter&, const WalksDone&);

}  // namespace plimsoll
