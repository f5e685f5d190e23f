// Sums over edges from more sources than there are targets, against index_add.

#include "ops/aggregate/aggregate.h"

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include "ops/attention/attention.h"
#include "support/errors.h"

namespace plimsoll {
namespace {

struct Edges {
  const char* what;
  int64_t sources, targets;
  std::vector<int64_t> from, to;
};

std::vector<Edges> cases() {
  std::vector<Edges> all = {{"no edges", 5, 3, {}, {}},
                            {"no targets", 5, 0, {}, {}},
                            {"one target", 6, 1, {5, 5, 2, 0}, {0, 0, 0, 0}},
                            {"nodes without neighbours", 7, 4, {6, 4, 2}, {1, 1, 3}},
                            {"as many sources as targets", 4, 4, {3, 0, 1}, {0, 1, 1}},
                            {"self-loops", 6, 3, {0, 5, 2}, {0, 1, 2}}};
  Edges many{"many", 900, 120, {}, {}};
  for (int64_t e = 0; e < 2000; ++e) {
    many.from.push_back(e * 7919 % 900);
    many.to.push_back(e * e % 120);
  }
  all.push_back(many);
  return all;
}

TEST(RectangularAggregate, IsIndexAddWithItsGradient) {
  for (const Edges& edges : cases())
    for (const at::ScalarType dtype : {at::kFloat, at::kDouble}) {
      SCOPED_TRACE(testing::Message() << edges.what << " in " << dtype);
      const at::Tensor index =
          at::stack({at::tensor(edges.from, at::kLong), at::tensor(edges.to, at::kLong)});
      const at::Tensor order = edge_order(index, edges.sources, edges.targets, false, false);
      const at::Tensor x = at::randn({edges.sources, 13}, dtype).requires_grad_();
      const at::Tensor source_scale = at::rand({edges.sources}, dtype);
      const at::Tensor target_scale = at::rand({edges.targets}, dtype);
      const at::Tensor edge_scale = at::randn({index.size(1)}, dtype);
      const at::Tensor weight = at::randn({edges.targets, 13}, dtype);
      const at::Tensor of_edges = (x * source_scale.unsqueeze(1)).index_select(0, index[0]);
      for (const bool scaled : {false, true}) {
        const at::Tensor found = aggregate(x, order, source_scale, target_scale, edges.targets,
                                           scaled ? edge_scale : at::Tensor());
        const at::Tensor messages = scaled ? of_edges * edge_scale.unsqueeze(1) : of_edges;
        const at::Tensor expected = at::zeros({edges.targets, 13}, dtype).index_add(0, index[1], messages) *
                                    target_scale.unsqueeze(1);
        const double tolerance = dtype == at::kDouble ? 1e-12 : 1e-5;
        ASSERT_EQ(found.sizes(), expected.sizes());
        EXPECT_TRUE(at::allclose(found, expected, tolerance, tolerance));
        const at::Tensor gradient = torch::autograd::grad({(found * weight).sum()}, {x})[0];
        EXPECT_TRUE(at::allclose(
            gradient, torch::autograd::grad({(expected * weight).sum()}, {x}, {}, /*retain_graph=*/true)[0],
            tolerance, tolerance));
      }
      const at::Tensor counts = at::bincount(index[1], {}, edges.targets).to(at::kFloat);
      EXPECT_TRUE(at::equal(in_degrees(order, edges.sources, edges.targets), counts));
    }
}

TEST(RectangularAggregate, TheFirstTargetsHaveTheBitsOfAll) {
  const int64_t nodes = 900;
  const at::Tensor index = at::stack({at::arange(2000) * 7919 % nodes, at::arange(2000) / 17}).to(at::kLong);
  const at::Tensor x = at::randn({nodes, 33});
  const at::Tensor whole = aggregate(x, edge_order(index, nodes, nodes, true, false), {}, {});
  const at::Tensor first = aggregate(x, edge_order(index, nodes, 200, false, false), {}, {}, 200);
  EXPECT_TRUE(at::equal(first, whole.narrow(0, 0, 200)));
}

TEST(RectangularAggregate, AnOrderOfOtherCountsIsRefused) {
  const at::Tensor order = edge_order(at::zeros({2, 3}, at::kLong), 5, 2, false, false);
  const at::Tensor x = at::ones({5, 4});
  error_text<InputError>([&] { aggregate(x, order, {}, {}); });
  error_text<InputError>([&] { aggregate(x, order, {}, {}, 3); });
  error_text<InputError>([&] { aggregate(at::ones({6, 4}), order, {}, {}, 2); });
  error_text<UsageError>([&] { aggregate(x, order, {}, {}, -1); });
  error_text<UsageError>([&] { aggregate(x, order, {}, at::ones({5}), 2); });
}

TEST(EdgeOrder, TakesTheFirstEdgesOfMoreWithoutACopy) {
  const at::Tensor index = at::arange(20).view({2, 10}) % 5;
  const at::Tensor first = index.narrow(1, 0, 4);
  EXPECT_TRUE(
      at::equal(edge_order(first, 5, 5, false, false), edge_order(first.clone(), 5, 5, false, false)));
}

}  // namespace
}  // namespace plimsoll
