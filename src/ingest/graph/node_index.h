#pragma once

#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <string>

#include "base/error.h"
#include "io/external_sort.h"

namespace plimsoll {

/// Maximum number of nodes of an ingested graph: their indices are u32.
inline constexpr int64_t kMaxGraphNodes = int64_t{1} << 32;

/// Thrown if two texts have the same hash. With another seed, they have different hashes.
struct HashCollision : Failure {
  HashCollision() : Failure("two texts have the same hash; hash them with another seed") {}
};

/// Maps IDs to nodes. Stores pairs of ID and node, sorted by ID, on disk if they do not fit into memory. An
/// ID is a number from the input, or the hash of a text ID. Not thread-safe.
class NodeIndex {
 public:
  /// Maps the IDs 0 .. nodes-1 to themselves.
  explicit NodeIndex(int64_t nodes) : nodes_(nodes) {}
  /// Maps the keys of `ids`, which must be sealed, to nodes. If `has_nodes`, the payload of a record is the
  /// node, a u32; otherwise nodes are numbered from 0 in the order of the keys.
  NodeIndex(std::shared_ptr<ExternalSort> ids, bool has_nodes, int64_t nodes)
      : nodes_(nodes), ids_(std::move(ids)), has_nodes_(has_nodes) {}

  int64_t nodes() const { return nodes_; }

  /// Reads the pairs by ascending ID. The index must outlive it. next() must return true before id() and
  /// node() are called.
  class Reader {
   public:
    explicit Reader(const NodeIndex& index) : index_(index) {
      if (index.ids_) ids_.emplace(index.ids_->read());
    }
    bool next() {
      ++at_;
      return ids_ ? ids_->next() : at_ < index_.nodes_;
    }
    uint64_t id() const { return ids_ ? ids_->key() : static_cast<uint64_t>(at_); }
    uint32_t node() const {
      if (!index_.has_nodes_) return static_cast<uint32_t>(at_);
      uint32_t node = 0;
      std::memcpy(&node, ids_->payload(), sizeof node);
      return node;
    }

   private:
    const NodeIndex& index_;
    std::optional<ExternalSort::Reader> ids_;
    int64_t at_ = -1;
  };

  /// Deletes the files of the index.
  void remove() {
    if (ids_) ids_->remove();
  }

 private:
  int64_t nodes_;
  std::shared_ptr<ExternalSort> ids_;
  bool has_nodes_ = false;
};

/// Thrown for an ID that belongs to no node.
struct UnknownId : InputError {
  explicit UnknownId(uint64_t unknown)
      : InputError("found the ID " + std::to_string(unknown) + ", expected that of a node"), id(unknown) {}
  uint64_t id;
};

/// Calls take(node, payload) for each of `records`, which must be sealed: `node` is the node whose ID is the
/// key of the record. Throws UnknownId.
template <typename Take>
void join(const ExternalSort& records, const NodeIndex& index, const Take& take) {
  ExternalSort::Reader record = records.read();
  NodeIndex::Reader id(index);
  bool more = id.next();
  while (record.next()) {
    while (more && id.id() < record.key()) more = id.next();
    if (!more || id.id() != record.key()) throw UnknownId(record.key());
    take(id.node(), record.payload());
  }
}

}  // namespace plimsoll
