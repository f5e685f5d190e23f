#include "sample/typed/history_numbers.h"

#include <cmath>
#include <limits>
#include <span>
#include <utility>

namespace plimsoll {
namespace {

constexpr int64_t kDay = int64_t{86400} * 1'000'000'000;
constexpr int64_t kFirstMoment = std::numeric_limits<int64_t>::min();

float log_count(const EdgeRange& edges) {
  return static_cast<float>(std::log1p(static_cast<double>(edges.degree)));
}

// The difference of two times may exceed an int64_t, but always fits into a uint64_t.
float log_days(int64_t earlier, int64_t later) {
  const uint64_t nanoseconds = static_cast<uint64_t>(later) - static_cast<uint64_t>(earlier);
  return static_cast<float>(std::log1p(static_cast<double>(nanoseconds) / static_cast<double>(kDay)));
}

// Returns the first moment of the last `days` days until `end`.
int64_t first_moment(int64_t end, int64_t days) {
  int64_t first = 0;
  return __builtin_sub_overflow(end, days * kDay - 1, &first) ? kFirstMoment : first;
}

}  // namespace

HistoryNumbers::HistoryNumbers(const TypedTopology& topology, size_t target,
                               const std::vector<size_t>& edge_types, std::vector<int64_t> days)
    : topology_(topology), known_(topology), days_(std::move(days)) {
  if (days_.empty()) return;
  for (const size_t type : edge_types) {
    const TypedEdges& edges = topology.edges()[type];
    const bool has_times = edges.has_time == EdgeTime::source || edges.has_time == EdgeTime::own;
    if (edges.target == target && has_times && !known_.may_have_gaps(type)) edge_types_.push_back(type);
  }
}

int64_t HistoryNumbers::numbers() const {
  return std::ssize(edge_types_) * (std::ssize(days_) + 3);
}

void HistoryNumbers::write(int64_t node, int64_t end, float* numbers) const {
  for (const size_t type : edge_types_) numbers = write_type(type, node, end, numbers);
}

float* HistoryNumbers::write_type(size_t edge_type, int64_t node, int64_t end, float* numbers) const {
  EdgeRange list;
  topology_.lists(edge_type).read_lists(std::span(&node, 1), std::span(&list, 1));
  const EdgeRange all = known_.within(edge_type, node, list, {kFirstMoment, end});
  for (const int64_t days : days_)
    *numbers++ = log_count(known_.within(edge_type, node, all, {first_moment(end, days), end}));
  *numbers++ = log_count(all);
  const bool has_edges = all.degree > 0;
  *numbers++ = has_edges ? log_days(time_of(edge_type, all.first + all.degree - 1), end) : 0;
  *numbers++ = has_edges ? log_days(time_of(edge_type, all.first), end) : 0;
  return numbers;
}

int64_t HistoryNumbers::time_of(size_t edge_type, int64_t edge) const {
  const TypedEdges& type = topology_.edges()[edge_type];
  if (type.has_time == EdgeTime::own) return type.time[static_cast<size_t>(edge)];
  int64_t source = 0;
  topology_.lists(edge_type).read_neighbours(std::span(&edge, 1), std::span(&source, 1));
  return topology_.nodes()[type.source].time[static_cast<size_t>(source)];
}

}  // namespace plimsoll
