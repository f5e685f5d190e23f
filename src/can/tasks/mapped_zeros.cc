#include "can/tasks/mapped_zeros.h"

#include <ATen/ops/from_blob.h>
#include <sys/mman.h>

#include <functional>
#include <numeric>

#include "base/error.h"

namespace plimsoll {

at::Tensor mapped_zeros(const std::vector<int64_t>& shape) {
  const int64_t numbers = std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>());
  const size_t bytes = static_cast<size_t>(std::max<int64_t>(numbers, 1)) * sizeof(float);
  void* const data = ::mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (data == MAP_FAILED) throw Failure("cannot map zeros for the weights of a teacher");
  return at::from_blob(
      data, shape, [bytes](void* mapped) { ::munmap(mapped, bytes); }, at::kFloat);
}

}  // namespace plimsoll
