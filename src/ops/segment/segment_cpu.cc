#include "ops/segment/segment_cpu.h"

#include <ATen/Dispatch.h>
#include <ATen/Functions.h>
#include <ATen/Parallel.h>
#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "kernels/segment/segment.h"
#include "kernels/segment/segment_gpu.h"
#include "memory/slab.h"
#include "ops/check.h"
#include "ops/meta_tensors.h"
#include "ops/numbers.h"

namespace plimsoll {
namespace {

using Tensor = at::Tensor;
using Three = std::tuple<Tensor, Tensor, Tensor>;
using Four = std::tuple<Tensor, Tensor, Tensor, Tensor>;

constexpr int64_t kGrain = kSegmentGrain;

void check_ptr(const Tensor& ptr, int64_t rows) {
  require(ptr.dim() == 1 && ptr.scalar_type() == at::kLong && ptr.numel() > 0 && ptr.is_contiguous(),
          "ptr i64 [G + 1]", ptr);
  if (ptr.is_meta()) return;
  const int64_t* const p = ptr.const_data_ptr<int64_t>();
  const int64_t segments = ptr.numel() - 1;
  if (p[0] != 0 || p[segments] != rows)
    throw UsageError(
        fmt::format("segments: ptr goes from {} to {}, expected from 0 to {} rows", p[0], p[segments], rows));
  for (int64_t g = 0; g < segments; ++g)
    if (p[g] > p[g + 1])
      throw UsageError(fmt::format(
          "segments: ptr falls from {} to {} at segment {}, expected ascending numbers", p[g], p[g + 1], g));
}

void check(const Tensor& x, const Tensor& ptr) {
  require(x.dim() == 2 && (x.scalar_type() == at::kFloat || x.scalar_type() == at::kDouble),
          "x f32 or f64 [N, F]", x);
  check_ptr(ptr, x.size(0));
}

Tensor empty_rows_like(const Tensor& x) {
  return at::empty(x.sizes(), x.options());
}

template <typename Work>
void over_segments(const Tensor& x, const Tensor& ptr, const Work& work) {
  if (x.is_meta()) return;
  AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "segments", [&] {
    at::parallel_for(0, ptr.numel() - 1, kGrain, [&](int64_t begin, int64_t end) {
      work(segment_kernels<scalar_t>(kernel_level()), begin, end, scalar_t());
    });
  });
}

}  // namespace

Tensor segment_reduce_cpu(const Tensor& input, const Tensor& ptr, std::string_view reduce) {
  check(input, ptr);
  const Reduce kind = parse_word<Reduce>(reduce, "segment_reduce");
  const Tensor out = at::empty({ptr.numel() - 1, input.size(1)}, input.options());
  const WorkspaceScope workspace;
  const Tensor x = input.contiguous();
  over_segments(x, ptr, [&](const auto& kernels, int64_t begin, int64_t end, auto zero) {
    using T = decltype(zero);
    kernels.reduce(read<T>(x), ptr.const_data_ptr<int64_t>(), x.size(1), kind, begin, end, write<T>(out));
  });
  return out;
}

Tensor segment_reduce_backward_cpu(const Tensor& grad, const Tensor& input, const Tensor& out,
                                   const Tensor& ptr, std::string_view reduce) {
  check(input, ptr);
  const Reduce kind = parse_word<Reduce>(reduce, "segment_reduce");
  const Tensor dx = empty_rows_like(input);
  const WorkspaceScope workspace;
  const Tensor x = input.contiguous();
  const Tensor dout = grad.contiguous();
  require_like(x, out, {ptr.numel() - 1, x.size(1)}, "the output of forward [G, F]");
  require_like(x, dout, out.sizes(), "a gradient of the output's shape");
  over_segments(x, ptr, [&](const auto& kernels, int64_t begin, int64_t end, auto zero) {
    using T = decltype(zero);
    kernels.reduce_backward(read<T>(dout), read<T>(x), read<T>(out), ptr.const_data_ptr<int64_t>(), x.size(1),
                            kind, begin, end, write<T>(dx));
  });
  return dx;
}

Tensor segment_softmax_cpu(const Tensor& input, const Tensor& ptr) {
  check(input, ptr);
  const Tensor out = empty_rows_like(input);
  const WorkspaceScope workspace;
  const Tensor x = input.contiguous();
  over_segments(x, ptr, [&](const auto& kernels, int64_t begin, int64_t end, auto zero) {
    using T = decltype(zero);
    kernels.softmax(read<T>(x), ptr.const_data_ptr<int64_t>(), x.size(1), begin, end, write<T>(out));
  });
  return out;
}

Tensor segment_softmax_backward_cpu(const Tensor& grad, const Tensor& out, const Tensor& ptr) {
  check(out, ptr);
  const Tensor dx = empty_rows_like(out);
  const WorkspaceScope workspace;
  const Tensor dout = grad.contiguous();
  require_like(out, dout, out.sizes(), "a gradient of the output's shape");
  over_segments(out, ptr, [&](const auto& kernels, int64_t begin, int64_t end, auto zero) {
    using T = decltype(zero);
    kernels.softmax_backward(read<T>(dout), read<T>(out), ptr.const_data_ptr<int64_t>(), out.size(1), begin,
                             end, write<T>(dx));
  });
  return dx;
}

