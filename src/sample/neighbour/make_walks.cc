#include "sample/neighbour/make_walks.h"

#include <algorithm>
#include <deque>
#include <memory>
#include <numeric>
#include <optional>

#include "base/error.h"
#include "base/workers.h"
#include "memory/ledger.h"
#include "sample/topology/disk_topology.h"
#include "store/data_set.h"
#include "store/graph.h"

namespace plimsoll {
namespace {

// Walks that go on together: in memory as many as the caches of a core serve well; on disk more of them read
// a page fewer times.
constexpr int64_t kTogetherInMemory = 1 << 12;
constexpr int64_t kTogetherOnDisk = 1 << 22;
constexpr int64_t kUnlimitedRoom = int64_t{1} << 30;
// Of a walk, in RandomWalks and its search, with room for vectors to grow.
constexpr int64_t kStateBytes = 640;

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

// What the cap leaves.
int64_t room_left() {
  const Ledger& ledger = Ledger::process();
  return ledger.cap() == Ledger::kUnlimited ? kUnlimitedRoom : ledger.cap() - ledger.held();
}

struct Own {
  RandomWalks sampler;
  Walks walks = {};
  Vector<int64_t, Tag::blocks> starts = {};
  Vector<uint32_t, Tag::blocks> narrow = {};
};

void write(const MakeWalksOptions& options, const Topology& topology, int64_t most, bool wide,
           NpyWriter& column, const std::function<void(int64_t, int64_t)>& progress) {
  const int64_t each = options.walks.walks_per_node;
  const int64_t bytes = each * (kStateBytes + (options.walks.length + 1) * 12);
  const int64_t room = room_left() / 4 * 3 / options.threads;
  const int64_t nodes = topology.nodes();
  const int64_t together =
      std::clamp<int64_t>(std::min(room / std::max<int64_t>(bytes, 1), most / std::max<int64_t>(each, 1)), 1,
                          std::max<int64_t>(nodes, 1));
  std::deque<Own> own;
  for (int i = 0; i < options.threads; ++i)
    own.push_back({RandomWalks(topology, options.walks, options.seed)});
  Workers(options.threads).run_ordered((nodes + together - 1) / together, [&](int64_t item, Turn& turn) {
    Own& mine = own[static_cast<size_t>(turn.worker())];
    const int64_t first = item * together;
    mine.starts.resize(static_cast<size_t>(std::min(together, nodes - first)));
    std::iota(mine.starts.begin(), mine.starts.end(), first);
    mine.sampler.walk(mine.starts, 0, mine.walks);
    const Walks& found = mine.walks;
    mine.narrow.resize(wide ? 0 : found.size());
    std::ranges::transform(wide ? std::span<const int64_t>() : std::span<const int64_t>(found),
                           mine.narrow.begin(), [](int64_t node) { return static_cast<uint32_t>(node); });
    turn.wait();
    if (wide)
      column.append(std::span<const int64_t>(found));
    else
      column.append(std::span<const uint32_t>(mine.narrow));
    progress((first + std::ssize(mine.starts)) * each, nodes * each);
  });
}

}  // namespace

MadeWalks make_walks(const MakeWalksOptions& options, const std::function<void(int64_t, int64_t)>& progress,
                     FileSystem& files) {
  const WalkOptions& walks = options.walks;
  const GraphView graph(options.graph);
  MadeWalks made{.walks = graph.nodes() * walks.walks_per_node};
  const Json provenance = make_provenance({graph.set().identity()}, {{"length", walks.length},
                                                                     {"walks_per_node", walks.walks_per_node},
                                                                     {"p", walks.p},
                                                                     {"q", walks.q},
                                                                     {"seed", options.seed}});
  const Existing existing = options.force ? Existing::none : find_existing(options.out, provenance);
  made.already_there = existing == Existing::same;
  if (made.already_there) return made;
  if (existing == Existing::other)
    throw Failure(options.out.string() +
                  " exists already and holds something else; give --force to replace it");

  std::optional<HeldTopology> held;
  std::unique_ptr<Topology> topology;
  made.in_memory = room_left() / 4 * 3 >= HeldTopology::bytes(graph);
  if (made.in_memory) {
    held.emplace(graph);
    topology = std::make_unique<CsrTopology>(held->topology());
  } else {
    auto disk = std::make_unique<DiskTopology>(graph);
    disk->resize(std::clamp(room_left() / 2, disk->least_bytes(), disk->most_bytes()));
    topology = std::move(disk);
  }
  const RandomWalks checked(*topology, walks, options.seed);  // refuses options before anything is written
  if (walks.p != 1 || walks.q != 1) require_ascending_lists(*topology);
  DataSetWriter set(options.out, options.force, files);
  const bool wide = !graph.wide_indices().empty();
  NpyWriter& column = wide ? set.column<int64_t>("walks", {walks.length + 1})
                           : set.column<uint32_t>("walks", {walks.length + 1});
  write(options, *topology, made.in_memory ? kTogetherInMemory : kTogetherOnDisk, wide, column, progress);
  set.publish({{"kind", "walks"}, {"provenance", provenance}});
  return made;
}

}  // namespace plimsoll
