#include "ops/products.h"

#include <ATen/CPUFunctions.h>
#include <ATen/Parallel.h>
#include <ATen/ops/empty.h>
#include <omp.h>

#include <algorithm>

// Declares a function of Intel's MKL, which exists if torch is built with MKL.
extern "C" __attribute__((weak)) int MKL_Set_Num_Threads_Local(int threads);

namespace plimsoll {

// MKL has its own threads; oneDNN, which multiplies bf16, uses those of OpenMP. Torch sets the number of
// threads of a new thread when the thread first asks for it. It is called here because the destructor would
// otherwise restore OpenMP's initial number.
OneProductThread::OneProductThread() : openmp_before_(at::get_num_threads()) {
  if (MKL_Set_Num_Threads_Local != nullptr) before_ = MKL_Set_Num_Threads_Local(1);
  omp_set_num_threads(1);
}

OneProductThread::~OneProductThread() {
  omp_set_num_threads(openmp_before_);
  if (MKL_Set_Num_Threads_Local != nullptr) MKL_Set_Num_Threads_Local(before_);
}

void multiply_all(const at::Tensor& a, const at::Tensor& b, const at::Tensor& c, const at::Tensor& out) {
  const int64_t rows = a.size(0);
  over_ranges((rows + kProductRows - 1) / kProductRows, [&](int64_t first, int64_t last) {
    for (int64_t r = first; r < last; ++r) {
      const int64_t begin = r * kProductRows;
      const int64_t count = std::min(kProductRows, rows - begin);
      const at::Tensor from = a.narrow(0, begin, count).to(b.scalar_type());
      at::Tensor to = out.narrow(0, begin, count);
      if (c.defined())
        at::cpu::addmm_out(to, c.dim() == 2 ? c.narrow(0, begin, count) : c, from, b);
      else
        at::cpu::mm_out(to, from, b);
    }
  });
}

int64_t transposed_groups(int64_t rows) {
  return std::clamp<int64_t>(rows / kProductRows, 1, 8);
}

std::vector<at::Tensor> transposed_buffers(const at::Tensor& a, const at::Tensor& b) {
  std::vector<at::Tensor> buffer;
  for (int64_t g = 1; g < transposed_groups(a.size(0)); ++g)
    buffer.push_back(at::empty({a.size(1), b.size(1)}, a.options()));
  return buffer;
}

void multiply_transposed(const at::Tensor& a, const at::Tensor& b, const std::vector<at::Tensor>& buffer,
                         const at::Tensor& out) {
  const int64_t rows = a.size(0);
  const int64_t groups = transposed_groups(rows);
  const at::Tensor first_sum =
      out.scalar_type() == a.scalar_type() ? out : at::empty(out.sizes(), a.options());
  over_ranges(groups, [&](int64_t first, int64_t last) {
    for (int64_t g = first; g < last; ++g) {
      const int64_t begin = g * rows / groups;
      const int64_t end = (g + 1) * rows / groups;
      at::Tensor sum = g == 0 ? first_sum : buffer[static_cast<size_t>(g - 1)];
      if (a.scalar_type() == b.scalar_type()) {
        at::cpu::mm_out(sum, a.narrow(0, begin, end - begin).t(), b.narrow(0, begin, end - begin));
        continue;
      }
      sum.zero_();
      for (int64_t from = begin; from < end; from += kProductRows) {
        const int64_t count = std::min(kProductRows, end - from);
        add_transposed_product(a.narrow(0, from, count).to(b.scalar_type()), b.narrow(0, from, count), sum);
      }
    }
  });
  for (const at::Tensor& sum : buffer) first_sum.add_(sum);
  if (!first_sum.is_same(out)) out.copy_(first_sum);
}

void multiply_rows(const at::Tensor& a, int64_t begin, int64_t end, const at::Tensor& b,
                   const at::Tensor& out) {
  at::Tensor to = out;
  at::cpu::mm_out(to, a.narrow(0, begin, end - begin), b);
}

void add_transposed_product(const at::Tensor& a, const at::Tensor& b, const at::Tensor& sum) {
  if (sum.scalar_type() == a.scalar_type())
    sum.addmm_(a.t(), b);
  else
    sum.add_(at::cpu::mm(a.t(), b));
}

}  // namespace plimsoll
