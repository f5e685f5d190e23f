#include <ATen/ops/empty.h>
#include <fmt/format.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/library.h>

#include <algorithm>
#include <limits>

#include "base/error.h"
#include "memory/slab.h"
#include "ops/autocast.h"
#include "ops/meta_tensors.h"
#include "ops/operator.h"
#include "ops/path_message/path_message.h"
#include "ops/path_message/path_message_gpu.h"
#include "ops/path_message/spanning_path_edges.h"

// The operators of path_message.h and their gradients; gat_autograd.cc shows how they are connected.

namespace plimsoll {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;
using Tensor = at::Tensor;
using List = std::vector<Tensor>;
using Gradients = std::tuple<Tensor, List>;

#define PLIMSOLL_PATH_PARAMETERS                                                                             \
  const Tensor &x, const Tensor &pos, const Tensor &row_begin, const Tensor &target, at::TensorList weights, \
      int64_t tile, double cutoff, c10::string_view mode, bool distances_only, bool planar
#define PLIMSOLL_PATH_ARGUMENTS x, pos, row_begin, target, weights, tile, cutoff, mode, distances_only, planar
#define PLIMSOLL_PATH_SCHEMA                                                                      \
  "Tensor x, Tensor pos, Tensor row_begin, Tensor target, Tensor[] weights, int tile=256, float " \
  "cutoff=10.0, "                                                                                 \
  "str mode='corrected', bool distances_only=False, bool planar=False"

using Forward = Tensor(PLIMSOLL_PATH_PARAMETERS);
using Backward = Gradients(const Tensor& grad, PLIMSOLL_PATH_PARAMETERS);

PathOptions options_of(int64_t tile, double cutoff, c10::string_view mode, bool distances_only, bool planar) {
  return {tile, cutoff, parse_word<PathMode>(mode, "path_message: mode"), distances_only, planar};
}

PathWeights plain_weights(at::TensorList weights) {
  PathWeights made;
  if (weights.size() != made.size())
    throw UsageError(fmt::format("path_message: {} weights, expected {}", weights.size(), made.size()));
  std::transform(weights.begin(), weights.end(), made.begin(),
                 [](const Tensor& weight) { return weight.contiguous(); });
  return made;
}

Tensor forward_cpu(PLIMSOLL_PATH_PARAMETERS) {
  return path_message_cpu(x, pos, {row_begin, target}, plain_weights(weights),
                          options_of(tile, cutoff, mode, distances_only, planar));
}
Gradients backward_cpu(const Tensor& grad, PLIMSOLL_PATH_PARAMETERS) {
  auto [dx, gradients] = path_message_backward_cpu(grad, x, pos, {row_begin, target}, plain_weights(weights),
                                                   options_of(tile, cutoff, mode, distances_only, planar));
  return {dx, List(gradients.begin(), gradients.end())};
}

// A device uses larger tiles, because each operation on a device has a fixed cost.
int64_t device_tile(int64_t tile) {
  constexpr int64_t kMin = 16'384;
  return std::max(tile, kMin);
}

Tensor forward_on_device(PLIMSOLL_PATH_PARAMETERS) {
  return path_message_on_device(x, pos, {row_begin, target}, plain_weights(weights),
                                options_of(device_tile(tile), cutoff, mode, distances_only, planar));
}
Gradients backward_on_device(const Tensor& grad, PLIMSOLL_PATH_PARAMETERS) {
  auto [dx, gradients] =
      path_message_backward_on_device(grad, x, pos, {row_begin, target}, plain_weights(weights),
                                      options_of(device_tile(tile), cutoff, mode, distances_only, planar));
  return {dx, List(gradients.begin(), gradients.end())};
}

// Allocates workspaces in the same way as the operators on a device.
void ask_on_device(bool backward, const Tensor& x, const Tensor& pos, const Tensor& target,
                   const PathWeights& weights, const PathOptions& options) {
  const WorkspaceScope workspace;
  const PathSizes sizes = check_path_layer(x, pos, weights, options);
  ask_for_workspace(x, path_device_workspace(sizes, target.numel(), backward, x.element_size()), 0);
}

Tensor like(const Tensor& tensor) {
  return at::empty_symint(tensor.sym_sizes(), tensor.options());
}
Tensor forward_meta(PLIMSOLL_PATH_PARAMETERS) {
  if (MetaTensors::active() && !MetaTensors::on_cuda()) return forward_cpu(PLIMSOLL_PATH_ARGUMENTS);
  Tensor out = like(x);
  if (MetaTensors::on_cuda())
    ask_on_device(false, x, pos, target, plain_weights(weights),
                  options_of(device_tile(tile), cutoff, mode, distances_only, planar));
  return out;
}
Gradients backward_meta(const Tensor& grad, PLIMSOLL_PATH_PARAMETERS) {
  if (MetaTensors::active() && !MetaTensors::on_cuda()) return backward_cpu(grad, PLIMSOLL_PATH_ARGUMENTS);
  Gradients made = {like(x), {}};
  for (const Tensor& weight : weights) std::get<1>(made).push_back(like(weight));
  if (MetaTensors::on_cuda())
    ask_on_device(true, x, pos, target, plain_weights(weights),
                  options_of(device_tile(tile), cutoff, mode, distances_only, planar));
  return made;
}

const auto& forward_operator() {
  static const auto op = find_operator<Forward>("plimsoll::path_message");
  return op;
}
const auto& backward_operator() {
  static const auto op = find_operator<Backward>("plimsoll::path_message_backward");
  return op;
}

class PathMessageFunction : public torch::autograd::Function<PathMessageFunction> {
 public:
  static Tensor forward(AutogradContext* context, PLIMSOLL_PATH_PARAMETERS) {
    const at::AutoDispatchBelowADInplaceOrView guard;
    variable_list saved = {x, pos, row_begin, target};
    saved.insert(saved.end(), weights.begin(), weights.end());
    context->save_for_backward(std::move(saved));
    context->saved_data["tile"] = tile;
    context->saved_data["cutoff"] = cutoff;
    context->saved_data["mode"] = std::string(mode.data(), mode.size());
    context->saved_data["distances_only"] = distances_only;
    context->saved_data["planar"] = planar;
    return forward_operator().call(PLIMSOLL_PATH_ARGUMENTS);
  }

