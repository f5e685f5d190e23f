#pragma once

#include <cstdint>
#include <vector>

#include "loader/batch_memory.h"

namespace plimsoll {

/// Size of a batch. For one giant graph, `graphs` is the number of seeds.
struct BatchCounts {
  int64_t graphs = 0;
  int64_t nodes = 0;
  int64_t edges = 0;
};

/// A batch as row-major tensors, one per field of BatchFields, NeighbourFields or TypedFields. A field that
/// is left out has 0 bytes.
struct CollatedBatch {
  BatchCounts counts;
  std::vector<BatchBuffer> tensors;

  template <typename Field>
  BatchBuffer& operator[](Field field) {
    return tensors[static_cast<size_t>(field)];
  }
  /// Bytes entered in the ledger.
  int64_t bytes() const {
    int64_t sum = 0;
    for (const BatchBuffer& tensor : tensors) sum += tensor.bytes();
    return sum;
  }
};

/// Makes the batches of an epoch. Only one call may run at a time. It is fastest if batches are made in
/// ascending order.
class BatchMaker {
 public:
  virtual ~BatchMaker() = default;
  virtual int64_t size() const = 0;
  /// Makes batch `batch`, 0 .. size()-1. The result is the same each time. Errors: BudgetExceeded,
  /// InputError, and those that a maker adds; after an error, it may be called again.
  virtual CollatedBatch make(int64_t batch) = 0;
  /// Frees the data that was prepared for later batches. It allocates no memory that enters the ledger. Any
  /// thread may call it while make() is not running.
  virtual void give_up() {}
  /// Returns the names of the options that make batches smaller.
  virtual const char* limits() const = 0;
};

}  // namespace plimsoll
