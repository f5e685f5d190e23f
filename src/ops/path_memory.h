#pragma once

#include <cstddef>
#include <cstdint>

namespace plimsoll {

/// What the memory of one call of path_message depends on (path_message.h).
struct PathSizes {
  int64_t nodes = 0;
  int64_t hidden = 0;                               ///< H
  int64_t distances = 0, angles = 0, torsions = 0;  ///< Gaussians
  int64_t tile = 0;                                 ///< paths that are there at once
  bool shared = false;                              ///< paths that differ in k alone share what they can

  int64_t slots() const { return tile < 128 ? 128 : tile; }  ///< nodes whose products are there at once
  int64_t window() const { return 2 * tile; }                ///< sources whose sums are there at once
  int64_t step() const {
    return tile + 16;
  }  ///< of Gaussians: columns shall not fall into few sets of a cache
  /// Inputs of the MLP of edges (0), triples (1) and paths (2).
  int64_t inputs(int of) const { return distances + (of > 0 ? angles : 0) + (of > 1 ? torsions : 0); }
};

// Weights by their place in PathWeights (path_message.h): those of the MLP of edges (0), triples (1) and
// paths (2), and the three of what combines them. After each stands its bias.
constexpr size_t first_weight(int of) {
  return static_cast<size_t>(4 * of);
}
constexpr size_t second_weight(int of) {
  return static_cast<size_t>(4 * of + 2);
}
inline constexpr size_t kC1 = 12, kC2 = 14, kC3 = 16;

/// Hands out pieces of one stretch of memory, each from a multiple of 64 bytes on; without memory it counts.
class PathPieces {
 public:
  explicit PathPieces(void* memory) : memory_(static_cast<std::byte*>(memory)) {}
  template <typename T>
  void take(T*& piece, int64_t numbers) {
    bytes_ = (bytes_ + 63) / 64 * 64;
    piece = memory_ == nullptr ? nullptr : reinterpret_cast<T*>(memory_ + bytes_);
    bytes_ += numbers * static_cast<int64_t>(sizeof(T));
  }
  int64_t bytes() const { return bytes_; }

 private:
  std::byte* memory_;
  int64_t bytes_ = 0;
};

/// The workspace of a call in bytes, of numbers of so many bytes.
int64_t path_workspace(const PathSizes& sizes, bool backward, size_t number_bytes);

}  // namespace plimsoll