  static variable_list backward(AutogradContext* context, const variable_list& grads) {
    const variable_list v = context->get_saved_variables();
    auto& data = context->saved_data;
    const std::string mode = data["mode"].toStringRef();
    auto [dx, gradients] = backward_operator().call(
        grads[0], v[0], v[1], v[2], v[3], at::TensorList(v).slice(4), data["tile"].toInt(),
        data["cutoff"].toDouble(), mode, data["distances_only"].toBool(), data["planar"].toBool());
    variable_list all = {dx, Tensor(), Tensor(), Tensor()};
    all.insert(all.end(), gradients.begin(), gradients.end());
    all.resize(all.size() + 5);  // One entry per option.
    return all;
  }
};

Tensor forward_autograd(PLIMSOLL_PATH_PARAMETERS) {
  if (pos.requires_grad()) throw UsageError("path_message: pos is data and has no gradient; detach it");
  const auto needs_gradient = [](const Tensor& tensor) { return tensor.requires_grad(); };
  if (at::GradMode::is_enabled() &&
      (x.requires_grad() || std::any_of(weights.begin(), weights.end(), needs_gradient)))
    return PathMessageFunction::apply(PLIMSOLL_PATH_ARGUMENTS);
  const at::AutoDispatchBelowADInplaceOrView guard;
  return forward_operator().call(PLIMSOLL_PATH_ARGUMENTS);
}

Gradients backward_autograd(const Tensor& grad, PLIMSOLL_PATH_PARAMETERS) {
  Gradients made = [&] {
    const at::AutoDispatchBelowADInplaceOrView guard;
    return backward_operator().call(grad, PLIMSOLL_PATH_ARGUMENTS);
  }();
  auto& [dx, gradients] = made;
  variable_list inputs = {grad, x};
  inputs.insert(inputs.end(), weights.begin(), weights.end());
  variable_list list = {dx};
  list.insert(list.end(), gradients.begin(), gradients.end());
  const auto needs_gradient =
      std::find_if(inputs.begin(), inputs.end(), [](const Tensor& input) { return input.requires_grad(); });
  if (at::GradMode::is_enabled() && needs_gradient != inputs.end()) {
    list = NoSecondDerivative::apply(list, *needs_gradient);
    return {list[0], List(list.begin() + 1, list.end())};
  }
  return made;
}

// Everything is computed in float32, because lengths and angles need full precision and sums are over many
// paths.
template <c10::DeviceType kDevice>
Tensor forward_autocast(PLIMSOLL_PATH_PARAMETERS) {
  const Autocast cast(kDevice);
  List full;
  for (const Tensor& weight : weights) full.push_back(cast.full(weight));
  return forward_operator().call(cast.full(x), cast.full(pos), row_begin, target, full, tile, cutoff, mode,
                                 distances_only, planar);
}

PathDirection direction_of(c10::string_view direction) {
  return parse_word<PathDirection>(direction, "path_edges: direction");
}

std::tuple<Tensor, Tensor> path_edges_of(const Tensor& edge_index, int64_t nodes,
                                         c10::string_view direction) {
  const PathEdges edges = path_edges(edge_index, nodes, direction_of(direction));
  return {edges.row_begin, edges.target};
}
std::tuple<Tensor, Tensor> path_edges_meta(const Tensor& edge_index, c10::SymInt nodes,
                                           c10::string_view direction) {
  if (MetaTensors::active()) return path_edges_of(edge_index, nodes.expect_int(), direction);
  return {at::empty_symint({nodes + 1}, edge_index.options()),
          at::empty_symint({edge_index.sym_size(1)}, edge_index.options().dtype(at::kInt))};
}
std::tuple<Tensor, Tensor> spanning_edges_of(const Tensor& edge_index, const Tensor& node_keys, int64_t seed,
                                             int64_t epoch, int64_t tree, c10::string_view direction) {
  constexpr int64_t kMax = std::numeric_limits<uint32_t>::max();
  if (epoch < 0 || epoch > kMax || tree < 0 || tree > kMax)
    throw UsageError(
        fmt::format("spanning_path_edges: found epoch {} and tree {}, expected 0 to {}", epoch, tree, kMax));
  const SpanningKey key{static_cast<uint64_t>(seed), static_cast<uint32_t>(epoch),
                        static_cast<uint32_t>(tree)};
  const PathEdges edges = spanning_path_edges(edge_index, node_keys, key, direction_of(direction));
  return {edges.row_begin, edges.target};
}
std::tuple<Tensor, Tensor> spanning_edges_meta(const Tensor& edge_index, const Tensor& node_keys,
                                               int64_t seed, int64_t epoch, int64_t tree,
                                               c10::string_view direction) {
  if (MetaTensors::active()) return spanning_edges_of(edge_index, node_keys, seed, epoch, tree, direction);
  const c10::SymInt nodes = node_keys.sym_size(1);
  return {at::empty_symint({nodes + 1}, edge_index.options()),
          at::empty_symint({direction_of(direction) == PathDirection::both ? nodes * 2 : nodes},
                           edge_index.options().dtype(at::kInt))};
}
Tensor path_counts_of(const Tensor& row_begin, const Tensor& target) {
  return path_counts({row_begin, target});
}
Tensor path_counts_meta(const Tensor& row_begin, const Tensor&) {
  return at::empty_symint({row_begin.sym_size(0) - 1}, row_begin.options());
}

}  // namespace

