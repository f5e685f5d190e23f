#pragma once

#include <ATen/Parallel.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/Tensor.h>

#include <vector>

namespace plimsoll {

/// Maximum rows of a large product that one thread multiplies at a time.
inline constexpr int64_t kProductRows = 1024;

/// For its lifetime, matrix products of the calling thread use one thread. Torch lets BLAS use all threads
/// even if it is called on one of several threads, and the bits of a product would then depend on the number
/// of threads.
class OneProductThread {
 public:
  OneProductThread();
  ~OneProductThread();
  OneProductThread(const OneProductThread&) = delete;
  OneProductThread& operator=(const OneProductThread&) = delete;

 private:
  int before_ = 0;
  int openmp_before_ = 0;
};

/// Calls work(first, last) on parts of 0 .. count-1 from several threads, with a OneProductThread in each.
template <typename Work>
void over_ranges(int64_t count, const Work& work) {
  at::parallel_for(0, count, 1, [&](int64_t first, int64_t last) {
    const at::AutoDispatchBelowADInplaceOrView guard;
    const OneProductThread one_thread;
    work(first, last);
  });
}

/// Compute out = a b + c, and out = a^T b, in parts that depend only on the number of rows of a, so the bits
/// are the same for any number of threads. c is one row, has out's shape (and may be out itself), or is
/// undefined. Rows of a are rounded to b's dtype. multiply_transposed() sums in a's dtype, and rounds the sum
/// to out's dtype. Its `buffer` is the result of transposed_buffers() for a and b, and is overwritten.
void multiply_all(const at::Tensor& a, const at::Tensor& b, const at::Tensor& c, const at::Tensor& out);
void multiply_transposed(const at::Tensor& a, const at::Tensor& b, const std::vector<at::Tensor>& buffer,
                         const at::Tensor& out);
/// Allocates the sums of all parts of a^T b except the first. transposed_groups() returns the number of parts
/// if a has `rows` rows.
std::vector<at::Tensor> transposed_buffers(const at::Tensor& a, const at::Tensor& b);
int64_t transposed_groups(int64_t rows);

/// Computes out = a[begin .. end-1] b in the calling thread.
void multiply_rows(const at::Tensor& a, int64_t begin, int64_t end, const at::Tensor& b,
                   const at::Tensor& out);

/// Computes sum += a^T b in the calling thread. Products of bf16 are rounded to bf16 before they are added.
void add_transposed_product(const at::Tensor& a, const at::Tensor& b, const at::Tensor& sum);

}  // namespace plimsoll
