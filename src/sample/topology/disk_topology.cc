#include "sample/topology/disk_topology.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>
#include <string>

#include "base/error.h"
#include "base/interrupt.h"
#include "memory/vector.h"
#include "sample/topology/damaged_topology.h"
#include "sample/topology/list_search.h"
#include "store/graph.h"

namespace plimsoll {
namespace {

std::unique_ptr<PageCache> open_column(const GraphView& graph, const std::string& name,
                                       const PageCache::Options& options) {
  const NpyView& column = graph.set().columns().at(name);
  return std::make_unique<PageCache>(column.file().path(),
                                     NumberLayout{column.offset(), npy_item_bytes(column.shape().dtype),
                                                  column.shape().elements(), column.file().identity()},
                                     options);
}

}  // namespace

DiskTopology::DiskTopology(const std::filesystem::path& folder, int64_t bytes,
                           const PageCache::Options& options)
    : DiskTopology(GraphView(folder), options) {
  resize(bytes);
}

DiskTopology::DiskTopology(const GraphView& graph, const PageCache::Options& options,
                           const EdgeColumns& values)
    : nodes_(graph.nodes()),
      edges_(graph.edges()),
      wide_(!graph.wide_indices().empty()),
      values_(values),
      feature_width_(values.features ? graph.edge_features() : 0),
      lists_(open_column(graph, "indptr", options)),
      neighbours_(open_column(graph, "indices", options)) {
  const bool weighted = graph.set().has_column("edge_weight");
  if (values.weight && !weighted)
    throw InputError(fmt::format(
        "{}: edges have no weights (column edge_weight); run `plimsoll ingest graph` with --weight, or set "
        "gnn.edge_weight: false",
        graph.set().folder().string()));
  if (weighted) weights_ = open_column(graph, "edge_weight", options);
  if (feature_width_ > 0) features_ = open_column(graph, "edge_attr", options);
  resize(min_bytes());
}

int64_t DiskTopology::min_bytes() const {
  int64_t bytes = 0;
  for (const PageCache* const column : columns()) bytes += column != nullptr ? column->min_bytes() : 0;
  return bytes;
}

int64_t DiskTopology::max_bytes() const {
  int64_t bytes = 0;
  for (const PageCache* const column : columns()) bytes += column != nullptr ? column->max_bytes() : 0;
  return bytes;
}

void DiskTopology::resize(int64_t bytes) {
  int64_t spare = bytes - min_bytes();
  if (spare < 0)
    throw UsageError(fmt::format("a topology on disk: found a budget of {} bytes, expected {} or more", bytes,
                                 min_bytes()));
  const auto give = [&](PageCache& column, int64_t max) {
    const int64_t given = std::min(max, column.max_bytes() - column.min_bytes());
    column.resize(column.min_bytes() + given);
    spare -= given;
  };
  for (PageCache* const column : columns())
    if (column != nullptr)
      column->resize(column->min_bytes());  // Shrinks the column before other columns
                                            // grow.
  // A page of lists saves twice as many reads as a page of another column, because each neighbour is read via
  // its list.
  give(*lists_, spare / 2);
  give(*neighbours_, weights_ ? spare / 2 : spare);
  if (weights_) give(*weights_, spare);
  if (features_) give(*features_, spare);
}

// Returns the pages of each column that hold the lists of the nodes first .. end-1.
std::array<DiskTopology::PageRange, 4> DiskTopology::pages_of(int64_t first, int64_t end,
                                                              bool weights) const {
  const std::array<int64_t, 2> ends = {first, end - 1};
  std::array<EdgeRange, 2> lists;
  read_lists(ends, lists);
  const int64_t begin = lists[0].first;
  const int64_t last = lists[1].first + lists[1].degree;
  const auto pages = [](const std::unique_ptr<PageCache>& column, int64_t from, int64_t to) -> PageRange {
    if (!column || from == to) return {0, 0};
    const int64_t page = from / column->numbers_per_page();
    return {page, (to - 1) / column->numbers_per_page() + 1 - page};
  };
  return {pages(lists_, first, end + 1), pages(neighbours_, begin, last),
          weights ? pages(weights_, begin, last) : PageRange{0, 0},
          pages(features_, begin * feature_width_, last * feature_width_)};
}

int64_t DiskTopology::bytes_for(const std::array<PageRange, 4>& pages) const {
  int64_t bytes = 0;
  for (size_t i = 0; i < pages.size(); ++i)
    if (const PageCache* const column = columns()[i])
      bytes += std::max(column->min_bytes(), column->bytes_for(pages[i].second));
  return bytes;
}

std::vector<int64_t> DiskTopology::ranges(int64_t bytes, bool weights, int64_t max) const {
  std::vector<int64_t> firsts = {0};
  while (firsts.back() < nodes_ && std::ssize(firsts) <= max + 1) {
    throw_if_interrupted("the lists of a graph were divided into ranges");
    int64_t fits = firsts.back() + 1;
    for (int64_t too_far = nodes_ + 1; too_far - fits > 1;) {
      const int64_t middle = fits + (too_far - fits) / 2;
      (bytes_for(pages_of(firsts.back(), middle, weights)) <= bytes ? fits : too_far) = middle;
    }
    firsts.push_back(fits);
  }
  return firsts;
}

void DiskTopology::hold(int64_t first, int64_t end, int64_t bytes, bool weights) {
  const auto pages = pages_of(first, end, weights);
  if (bytes_for(pages) > bytes) return resize(bytes);
  resize(min_bytes());
  for (size_t i = 0; i < pages.size(); ++i) {
    PageCache* const column = columns()[i];
    if (column == nullptr || pages[i].second == 0) continue;
    column->resize(std::max(column->min_bytes(), column->bytes_for(pages[i].second)));
    column->hold(pages[i].first, pages[i].second);
  }
}

void DiskTopology::read_lists(std::span<const int64_t> nodes, std::span<EdgeRange> lists) const {
  require_nodes(nodes, nodes_);
  const int64_t within = lists_->numbers_per_page() - 1;
  const auto ends_on_next_page = [=](int64_t node) { return (node & within) == within; };
  lists_->read<int64_t>(nodes, [&](size_t i, const int64_t* begin) {
    lists[i].first = begin[0];
    if (!ends_on_next_page(nodes[i])) lists[i].degree = begin[1] - begin[0];
  });
  std::array<size_t, 64> open;
  std::array<int64_t, open.size()> places;
  size_t count = 0;
  for (size_t i = 0; i <= nodes.size(); ++i) {
    if (i < nodes.size() && ends_on_next_page(nodes[i])) {
      open[count] = i;
      places[count++] = nodes[i] + 1;
    }
    if (count == open.size() || i == nodes.size()) {
      lists_->read<int64_t>(std::span(places).first(count), [&](size_t j, const int64_t* end) {
        lists[open[j]].degree = *end - lists[open[j]].first;
      });
      count = 0;
    }
  }
  for (size_t i = 0; i < nodes.size(); ++i) require_list(lists[i], nodes[i], edges_);
}

void DiskTopology::read_neighbours(std::span<const int64_t> edges, std::span<int64_t> neighbours) const {
  const auto keep = [&](size_t i, const auto* neighbour) {
    neighbours[i] = static_cast<int64_t>(*neighbour);
  };
  if (wide_)
    neighbours_->read<int64_t>(edges, keep);
  else
    neighbours_->read<uint32_t>(edges, keep);
  require_neighbours(neighbours.first(edges.size()), edges, nodes_);
}

void DiskTopology::find(std::span<const EdgeRange> lists, std::span<const int64_t> nodes,
                        std::span<uint8_t> found) const {
  if (wide_)
    find_in<int64_t>(lists, nodes, found);
  else
    find_in<uint32_t>(lists, nodes, found);
}

// The part of a list on the current page is searched in place. Lists of more than a few pages are searched
// number by number, all at the same time.
template <typename T>
void DiskTopology::find_in(std::span<const EdgeRange> lists, std::span<const int64_t> nodes,
                           std::span<uint8_t> found) const {
  constexpr int64_t kMaxPages = 4;
  struct PagePart {
    size_t list;
    int64_t count;
  };
  const int64_t per_page = neighbours_->numbers_per_page();
  const auto is_long = [&](const EdgeRange& list) { return list.degree > kMaxPages * per_page; };
  const auto long_count = static_cast<size_t>(std::ranges::count_if(lists, is_long));
  const size_t max_parts = lists.size() - long_count + kMaxPages;
  Vector<int64_t, Tag::blocks> places;
  Vector<PagePart, Tag::blocks> parts;
  Vector<EdgeRange, Tag::blocks> long_lists;
  Vector<int64_t, Tag::blocks> in_long;
  places.reserve(max_parts);
  parts.reserve(max_parts);
  long_lists.reserve(long_count);
  in_long.reserve(long_count);
  const auto search = [&] {
    neighbours_->read<T>(places, [&](size_t p, const T* first) {
      const PagePart& part = parts[p];
      if (std::binary_search(first, first + part.count, static_cast<T>(nodes[part.list])))
        found[part.list] = 1;
    });
    places.clear();
    parts.clear();
  };
  std::fill_n(found.begin(), lists.size(), uint8_t{0});
  for (size_t i = 0; i < lists.size(); ++i) {
    if (is_long(lists[i])) {
      long_lists.push_back(lists[i]);
      in_long.push_back(nodes[i]);
      continue;
    }
    const int64_t end = lists[i].first + lists[i].degree;
    for (int64_t place = lists[i].first; place < end; place += parts.back().count) {
      if (places.size() == max_parts) search();
      places.push_back(place);
      parts.push_back({i, std::min(end, (place / per_page + 1) * per_page) - place});
    }
  }
  search();
  if (long_lists.empty()) return;
  Vector<int64_t, Tag::blocks> unused(long_lists.size());
  Vector<uint8_t, Tag::blocks> found_in_long(long_lists.size());
  ListSearch(*this).find(long_lists, in_long, unused, found_in_long);
  for (size_t i = 0, next = 0; i < lists.size(); ++i)
    if (is_long(lists[i])) found[i] = found_in_long[next++];
}

void DiskTopology::read_weights(std::span<const int64_t> edges, std::span<float> weights) const {
  weights_->read<float>(edges, [&](size_t i, const float* weight) { weights[i] = *weight; });
}

void DiskTopology::read_edge_values(std::span<const int64_t> edges, std::span<float> values) const {
  const auto width = static_cast<size_t>(edge_width());
  if (values_.weight)
    weights_->read<float>(edges, [&](size_t i, const float* weight) { values[i * width] = *weight; });
  if (features_) read_features(edges, values.subspan(values_.weight ? 1 : 0));
}

// Reads the part of an edge's row that is on one page at once.
void DiskTopology::read_features(std::span<const int64_t> edges, std::span<float> values) const {
  constexpr size_t kTogether = 4096;
  struct PagePart {
    float* to;
    int64_t count;
  };
  Vector<int64_t, Tag::blocks> places;
  Vector<PagePart, Tag::blocks> parts;
  places.reserve(std::min(kTogether, 2 * edges.size()));
  parts.reserve(places.capacity());
  const auto read = [&] {
    features_->read<float>(
        places, [&](size_t i, const float* numbers) { std::copy_n(numbers, parts[i].count, parts[i].to); });
    places.clear();
    parts.clear();
  };
  const int64_t per_page = features_->numbers_per_page();
  for (size_t i = 0; i < edges.size(); ++i) {
    float* out = values.data() + i * static_cast<size_t>(edge_width());
    const int64_t end = (edges[i] + 1) * feature_width_;
    for (int64_t place = edges[i] * feature_width_; place < end;) {
      const int64_t count = std::min(end, (place / per_page + 1) * per_page) - place;
      places.push_back(place);
      parts.push_back({out, count});
      place += count;
      out += count;
      if (places.size() == kTogether) read();
    }
  }
  read();
}

TopologyCounters DiskTopology::counters() const {
  const auto counters_of = [](const auto& column) { return column ? column->counters() : PageCounters{}; };
  return {counters_of(lists_), counters_of(neighbours_), counters_of(weights_), counters_of(features_)};
}

}  // namespace plimsoll
