#pragma once

// The CUDA kernels of out_edges_gpu.h as steps (warp.h): a stable radix sort of positions by source, lowest
// digit first, without atomics. Each lane handles one digit, and reads all edges of the warp's part.

#include "kernels/count_below.h"
#include "kernels/out_edges/out_edges_gpu.h"
#include "kernels/warp.h"

namespace plimsoll {

/// The edges in the order in which a pass reads them.
struct OutEdgesPass {
  EdgeOrder order;
  const int32_t* from;  // [edges] positions in the order of the previous pass; null: the initial order.
  int shift;            // Shift of the digit in a source.

  /// Returns the source of a position, or a number above all sources if the order does not keep the position.
  PLIMSOLL_DEVICE int64_t source(int32_t position) const {
    return position < order.in_ptr[order.targets] ? order.source[position] : order.sources;
  }
  PLIMSOLL_DEVICE int32_t position(int64_t k) const {
    return from == nullptr ? static_cast<int32_t>(k) : from[k];
  }
  /// Returns the source of the k-th edge.
  PLIMSOLL_DEVICE int64_t operator[](int64_t k) const { return source(position(k)); }
  PLIMSOLL_DEVICE int digit(int32_t position) const {
    return static_cast<int>(source(position) >> shift) % kDigits;
  }
};

/// Item: a part. Writes counts[digit, part].
struct CountDigits {
  OutEdgesPass pass;
  EdgeParts parts;
  int32_t* counts;

  template <typename Warp>
  PLIMSOLL_DEVICE void operator()(const Warp& warp, int64_t part) const {
    warp.each([&](int lane) {
      int32_t count = 0;
      for (int64_t k = parts.begin(part); k < parts.begin(part + 1); ++k)
        count += pass.digit(pass.position(k)) == lane ? 1 : 0;
      counts[lane * parts.count + part] = count;
    });
  }
};

/// Item: a digit. Replaces its counts with the number of edges in earlier parts, and writes total[digit].
struct AddDigits {
  EdgeParts parts;
  int32_t* counts;
  int32_t* shares;  // [digits, lanes].
  int32_t* total;   // [digits].

  template <typename Warp>
  PLIMSOLL_DEVICE void operator()(const Warp& warp, int64_t digit) const {
    int32_t* const of = counts + digit * parts.count;
    int32_t* const share = shares + digit * kWarpLanes;
    warp.each([&](int lane) {
      int32_t sum = 0;
      for (int64_t p = first(lane); p < first(lane + 1); ++p) sum += of[p];
      share[lane] = sum;
    });
    warp.sync();
    warp.each([&](int lane) {
      int32_t before = 0;
      for (int other = 0; other < lane; ++other) before += share[other];
      for (int64_t p = first(lane); p < first(lane + 1); ++p) {
        const int32_t count = of[p];
        of[p] = before;
        before += count;
      }
      if (lane == kWarpLanes - 1) total[digit] = before;
    });
  }
  PLIMSOLL_DEVICE int64_t first(int lane) const { return lane * parts.count / kWarpLanes; }
};

/// Item: a part. Moves its positions to the places that their digits determine.
struct PlaceDigits {
  OutEdgesPass pass;
  EdgeParts parts;
  const int32_t* counts;
  const int32_t* total;
  int32_t* to;

  template <typename Warp>
  PLIMSOLL_DEVICE void operator()(const Warp& warp, int64_t part) const {
    warp.each([&](int lane) {
      int32_t at = counts[lane * parts.count + part];
      for (int digit = 0; digit < lane; ++digit) at += total[digit];
      for (int64_t k = parts.begin(part); k < parts.begin(part + 1); ++k) {
        const int32_t position = pass.position(k);
        if (pass.digit(position) == lane) to[at++] = position;
      }
    });
  }
};

/// Item: 32 of the sources + 1 entries of out_ptr. out_ptr[j] = number of edges from sources before j.
struct PointToOutEdges {
  OutEdgesPass pass;
  int32_t* out_ptr;

  template <typename Warp>
  PLIMSOLL_DEVICE void operator()(const Warp& warp, int64_t item) const {
    warp.each([&](int lane) {
      const int64_t j = item * kWarpLanes + lane;
      if (j <= pass.order.sources) out_ptr[j] = static_cast<int32_t>(count_below(pass, pass.order.edges, j));
    });
  }
};

/// Item: 32 out edges. target[o] = the target whose edges include the position.
struct FindTargets {
  EdgeOrder order;
  const int32_t* position;
  int32_t* target;

  template <typename Warp>
  PLIMSOLL_DEVICE void operator()(const Warp& warp, int64_t item) const {
    warp.each([&](int lane) {
      const int64_t o = item * kWarpLanes + lane;
      if (o >= order.edges) return;
      target[o] = static_cast<int32_t>(count_below(order.in_ptr + 1, order.targets, position[o] + 1));
    });
  }
};

/// `buffer` holds out_edges_buffer_bytes(order.edges) bytes.
template <typename Launch>
void run_out_edges(const EdgeOrder& order, int32_t* out_ptr, int32_t* position, int32_t* target,
                   int32_t* buffer, const Launch& launch) {
  constexpr int kBits = 5;  // Bits of a digit.
  const auto groups = [](int64_t count) { return (count + kWarpLanes - 1) / kWarpLanes; };
  int passes = 1;
  while (order.sources >> (passes * kBits) > 0) ++passes;
  const EdgeParts parts(order.edges);
  int32_t* const counts = buffer;
  int32_t* const shares = counts + parts.count * kDigits;
  int32_t* const total = shares + kDigits * kWarpLanes;
  const int32_t* from = nullptr;
  for (int done = 0; done < passes; ++done) {
    // The last pass writes `position`; until then `target` is free.
    int32_t* const to = (passes - done) % 2 == 1 ? position : target;
    const OutEdgesPass pass{order, from, done * kBits};
    launch(parts.count, CountDigits{pass, parts, counts});
    launch(kDigits, AddDigits{parts, counts, shares, total});
    launch(parts.count, PlaceDigits{pass, parts, counts, total, to});
    from = to;
  }
  launch(groups(order.sources + 1), PointToOutEdges{{order, from, 0}, out_ptr});
  launch(groups(order.edges), FindTargets{order, position, target});
}

}  // namespace plimsoll
