#include "rows/node_numbers.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "base/error.h"

namespace plimsoll {
namespace {

void write_numbers(int descriptor, int64_t nodes) {
  std::array<uint32_t, 1024> numbers;
  for (int64_t first = 0; first < nodes;) {
    const int64_t count = std::min<int64_t>(nodes - first, std::ssize(numbers));
    for (int64_t i = 0; i < count; ++i) numbers[static_cast<size_t>(i)] = static_cast<uint32_t>(first + i);
    const auto bytes = static_cast<size_t>(count) * sizeof(uint32_t);
    if (::pwrite(descriptor, numbers.data(), bytes, first * int64_t{sizeof(uint32_t)}) !=
        static_cast<ssize_t>(bytes))
      throw Failure(fmt::format("node numbers: cannot write them to memory: {}", std::strerror(errno)));
    first += count;
  }
}

}  // namespace

NodeNumbers::NodeNumbers(int64_t nodes) : nodes_(nodes) {
  if (nodes > kMaxNodes)
    throw InputError(fmt::format(
        "the graph has {} nodes without features, expected at most {}, because a model learns an embedding "
        "of each; pass features to `plimsoll ingest graph`",
        nodes, kMaxNodes));
  charge_.add(nodes * int64_t{sizeof(uint32_t)});
  descriptor_ = ::memfd_create("plimsoll-node-numbers", MFD_CLOEXEC);
  if (descriptor_ < 0)
    throw Failure(fmt::format("node numbers: cannot create a file in memory: {}", std::strerror(errno)));
  try {
    write_numbers(descriptor_, nodes);
  } catch (...) {
    ::close(descriptor_);
    throw;
  }
}

NodeNumbers::~NodeNumbers() {
  ::close(descriptor_);
}

std::unique_ptr<const NodeNumbers> numbers_for(const GraphView& graph) {
  return graph.node_features() > 0 ? nullptr : std::make_unique<const NodeNumbers>(graph.nodes());
}

FeatureFile NodeNumbers::file() const {
  return {.path = fmt::format("/proc/self/fd/{}", descriptor_), .rows = nodes_, .width = 1};
}

}  // namespace plimsoll
