#pragma once

#include <ATen/Parallel.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/Tensor.h>

#include <vector>

namespace plimsoll {

/// Rows of a large product that one thread takes at a time.
inline constexpr int64_t kProductRows = 1024;

/// While it lives, matrix products of the calling thread take one thread: torch tells its BLAS to use all
/// also where it is called by one of several threads, and then the bits of a product depend on their number.
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

/// work(first, last) on parts of 0 .. count-1 from several threads, with products as above.
template <typename Work>
void over_ranges(int64_t count, const Work& work) {
  at::parallel_for(0, count, 1, [&](int64_t first, int64_t last) {
    const at::AutoDispatchBelowADInplaceOrView guard;
    const OneProductThread one;
    work(first, last);
  });
}

/// out = a b + c and out = a^T b, in parts that depend on the rows of a alone: the same bits for any number
/// of threads. c is one row, or of out's shape (then perhaps out itself), or undefined. Rows of a are rounded
/// to b's dtype; multiply_transposed() sums in a's, and rounds the sum to out's. Its room is
/// transposed_room().
void multiply_all(const at::Tensor& a, const at::Tensor& b, const at::Tensor& c, const at::Tensor& out);
void multiply_transposed(const at::Tensor& a, const at::Tensor& b, const std::vector<at::Tensor>& room,
                         const at::Tensor& out);
/// Room for all sums of parts of a^T b but the first, and how many parts so many rows have.
std::vector<at::Tensor> transposed_room(const at::Tensor& a, const at::Tensor& b);
int64_t transposed_groups(int64_t rows);

/// out = rows begin .. end-1 of a, times b, in the calling thread's own way.
void multiply_rows(const at::Tensor& a, int64_t begin, int64_t end, const at::Tensor& b,
                   const at::Tensor& out);

/// sum += a^T b in the calling thread's own way. Products of bf16 are rounded to it before they are added.
void add_transposed_product(const at::Tensor& a, const at::Tensor& b, const at::Tensor& sum);

}  // namespace plimsoll
