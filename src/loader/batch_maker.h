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

/// A batch as row-major tensors, one per field of BatchFields or NeighbourFields; a field that is left out
/// has 0 bytes.
struct CollatedBatch {
  BatchCounts counts;
  std::vector<BatchBuffer> tensors;

  template <typename Field>
  BatchBuffer& operator[](Field field) {
    return tensors[static_cast<size_t>(field)];
  }
  /// Bytes charged to the ledger.
  int64_t bytes() const {
    int64_t sum = 0;
    for (const BatchBuffer& tensor : tensors) sum += tensor.bytes();
    return sum;
  }
};

/// Makes the batches of an epoch. Only one call may run at a time; fastest if batch numbers ascend.
class BatchMaker {
 public:
  virtual ~BatchMaker() = default;
  virtual int64_t size() const = 0;
  /// Makes batch `batch`, 0 .. size()-1. The result is the same each time. Errors, after which it may be
  /// called again: BudgetExceeded, InputError.
  virtual CollatedBatch make(int64_t batch) = 0;
  /// Frees the data that it has prepared for later batches. Allocates no memory of the ledger, and may be
  /// called by any thread while make() does not run.
  virtual void give_up() {}
  /// Returns the names of the options that make batches smaller.
  virtual const char* limits() const = 0;
};

}  // namespace plimsoll
