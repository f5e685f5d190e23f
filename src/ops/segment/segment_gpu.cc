#include "ops/segment/segment_gpu.h"

#include <ATen/Dispatch.h>

#include "kernels/segment/segment_gpu.h"
#include "ops/check.h"
#include "ops/device_layer.h"
#include "ops/numbers.h"

namespace plimsoll {
namespace {

using Tensor = at::Tensor;

void check(const Tensor& x, const Tensor& ptr) {
  require(x.dim() == 2, "x [N, F]", x);
  require_device_dtype(x);
  require(ptr.dim() == 1 && ptr.scalar_type() == at::kLong && ptr.numel() > 0 && ptr.is_contiguous() &&
              ptr.device() == x.device(),
          "ptr i64 [G + 1] on x's device", ptr);
}

// Calls call(T(), segments, features, ptr, stream).
template <typename Call>
void over_segments(const Tensor& x, const Tensor& ptr, const Call& call) {
  const CurrentDeviceScope device(x);
  AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "segments", [&] {
    call(scalar_t(), ptr.numel() - 1, x.size(1), ptr.const_data_ptr<int64_t>(), device.stream());
  });
}

Tensor per_segment(const Tensor& x, const Tensor& ptr) {
  return at::empty({ptr.numel() - 1, x.size(1)}, x.options());
}

}  // namespace

Tensor segment_reduce_on_device(const Tensor& input, const Tensor& ptr, std::string_view reduce) {
  check(input, ptr);
  const Reduce kind = parse_word<Reduce>(reduce, "segment_reduce");
  const Tensor x = input.contiguous();
  const Tensor out = per_segment(x, ptr);
  over_segments(x, ptr, [&](auto zero, int64_t segments, int64_t features, const int64_t* p, void* stream) {
    using T = decltype(zero);
    segment_reduce_cuda(read<T>(x), p, segments, features, kind, write<T>(out), stream);
  });
  return out;
}

Tensor segment_reduce_backward_on_device(const Tensor& grad, const Tensor& input, const Tensor& out,
                                         const Tensor& ptr, std::string_view reduce) {
  check(input, ptr);
  const Reduce kind = parse_word<Reduce>(reduce, "segment_reduce");
  const Tensor x = input.contiguous();
  const Tensor dout = grad.contiguous();
  require_like(x, out, {ptr.numel() - 1, x.size(1)}, "the output of forward [G, F]");
  require_like(x, dout, out.sizes(), "a gradient of the output's shape");
  const Tensor dx = at::empty_like(x);
  over_segments(x, ptr, [&](auto zero, int64_t segments, int64_t features, const int64_t* p, void* stream) {
    using T = decltype(zero);
    segment_reduce_backward_cuda(read<T>(dout), read<T>(x), read<T>(out), p, segments, features, kind,
                                 write<T>(dx), stream);
  });
  return dx;
}

Tensor segment_softmax_on_device(const Tensor& input, const Tensor& ptr) {
  check(input, ptr);
  const Tensor x = input.contiguous();
  const Tensor out = at::empty_like(x);
  over_segments(x, ptr, [&](auto zero, int64_t segments, int64_t features, const int64_t* p, void* stream) {
    using T = decltype(zero);
    segment_softmax_cuda(read<T>(x), p, segments, features, write<T>(out), stream);
  });
  return out;
}

Tensor segment_softmax_backward_on_device(const Tensor& grad, const Tensor& out, const Tensor& ptr) {
  check(out, ptr);
  const Tensor dout = grad.contiguous();
  require_like(out, dout, out.sizes(), "a gradient of the output's shape");
  const Tensor dx = at::empty_like(out);
  over_segments(out, ptr, [&](auto zero, int64_t segments, int64_t features, const int64_t* p, void* stream) {
    using T = decltype(zero);
    segment_softmax_backward_cuda(read<T>(dout), read<T>(out), p, segments, features, write<T>(dx), stream);
  });
  return dx;
}

std::tuple<Tensor, Tensor, Tensor> graph_norm_on_device(const Tensor& input, const Tensor& ptr,
                                                        const Tensor& weight, const Tensor& bias,
                                                        const Tensor& mean_scale, double eps) {
  check(input, ptr);
  const Tensor x = input.contiguous();
  for (const Tensor* each : {&weight, &bias, &mean_scale})
    require_like(x, *each, {x.size(1)}, "weight, bias and mean_scale [F] of x's dtype");
  const Tensor out = at::empty_like(x);
  const Tensor mean = per_segment(x, ptr);
  const Tensor r = per_segment(x, ptr);
  over_segments(x, ptr, [&](auto zero, int64_t segments, int64_t features, const int64_t* p, void* stream) {
    using T = decltype(zero);
    graph_norm_cuda(read<T>(x), p, segments, features, read<T>(weight), read<T>(bias), read<T>(mean_scale),
                    static_cast<T>(eps), write<T>(out), write<T>(mean), write<T>(r), stream);
  });
  return {out, mean, r};
}

std::tuple<Tensor, Tensor, Tensor, Tensor> graph_norm_backward_on_device(
    const Tensor& grad, const Tensor& input, const Tensor& ptr, const Tensor& weight,
    const Tensor& mean_scale, const Tensor& mean, const Tensor& r) {
  check(input, ptr);
  const Tensor x = input.contiguous();
  const Tensor dout = grad.contiguous();
  require_like(x, dout, x.sizes(), "a gradient of the output's shape");
  for (const Tensor* each : {&weight, &mean_scale})
    require_like(x, *each, {x.size(1)}, "weight and mean_scale [F] of x's dtype");
  for (const Tensor* each : {&mean, &r})
    require_like(x, *each, {ptr.numel() - 1, x.size(1)}, "the mean and scale that forward kept [G, F]");
  const Tensor dx = at::empty_like(x);
  const Tensor sums = at::empty({3, x.size(1)}, x.options());
  const Tensor buffer = at::empty({graph_norm_backward_workspace(ptr.numel() - 1, x.size(1))}, x.options());
  over_segments(x, ptr, [&](auto zero, int64_t segments, int64_t features, const int64_t* p, void* stream) {
    using T = decltype(zero);
    graph_norm_backward_cuda(read<T>(dout), read<T>(x), p, segments, features, read<T>(weight),
                             read<T>(mean_scale), read<T>(mean), read<T>(r), write<T>(dx), write<T>(sums),
                             write<T>(buffer), stream);
  });
  // The results are cloned, because an operator's results must not share memory.
  return {dx, sums.select(0, 0).clone(), sums.select(0, 1).clone(), sums.select(0, 2).clone()};
}

Tensor gather_csr_on_device(const Tensor& input, const Tensor& ptr, int64_t rows) {
  check(input, ptr);
  require(ptr.numel() == input.size(0) + 1, "x [G, F] for the G segments of ptr", input);
  const Tensor x = input.contiguous();
  const Tensor out = at::empty({rows, x.size(1)}, x.options());
  // Gathering is the same computation as the gradient of a sum.
  over_segments(x, ptr, [&](auto zero, int64_t segments, int64_t features, const int64_t* p, void* stream) {
    using T = decltype(zero);
    segment_reduce_backward_cuda<T>(read<T>(x), nullptr, nullptr, p, segments, features, Reduce::sum,
                                    write<T>(out), stream);
  });
  return out;
}

}  // namespace plimsoll
