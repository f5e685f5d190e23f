#pragma once

#include <cstdint>
#include <span>
#include <utility>

#include "io/file.h"

namespace plimsoll {

/// Receives the outputs that this process computes for a layer. Not thread-safe.
class LayerOutputs {
 public:
  virtual ~LayerOutputs() = default;

  /// Begins, or begins again, with the first node that this process computes. Errors: those of add().
  virtual void begin() = 0;
  /// Adds rows, f32 [nodes, hidden] from node `first` on, in the order of nodes. Errors: Failure (disk);
  /// an implementation may have more.
  virtual void add(int64_t first, std::span<const float> rows) = 0;
  /// Returns about how many nodes are done if this process has computed its nodes before `node`.
  virtual int64_t estimate_done(int64_t node) const = 0;
};

/// Writes the outputs to a file, row v at node v. One process computes all of them.
class LayerFile final : public LayerOutputs {
 public:
  LayerFile(File file, int64_t width) : file_(std::move(file)), width_(width) {}

  void begin() override {}
  void add(int64_t first, std::span<const float> rows) override {
    file_.write_at(first * width_ * int64_t{sizeof(float)}, rows.data(), rows.size_bytes());
  }
  int64_t estimate_done(int64_t node) const override { return node; }

 private:
  File file_;
  const int64_t width_;
};

}  // namespace plimsoll