Tensor path_message(const Tensor& x, const Tensor& pos, const PathEdges& edges, const PathWeights& weights,
                    const PathOptions& options) {
  return forward_operator().call(x, pos, edges.row_begin, edges.target, weights, options.tile, options.cutoff,
                                 word_of(options.mode), options.distances_only, options.planar);
}

TORCH_LIBRARY_FRAGMENT(plimsoll, m) {
  m.def(
      "path_edges(Tensor edge_index, SymInt nodes, str direction='both') -> (Tensor row_begin, Tensor "
      "target)");
  m.def(
      "spanning_path_edges(Tensor edge_index, Tensor node_keys, int seed, int epoch, int tree, "
      "str direction='both') -> (Tensor row_begin, Tensor target)");
  m.def("path_counts(Tensor row_begin, Tensor target) -> Tensor");
  m.def("path_message(" PLIMSOLL_PATH_SCHEMA ") -> Tensor");
  m.def("path_message_backward(Tensor grad, " PLIMSOLL_PATH_SCHEMA ") -> (Tensor x, Tensor[] weights)");
}
TORCH_LIBRARY_IMPL(plimsoll, CPU, m) {
  m.impl("path_edges", path_edges_of);
  m.impl("spanning_path_edges", spanning_edges_of);
  m.impl("path_counts", path_counts_of);
  m.impl("path_message", forward_cpu);
  m.impl("path_message_backward", backward_cpu);
}
TORCH_LIBRARY_IMPL(plimsoll, CUDA, m) {
  m.impl("path_message", forward_on_device);
  m.impl("path_message_backward", backward_on_device);
}
TORCH_LIBRARY_IMPL(plimsoll, Meta, m) {
  m.impl("path_edges", path_edges_meta);
  m.impl("spanning_path_edges", spanning_edges_meta);
  m.impl("path_counts", path_counts_meta);
  m.impl("path_message", forward_meta);
  m.impl("path_message_backward", backward_meta);
}
TORCH_LIBRARY_IMPL(plimsoll, Autograd, m) {
  m.impl("path_message", forward_autograd);
  m.impl("path_message_backward", backward_autograd);
}
TORCH_LIBRARY_IMPL(plimsoll, AutocastCPU, m) {
  m.impl("path_message", forward_autocast<c10::DeviceType::CPU>);
}
TORCH_LIBRARY_IMPL(plimsoll, AutocastCUDA, m) {
  m.impl("path_message", forward_autocast<c10::DeviceType::CUDA>);
}

}  // namespace plimsoll
