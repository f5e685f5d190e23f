#include "sample/neighbour/make_walks.h"

#include <algorithm>
#include <deque>
#include <memory>
#include <numeric>
#include <optional>

#include "base/error.h"
#include "base/workers.h"
#include "memory/ledger.h"
#include "sample/neighbour/walk_rounds.h"
#include "sample/topology/disk_topology.h"
#include "sample/topology/list_search.h"
#include "store/data_set.h"
#include "store/graph.h"
#include "store/output.h"

namespace plimsoll {
namespace {

// Number of walks that advance together in memory. The value suits the caches of a core.
constexpr int64_t kTogetherInMemory = 1 << 12;
constexpr int64_t kUnlimitedRoom = int64_t{1} << 30;

// A topology copied from the columns of a graph.
class HeldTopology {
 public:
  explicit HeldTopology(const GraphView& graph)
      : indptr_(graph.indptr().begin(), graph.indptr().end()),
        indices_(graph.indices().begin(), graph.indices().end()),
        wide_(graph.wide_indices().begin(), graph.wide_indices().end()) {}
  CsrTopology topology() const {
    if (!wide_.empty()) return {indptr_, std::span<const int64_t>(wide_)};
    return {indptr_, std::span<const uint32_t>(indices_)};
  }
  static int64_t bytes(const GraphView& graph) {
    return static_cast<int64_t>(graph.indptr().size_bytes() + graph.indices().size_bytes() +
                                graph.wide_indices().size_bytes());
  }

 private:
  Vector<int64_t, Tag::cache> indptr_;
  Vector<uint32_t, Tag::cache> indices_;
  Vector<int64_t, Tag::cache> wide_;
};

// Returns the bytes that are still free below the cap.
int64_t room_left() {
  const Ledger& ledger = Ledger::process();
  return ledger.cap() == Ledger::kUnlimited ? kUnlimitedRoom : ledger.cap() - ledger.held();
}

template <typename T>
struct Own {
  RandomWalks<T> sampler;
  Walks<T> walks = {};
  Vector<int64_t, Tag::blocks> starts = {};
};

// Writes walks in order on all threads, several complete walks at a time.
template <typename T>
void write_whole(const MakeWalksOptions& options, const Topology& topology, NpyWriter& column,
                 const WalksDone& progress) {
  const WalkOptions& walk_options = options.walks;
  const int64_t each = walk_options.walks_per_node;
  const int64_t bytes = 2 * (RandomWalks<T>::bytes_for(1, walk_options) +
                             each * (walk_options.length + 1) * static_cast<int64_t>(sizeof(T)));
  const int64_t room = room_left() / 4 * 3 / options.threads;
  const int64_t nodes = topology.nodes();
  const int64_t together = std::clamp<int64_t>(
      std::min(room / bytes, kTogetherInMemory / std::max<int64_t>(each, 1)), 1, std::max<int64_t>(nodes, 1));
  std::deque<Own<T>> own;
  for (int i = 0; i < options.threads; ++i)
    own.push_back({RandomWalks<T>(topology, walk_options, options.seed)});
  Workers(options.threads).run_ordered((nodes + together - 1) / together, [&](int64_t item, Turn& turn) {
    Own<T>& mine = own[static_cast<size_t>(turn.worker())];
    const int64_t first = item * together;
    mine.starts.resize(static_cast<size_t>(std::min(together, nodes - first)));
    std::iota(mine.starts.begin(), mine.starts.end(), first);
    mine.sampler.walk(mine.starts, 0, mine.walks);
    turn.wait();
    column.append(std::span<const T>(mine.walks));
    progress((first + std::ssize(mine.starts)) * each, nodes * each);
  });
}

template <typename T>
void write(const MakeWalksOptions& options, const Topology& held, DiskTopology* disk, DataSetWriter& set,
           const WalksDone& progress) {
  NpyWriter& column = set.column<T>("walks", {options.walks.length + 1});
  if (disk != nullptr &&
      write_in_rounds<T>(options, *disk, room_left() / 8 * 7, set.path(), column, progress))
    return;
  if (disk != nullptr) disk->resize(std::clamp(room_left() / 2, disk->min_bytes(), disk->max_bytes()));
  write_whole<T>(options, held, column, progress);
}

}  // namespace

MadeWalks make_walks(const MakeWalksOptions& options, const WalksDone& progress, FileSystem& files) {
  const WalkOptions& walks = options.walks;
  const GraphView graph(options.graph);
  MadeWalks made{.walks = graph.nodes() * walks.walks_per_node};
  const Json provenance = make_provenance({graph.set().identity()}, {{"length", walks.length},
                                                                     {"walks_per_node", walks.walks_per_node},
                                                                     {"p", walks.p},
                                                                     {"q", walks.q},
                                                                     {"seed", options.seed}});
  made.already_there = is_made_already(options.out, options.force, provenance, {options.graph});
  if (made.already_there) return made;

  std::optional<HeldTopology> held;
  std::unique_ptr<Topology> topology;
  DiskTopology* disk = nullptr;
  made.in_memory = room_left() / 4 * 3 >= HeldTopology::bytes(graph);
  if (made.in_memory) {
    held.emplace(graph);
    topology = std::make_unique<CsrTopology>(held->topology());
  } else {
    auto on_disk = std::make_unique<DiskTopology>(graph);
    disk = on_disk.get();
    topology = std::move(on_disk);
  }
  const RandomWalks<int64_t> checked(*topology, walks,
                                     options.seed);  // Rejects bad options before anything is written.
  if (!walks.is_uniform()) require_ascending_lists(*topology);
  DataSetWriter set(options.out, options.force, files);
  if (graph.wide_indices().empty())
    write<uint32_t>(options, *topology, disk, set, progress);
  else
    write<int64_t>(options, *topology, disk, set, progress);
  set.publish({{"kind", "walks"}, {"provenance", provenance}});
  return made;
}

}  // namespace plimsoll
