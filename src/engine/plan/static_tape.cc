#include "engine/plan/static_tape.h"

#include <ATen/ExpandUtils.h>
#include <ATen/Functions.h>
#include <ATen/MetaFunctions.h>
#include <ATen/TensorOperators.h>
#include <c10/core/GradMode.h>
#include <fmt/format.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/library.h>

#include <optional>

#include "base/error.h"
#include "engine/blocks/collate_reached.h"
#include "engine/blocks/collate_types.h"
#include "engine/blocks/item_kind.h"
#include "engine/blocks/trimmed_layers.h"
#include "nn/learned_rows.h"
#include "ops/attention/attention.h"
#include "ops/meta_tensors.h"
#include "ops/module_scope.h"

namespace plimsoll {
namespace {

using at::Tensor;

// Operations whose shape-only versions torch has only in Python. These versions allocate the same memory as
// the operations on the CPU.

Tensor relu_meta(const Tensor& x) {
  return at::clamp_min(x, 0);
}

Tensor abs_meta(const Tensor& self) {
  at::empty({0}, self.options());  // The result before its size is set.
  return at::empty_like(self);
}

// Computed as on the CPU: NaN is not equal to itself.
Tensor isnan_meta(const Tensor& self) {
  return at::ne(self, self);
}

Tensor flip_meta(const Tensor& self, at::IntArrayRef) {
  return at::empty_like(self);
}

Tensor index_select_meta(const Tensor& self, int64_t dim, const Tensor& index) {
  std::vector<int64_t> sizes = self.sizes().vec();
  if (self.dim() > 0) sizes[static_cast<size_t>(at::maybe_wrap_dim(dim, self.dim()))] = index.numel();
  at::empty({0}, self.options());  // The result before its size is set.
  return at::empty(sizes, self.options());
}

Tensor embedding_dense_backward_meta(const Tensor& grad, const Tensor& indices, int64_t rows, int64_t, bool) {
  const Tensor index = indices.contiguous();
  Tensor sums = at::zeros({rows, grad.size(-1)}, grad.options());
  grad.contiguous();
  return sums;
}

using Three = std::tuple<Tensor, Tensor, Tensor>;

Tensor column_like(const Tensor& input, int64_t numbers) {
  return at::empty({numbers}, input.options());
}

Three native_batch_norm_meta(const Tensor& input, const std::optional<Tensor>&, const std::optional<Tensor>&,
                             const std::optional<Tensor>&, const std::optional<Tensor>&, bool training,
                             double, double) {
  const int64_t channels = input.size(1);
  Tensor out = at::empty_like(input);
  Tensor mean = column_like(input, training ? channels : 0);
  Tensor scale = column_like(input, training ? channels : 0);
  if (training) {
    const Tensor sums = column_like(input, channels);
    const Tensor squares = column_like(input, channels);
    const Tensor variance = column_like(input, channels);
  }
  const Tensor factor = column_like(input, channels);
  const Tensor summand = column_like(input, channels);
  return {out, mean, scale};
}

Three native_batch_norm_backward_meta(const Tensor&, const Tensor& input, const std::optional<Tensor>&,
                                      const std::optional<Tensor>&, const std::optional<Tensor>&,
                                      const std::optional<Tensor>&, const std::optional<Tensor>&, bool,
                                      double, std::array<bool, 3> needed) {
  const int64_t channels = input.size(1);
  Tensor dx = needed[0] ? at::empty_like(input) : Tensor();
  Tensor dweight = needed[1] ? column_like(input, channels) : Tensor();
  Tensor dbias = needed[2] ? column_like(input, channels) : Tensor();
  if (needed[0]) dx = at::empty_like(input);
  column_like(input, 0);
  const Tensor sums = column_like(input, 2 * channels);
  return {dx, dweight, dbias};
}

// Returns the number of rows that are normalised, at least 1.
int64_t rows_of(const Tensor& input, at::IntArrayRef shape) {
  return input.numel() / c10::multiply_integers(shape);
}

Three native_layer_norm_meta(const Tensor& input, at::IntArrayRef shape, const std::optional<Tensor>&,
                             const std::optional<Tensor>&, double) {
  Tensor out = at::empty_like(input);
  Tensor mean = column_like(input, rows_of(input, shape));
  Tensor scale = column_like(input, rows_of(input, shape));
  return {out, mean.unsqueeze(1), scale.unsqueeze(1)};
}

Three native_layer_norm_backward_meta(const Tensor&, const Tensor& input, at::IntArrayRef shape,
                                      const Tensor&, const Tensor&, const std::optional<Tensor>&,
                                      const std::optional<Tensor>&, std::array<bool, 3> needed) {
  const int64_t channels = c10::multiply_integers(shape);
  Tensor dx = needed[0] ? at::empty_like(input) : Tensor();
  Tensor dweight = needed[1] ? column_like(input, channels) : Tensor();
  Tensor dbias = needed[2] ? column_like(input, channels) : Tensor();
  column_like(input, 0);
  const Tensor sums = column_like(input, 2 * channels);
  return {dx, dweight, dbias};
}

// On the CPU an operand of another type, even a number, is copied to the common type first. Torch's
// shape-only version makes no copy.
Tensor as_common(const Tensor& operand, const Tensor& other) {
  const at::ScalarType common = at::result_type(operand, other);
  if (operand.scalar_type() == common) return {};
  return at::empty(operand.sizes(), at::TensorOptions(c10::DeviceType::Meta).dtype(common));
}

template <auto kOperation, typename... More>
Tensor with_common(const Tensor& self, const Tensor& other, More... more) {
  const Tensor left = as_common(self, other);
  const Tensor right = as_common(other, self);
  return kOperation(self, other, more...);
}

template <auto kOperation, typename... More>
Tensor& with_common_(Tensor& self, const Tensor& other, More... more) {
  const Tensor right = as_common(other, self);
  return kOperation(self, other, more...);
}

Tensor& mul_out_meta(const Tensor& self, const Tensor& other, Tensor& out) {
  const Tensor left = as_common(self, other);
  const Tensor right = as_common(other, self);
  return at::meta::mul_outf(self, other, out);
}

Tensor where_meta(const Tensor& condition, const Tensor& self, const Tensor& other) {
  const auto sizes = at::infer_size(condition.sizes(), at::infer_size(self.sizes(), other.sizes()));
  const at::TensorOptions options = self.options().dtype(at::result_type(self, other));
  at::empty({0}, options);  // The result before its size is set.
  return at::empty(sizes, options);
}

Tensor& logical_and_out_meta(const Tensor&, const Tensor&, Tensor& out) {
  return out;
}

// The sum has the type of the result; booleans and integers are summed in 64 bits.
Tensor sum_meta(const Tensor& self, at::OptionalIntArrayRef dims, bool keep,
                std::optional<at::ScalarType> dtype) {
  Tensor out = at::meta::sum(self, dims, keep, dtype);
  if (out.scalar_type() != self.scalar_type()) at::empty(self.sizes(), out.options());
  return out;
}

// With data, torch sums the gradient of gather() in place.
Tensor scatter_add_meta(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& values) {
  if (std::string_view(current_operation()) == "GatherBackward0") return self;
  return at::meta::scatter_add(self, dim, index, values);
}

// With data, torch sums the gradient of index_select() in place.
Tensor index_add_meta(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source,
                      const at::Scalar& alpha) {
  if (std::string_view(current_operation()) == "IndexSelectBackward0") return self;
  return at::meta::index_add(self, dim, index, source, alpha);
}

constexpr Tensor (*kDivide)(const Tensor&, const Tensor&) = &at::meta::div;
constexpr Tensor& (*kDivide_)(Tensor&, const Tensor&) = &at::meta::div_;

TORCH_LIBRARY_IMPL(aten, Meta, m) {
  m.impl("relu", relu_meta);
  m.impl("abs", abs_meta);
  m.impl("isnan", isnan_meta);
  m.impl("flip", flip_meta);
  m.impl("index_select", index_select_meta);
  m.impl("embedding_dense_backward", embedding_dense_backward_meta);
  m.impl("native_batch_norm", native_batch_norm_meta);
  m.impl("native_batch_norm_backward", native_batch_norm_backward_meta);
  m.impl("native_layer_norm", native_layer_norm_meta);
  m.impl("native_layer_norm_backward", native_layer_norm_backward_meta);
  m.impl("scatter_add", scatter_add_meta);
  m.impl("index_add", index_add_meta);
  m.impl("sum.dim_IntList", sum_meta);
  m.impl("mul.out", mul_out_meta);
  m.impl("where.self", where_meta);
  m.impl("logical_and.out", logical_and_out_meta);
  m.impl("mul.Tensor", with_common<&at::meta::mul>);
  m.impl("mul_.Tensor", with_common_<&at::meta::mul_>);
  m.impl("div.Tensor", with_common<kDivide>);
  m.impl("div_.Tensor", with_common_<kDivide_>);
  m.impl("add.Tensor", with_common<&at::meta::add, const at::Scalar&>);
  m.impl("add_.Tensor", with_common_<&at::meta::add_, const at::Scalar&>);
  m.impl("sub.Tensor", with_common<&at::meta::sub, const at::Scalar&>);
  m.impl("sub_.Tensor", with_common_<&at::meta::sub_, const at::Scalar&>);
}

// Returns the prefixes of a trimmed sample, as in collate().
std::vector<Prefix> prefixes_of(const Terms& t) {
  std::vector<Prefix> prefixes;
  for (size_t p = 0; p < prefixes_in(t); ++p)
    prefixes.push_back({t[place_of(p, kPrefixNodes)], t[place_of(p, kPrefixEdges)]});
  return prefixes;
}

TrimmedLayers layers_of(const Terms& t, const std::vector<Prefix>& prefixes, const CollateOptions& options) {
  return {prefixes, {t[kNodes], t[kEdges]}, options.layers};
}

// Returns the sizes of the orders that layers may read: the order of all edges, and those of the prefixes of
// a trimmed sample.
std::vector<OrderSizes> orders_of(const BlockTerms& block, bool self_loops) {
  const Terms& t = block.terms;
  if (t[kParts] > 0) return {};  // Orders of samples with types keep all edges.
  std::vector<OrderSizes> orders{{.closed = block.closed,
                                  .pieces = 4 * t[kGroups],  // Enough pieces to form that number of groups.
                                  .largest = t[kPieceRows],
                                  .edges = t[kEdges] - (self_loops ? 0 : t[kSelfLoops]),
                                  .max_in = t[kMaxIn],
                                  .numbers = edge_order_size(t[kNodes], t[kEdges])}};
  for (size_t p = 0; p < prefixes_in(t); ++p) {
    const auto value_of = [&](PrefixTerm term) { return t[place_of(p, term)]; };
    orders.push_back({.edges = value_of(kPrefixEdges) - (self_loops ? 0 : value_of(kPrefixSelfLoops)),
                      .max_in = value_of(kPrefixMaxIn),
                      .numbers = edge_order_size(value_of(kPrefixNodes), value_of(kPrefixEdges))});
  }
  return orders;
}

// Returns the counts of a block's layout, with padding.
Terms parts_of(const Terms& t, const SampleLayout& layout) {
  Terms counts(t.begin() + kTerms, t.end());
  layout.add_padding(counts);
  return counts;
}

// Makes the tensors that collate_types() does not allocate.
Batch given_types(const Terms& t, const RowWidths& widths, const at::TensorOptions& meta) {
  Batch batch;
  count_nodes(*widths.layout, parts_of(t, *widths.layout), batch.types);
  for (size_t type = 0; type < widths.layout->nodes.size(); ++type) {
    const SampleLayout::Nodes& inputs = widths.layout->nodes[type];
    const int64_t nodes = batch.types.nodes[type].back();
    batch.types.numbers.push_back(at::empty({nodes, inputs.numbers}, meta.dtype(at::kFloat)));
    batch.types.codes.push_back(at::empty({inputs.codes(), nodes}, meta.dtype(at::kInt)));
    if (widths.layout->destinations == type) batch.types.reached = at::empty({nodes}, meta.dtype(at::kLong));
  }
  if (widths.targets.width > 0)
    batch.targets = at::empty({t[kGraphs], widths.targets.width}, meta.dtype(at::kFloat));
  return batch;
}

// Adds the other tensors of a batch, like collate_types().
Batch collate_types_without_data(Batch batch, const Terms& t, const SampleLayout& layout,
                                 const CollateOptions& options) {
  const ModuleScope scope(kBatchModule);
  const at::TensorOptions i64 = at::TensorOptions(c10::DeviceType::Meta).dtype(at::kLong);
  add_orders(
      layout, parts_of(t, layout), [&](size_t, int64_t edges) { return empty_edge_index(edges, i64); },
      batch.types);
  if (layout.destinations)
    add_reached(
        layout, parts_of(t, layout), i64, [](size_t, const Tensor&) {}, batch.types);
  item_kind(options.items).collate_without_data(t, batch);
  batch.graph_item = at::empty({t[kGraphs]}, i64);
  return batch;
}

// Makes the tensors that collate() does not allocate.
Batch given_inputs(const Terms& t, const RowWidths& widths, const CollateOptions& options) {
  const at::TensorOptions meta(c10::DeviceType::Meta);
  if (widths.layout != nullptr) return given_types(t, widths, meta);
  const std::vector<Prefix> prefixes = prefixes_of(t);
  const auto [nodes, edges] =
      prefixes.empty() ? Prefix{t[kNodes], t[kEdges]} : layers_of(t, prefixes, options).read();
  Batch batch;
  batch.x = at::empty({nodes, widths.node_features}, meta.dtype(at::kFloat));
  if (widths.row_places) batch.row_place = at::empty({nodes}, meta.dtype(at::kInt));
  batch.edge_attr = at::empty({edges, widths.edge_features}, meta.dtype(at::kFloat));
  batch.graph_ptr = at::empty({t[kGraphs] + 1}, meta.dtype(at::kLong));
  const auto optional_rows = [&, nodes = nodes](const ItemRows& rows) {
    if (rows.width == 0) return at::Tensor();
    return at::empty({rows.rows(t[kGraphs], nodes), rows.width}, meta.dtype(at::kFloat));
  };
  batch.teacher = optional_rows(widths.teacher);
  batch.targets = optional_rows(widths.targets);
  batch.pos = optional_rows({widths.coordinates, /*of_nodes=*/true});
  batch.planar = widths.planar;
  return batch;
}

// Adds the other tensors of a batch, like collate().
Batch collate_without_data(Batch batch, const Terms& t, const RowWidths& widths,
                           const CollateOptions& options) {
  if (widths.layout != nullptr)
    return collate_types_without_data(std::move(batch), t, *widths.layout, options);
  const ModuleScope scope(kBatchModule);
  const at::TensorOptions i64 = batch.graph_ptr.options();
  const std::vector<Prefix> prefixes = prefixes_of(t);
  const TrimmedLayers layers = layers_of(t, prefixes, options);
  const int64_t edges = batch.edge_attr.size(0);
  item_kind(options.items).collate_without_data(t, batch);
  batch.node_keys = at::empty({3, prefixes.empty() ? t[kNodes] : layers.made()}, i64);
  batch.graph_item = at::empty({t[kGraphs]}, i64);
  batch.graph_local = at::zeros({t[kGraphs]}, i64);
  if (options.edge_weight) batch.edge_weight = batch.edge_attr.view({edges});
  if (!prefixes.empty() && options.degrees) batch.degrees = at::zeros({t[kNodes]}, i64.dtype(at::kFloat));
  const Tensor edge_index = at::empty({2, edges}, i64);
  if (!prefixes.empty()) {
    batch.layers = layers.edges(edge_index, /*drop_loops=*/!options.self_loops);
    return batch;
  }
  if (options.neighbour_ids) {
    batch.neighbour_ptr = at::zeros({t[kNodes] + 1}, i64);
    batch.neighbour_ids = at::empty({t[kEdges]}, i64);
  }
  if (options.edge_index) batch.edge_index = edge_index;
  batch.edge_order = edge_order(edge_index, t[kNodes], t[kNodes], /*same_nodes=*/true,
                                /*drop_loops=*/!options.self_loops, batch.graph_ptr);
  return batch;
}

std::pair<Tensor, Tensor> losses_of(const Objective& objective, const Tensor& outputs, const Batch& batch) {
  const ModuleScope scope("loss");
  Tensor losses = objective.losses(outputs, batch);
  Tensor sum = losses.sum() / 1.0;
  return {std::move(losses), std::move(sum)};
}

// Allocates like the training work of BlockEngine, commit included.
void train(const Objective& objective, const Batch& given, const RowWidths& widths, const Terms& terms,
           bool recompute) {
  std::vector<Tensor> parameters;
  for (const ParameterList::Entry& entry : objective.parameters().entries())
    parameters.push_back(entry.value);
  const auto statistics = std::make_shared<BlockStatistics>();
  Tensor ids;
  const std::vector<Tensor> gradients = [&] {
    std::optional<LearnedRowsScope> lookup;
    if (!MetaTensors::on_cuda()) lookup.emplace();  // A device adds to the gradient of the whole table.
    Batch batch = collate_without_data(given, terms, widths, objective.collate_options());
    batch.statistics = statistics;
    batch.recompute = recompute;
    if (batch.item_count == 0) return std::vector<Tensor>();
    objective.prepare(batch);
    const auto [losses, block_loss] =
        losses_of(objective, objective.forward(batch, {.training = true}), batch);
    if (!lookup) return torch::autograd::grad({block_loss}, parameters);
    ids = lookup->found().ids;
    return torch::autograd::grad({block_loss}, lookup->leaves(parameters));
  }();
}

void predict(const Objective& objective, const Batch& given, const RowWidths& widths, const Terms& terms) {
  const c10::AutoGradMode no_gradients(false);
  Tensor found;
  Batch batch = collate_without_data(given, terms, widths, objective.collate_options());
  if (batch.item_count == 0) return;
  objective.prepare(batch);
  found = objective.forward(batch, {}).contiguous();
  const Tensor losses = objective.validation_losses(found, batch);
  losses.sum();
}

void run_without_data(const Objective& objective, const Batch& given, const RowWidths& widths,
                      const Terms& terms, bool training, bool recompute) {
  try {
    if (training)
      train(objective, given, widths, terms, recompute);
    else
      predict(objective, given, widths, terms);
  } catch (const c10::Error& error) {
    const std::string text = error.what_without_backtrace();
    throw UsageError(
        fmt::format("memory.estimation 'static': the model does not run without data{}: {}; use "
                    "memory.estimation: measured (plan --mode measured)",
                    *current_operation() == 0 ? "" : fmt::format(" at {}", current_operation()),
                    text.substr(0, text.find_first_of(".\n"))));
  }
}

}  // namespace

Tape tape_without_data(const Objective& objective, const BlockTerms& block, const RowWidths& widths,
                       bool training, bool recompute) {
  const CollateOptions options = objective.collate_options();
  const std::vector<OrderSizes> orders = orders_of(block, options.self_loops);
  const Batch given = given_inputs(block.terms, widths, options);
  TapeRecorder recorder;
  const MetaTensors without_data(orders);
  const TapeScope scope(recorder);
  run_without_data(objective, given, widths, block.terms, training, recompute);
  return recorder.tape;
}

CudaTape cuda_tape_without_data(const Objective& objective, const BlockTerms& block, const RowWidths& widths,
                                bool training, bool recompute) {
  const CollateOptions options = objective.collate_options();
  const std::vector<OrderSizes> orders = orders_of(block, options.self_loops);
  TapeRecorder recorder;
  const MetaTensors without_data(orders, MetaTensors::Where::cuda);
  const TapeScope scope(recorder);
  const Batch given = [&] {
    const ModuleScope copied(kBatchModule);
    return given_inputs(block.terms, widths, options);
  }();
  run_without_data(objective, given, widths, block.terms, training, recompute);
  return {recorder.tape, without_data.without_cuda()};
}

}  // namespace plimsoll