Three graph_norm_cpu(const Tensor& input, const Tensor& ptr, const Tensor& weight, const Tensor& bias,
                     const Tensor& mean_scale, double eps) {
  check(input, ptr);
  for (const Tensor* each : {&weight, &bias, &mean_scale})
    require_like(input, *each, {input.size(1)}, "weight, bias and mean_scale [F] of x's dtype");
  const Tensor out = empty_rows_like(input);
  const Tensor mean = at::empty({ptr.numel() - 1, input.size(1)}, input.options());
  const Tensor scale = at::empty_like(mean);
  const WorkspaceScope workspace;
  const Tensor x = input.contiguous();
  over_segments(x, ptr, [&](const auto& kernels, int64_t begin, int64_t end, auto zero) {
    using T = decltype(zero);
    kernels.graph_norm(read<T>(x), ptr.const_data_ptr<int64_t>(), x.size(1), read<T>(weight), read<T>(bias),
                       read<T>(mean_scale), static_cast<T>(eps), begin, end, write<T>(out), write<T>(mean),
                       write<T>(scale));
  });
  return {out, mean, scale};
}

Four graph_norm_backward_cpu(const Tensor& grad, const Tensor& input, const Tensor& ptr, const Tensor& weight,
                             const Tensor& mean_scale, const Tensor& mean, const Tensor& scale) {
  check(input, ptr);
  const Tensor dx = empty_rows_like(input);
  const auto column = [&] { return at::empty({input.size(1)}, input.options()); };
  const Tensor dweight = column();
  const Tensor dbias = column();
  const Tensor dmean_scale = column();
  const WorkspaceScope workspace;
  const Tensor x = input.contiguous();
  const Tensor dout = grad.contiguous();
  require_like(x, dout, x.sizes(), "a gradient of the output's shape");
  const int64_t segments = ptr.numel() - 1;
  for (const Tensor* each : {&weight, &mean_scale})
    require_like(x, *each, {x.size(1)}, "weight and mean_scale [F] of x's dtype");
  for (const Tensor* each : {&mean, &scale})
    require_like(x, *each, {segments, x.size(1)}, "the mean and scale that forward kept [G, F]");
  // Each group has a row of sums, and the rows are added in the order of groups.
  if (MetaTensors::on_cuda()) {
    at::empty({graph_norm_backward_workspace(segments, x.size(1))}, x.options());
    return {dx, dweight, dbias, dmean_scale};
  }
  const int64_t groups = (segments + kGrain - 1) / kGrain;
  const Tensor sums = at::zeros({3, std::max<int64_t>(groups, 1), x.size(1)}, x.options());
  AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "graph_norm_backward", [&] {
    if (x.is_meta()) return;
    scalar_t* const to = sums.mutable_data_ptr<scalar_t>();
    const int64_t part = sums.stride(0);
    at::parallel_for(0, groups, 1, [&](int64_t first, int64_t last) {
      for (int64_t g = first; g < last; ++g) {
        scalar_t* const mine = to + g * x.size(1);
        segment_kernels<scalar_t>(kernel_level())
            .graph_norm_backward(read<scalar_t>(dout), read<scalar_t>(x), ptr.const_data_ptr<int64_t>(),
                                 x.size(1), read<scalar_t>(weight), read<scalar_t>(mean_scale),
                                 read<scalar_t>(mean), read<scalar_t>(scale), g * kGrain,
                                 std::min((g + 1) * kGrain, segments), write<scalar_t>(dx), mine, mine + part,
                                 mine + 2 * part);
      }
    });
  });
  const Tensor total = sums.select(1, 0);
  for (int64_t g = 1; g < groups; ++g) total.add_(sums.select(1, g));
  dweight.copy_(total[0]);
  dbias.copy_(total[1]);
  dmean_scale.copy_(total[2]);
  return {dx, dweight, dbias, dmean_scale};
}

Tensor gather_csr_cpu(const Tensor& input, const Tensor& ptr, int64_t rows) {
  require(input.dim() == 2 && (input.scalar_type() == at::kFloat || input.scalar_type() == at::kDouble) &&
              ptr.numel() == input.size(0) + 1,
          "x f32 or f64 [G, F] for the G segments of ptr", input);
  check_ptr(ptr, rows);
  const Tensor out = at::empty({rows, input.size(1)}, input.options());
  const WorkspaceScope workspace;
  const Tensor x = input.contiguous();
  // Gathering is the same computation as the gradient of a sum.
  over_segments(x, ptr, [&](const auto& kernels, int64_t begin, int64_t end, auto zero) {
    using T = decltype(zero);
    kernels.reduce_backward(read<T>(x), nullptr, nullptr, ptr.const_data_ptr<int64_t>(), x.size(1),
                            Reduce::sum, begin, end, write<T>(out));
  });
  return out;
}

}  // namespace plimsoll
