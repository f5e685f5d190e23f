// Each allocation of a training step is refused once: the block runs again, and nothing else changes.

#include <ATen/core/Tensor.h>
#include <c10/core/CPUAllocator.h>
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <new>
#include <numeric>

#include "engine/blocks/block_engine.h"
#include "engine/fit/optimizer.h"
#include "engine/plan/planner.h"
#include "engine/plan/warm_up.h"
#include "memory/ledger.h"
#include "nn/classification.h"
#include "nn/gnn.h"
#include "ops/allocator.h"
#include "support/random_graphs.h"

namespace plimsoll {
namespace {

// The component that refuses.
enum class Refusal {
  ledger,  // Without a slab: a tensor on the heap exceeds the cap.
  slab,    // The range of a block would have to grow but may not.
  system,  // malloc refuses memory for a small object of the block.
};

/// Wraps the allocator of torch and refuses one request, counted over all threads.
class RefusingAllocator final : public c10::Allocator {
 public:
  /// Installs the allocator for this process, until let_go().
  static RefusingAllocator& install() {
    install_ledger_allocator();
    auto& allocator = instance();
    if (c10::GetCPUAllocator() != &allocator) allocator.inner_ = c10::GetCPUAllocator();
    c10::SetCPUAllocator(&allocator, kPriority);
    return allocator;
  }
  void let_go() { c10::SetCPUAllocator(inner_, kPriority); }

  /// Refuses the request with this number, counted from 1; 0: none.
  void refuse(int64_t request, Refusal refusal) {
    refusal_ = refusal;
    refused_ = request;
    requests_ = 0;
  }
  int64_t requests() const { return requests_; }

  c10::DataPtr allocate(size_t bytes) override {
    if (++requests_ != refused_) return inner_->allocate(bytes);
    switch (refusal_) {
      case Refusal::ledger:
        return pass_the_cap(bytes);
      case Refusal::slab:
        throw BudgetExceeded(Tag::activations, static_cast<int64_t>(bytes), 0, 0);
      case Refusal::system:
        throw std::bad_alloc();
    }
    return {};
  }
  c10::DeleterFnPtr raw_deleter() const override { return inner_->raw_deleter(); }
  void copy_data(void* to, const void* from, size_t bytes) const override {
    inner_->copy_data(to, from, bytes);
  }

 private:
  static constexpr uint8_t kPriority = 2;

  static RefusingAllocator& instance() {
    static auto* const allocator = new RefusingAllocator;
    return *allocator;
  }
  // The ledger itself refuses. A request of 0 bytes never exceeds the cap: it is counted and granted.
  c10::DataPtr pass_the_cap(size_t bytes) {
    Ledger::process().set_cap(0);
    const struct Restore {
      ~Restore() { Ledger::process().set_cap(Ledger::kUnlimited); }
    } restore;
    return inner_->allocate(bytes);
  }

  c10::Allocator* inner_ = nullptr;
  std::atomic<int64_t> requests_ = 0;
  std::atomic<int64_t> refused_ = 0;
  Refusal refusal_ = Refusal::slab;
};

constexpr BlockLimits kLimits{8, 4096, 16384};

// A model at the start of training. The second step uses the state that the first step left.
class Training {
 public:
  Training(const BlockSource& source, std::span<const GraphShape> shapes, std::span<const int64_t> batch)
      : source_(source), shapes_(shapes), batch_(batch) {
    std::vector<at::Tensor> parameters;
    for (const auto& entry : model_.parameters().entries()) parameters.push_back(entry.value);
    optimizer_ = make_optimizer(parameters, {});
  }

  ExecutionPlan plan(int threads, bool recompute) const {
    return require_feasible(
        make_plan({.source = &source_,
                   .shapes = shapes_,
                   .objective = &objective_,
                   .limits = kLimits,
                   .memory = {.threads = threads},
                   .training = batch_,
                   .epochs = 1,
                   .batch_size = static_cast<int64_t>(batch_.size()),
                   .recompute = recompute ? GradientCheckpointing::on : GradientCheckpointing::off}));
  }
  void begin(const ExecutionPlan& execution) {
    engine_ = std::make_unique<BlockEngine>(source_, shapes_, objective_, kLimits, execution);
  }
  double step() {
    const double loss =
        engine_->gradient(batch_, {.training = true, .seed = 9, .epoch = static_cast<uint32_t>(++steps_)});
    optimizer_->step(engine_->gradients());
    return loss;
  }
  std::string weights() const { return model_.parameters().hash(); }
  BlockRunner& runner() { return engine_->runner(); }

 private:
  const BlockSource& source_;
  std::span<const GraphShape> shapes_;
  std::span<const int64_t> batch_;
  Gnn model_{{.conv = ConvKind::gat,
              .in_features = 11,
              .edge_features = 11,
              .layers = 2,
              .hidden = 8,
              .heads = 2,
              .norm = NormKind::batch,
              .jk = LayerJoin::cat,
              .dropout = 0.2},
             1};
  Classification objective_{model_};
  std::unique_ptr<BlockEngine> engine_;
  std::unique_ptr<Optimizer> optimizer_;
  int64_t steps_ = 0;
};

// Number of threads, the component that refuses, and whether layers are recomputed.
class TheKthAllocation : public ::testing::TestWithParam<std::tuple<int, Refusal, bool>> {
 protected:
  static void SetUpTestSuite() { warm_up_torch(3); }
  void SetUp() override {
    shapes_ = read_shapes(source_, 1);
    batch_.resize(static_cast<size_t>(source_.graphs()));
    std::iota(batch_.begin(), batch_.end(), int64_t{0});
  }
  void TearDown() override {
    allocator_.refuse(0, Refusal::slab);
    allocator_.let_go();
  }
  // Bytes held without the workers' blocks of graphs, which they keep.
  static int64_t held() { return Ledger::process().held() - Ledger::process().held(Tag::blocks); }

  RefusingAllocator& allocator_ = RefusingAllocator::install();
  RandomGraphs source_{24, 50, 7};
  Vector<GraphShape, Tag::columns> shapes_;
  GraphList batch_;
};

std::string name_of(const ::testing::TestParamInfo<TheKthAllocation::ParamType>& info) {
  static constexpr std::array kNames = {"Ledger", "Slab", "System"};
  return std::string(kNames[static_cast<size_t>(std::get<1>(info.param))]) + "Refuses" +
         (std::get<2>(info.param) ? "Recomputing" : "") + "On" + std::to_string(std::get<0>(info.param));
}
INSTANTIATE_TEST_SUITE_P(
    Of, TheKthAllocation,
    ::testing::Combine(::testing::Values(1, 3),
                       ::testing::Values(Refusal::ledger, Refusal::slab, Refusal::system), ::testing::Bool()),
    name_of);

TEST_P(TheKthAllocation, FailsAndTheStepIsTheSame) {
  const auto [threads, refusal, recompute] = GetParam();
  const bool with_slab = refusal != Refusal::ledger;
  const ExecutionPlan execution = with_slab ? Training(source_, shapes_, batch_).plan(threads, recompute)
                                            : ExecutionPlan{.blocks = threads, .recompute = recompute};
  const auto training = [&] {
    auto made = std::make_unique<Training>(source_, shapes_, batch_);
    made->begin(execution);
    return made;
  };
  const auto undisturbed = training();
  allocator_.refuse(0, refusal);
  const double loss = undisturbed->step();
  const int64_t requests = allocator_.requests();
  undisturbed->step();
  const std::string expected = undisturbed->weights();
  ASSERT_GT(requests, 300);

  int64_t granted = 0;
  for (int64_t k = 1; k <= requests; ++k) {
    const auto disturbed = training();
    const int64_t held_before = held();
    allocator_.refuse(k, refusal);
    ASSERT_EQ(disturbed->step(), loss) << "request " << k;
    ASSERT_EQ(held(), held_before) << "request " << k;
    // The ledger never refuses a request of 0 bytes.
    const int64_t reruns = disturbed->runner().reruns();
    if (refusal == Refusal::ledger && reruns == 0) {
      ++granted;
    } else {
      ASSERT_EQ(reruns, 1) << "request " << k;
    }
    disturbed->step();
    ASSERT_EQ(disturbed->weights(), expected) << "request " << k;
    ASSERT_EQ(disturbed->runner().reruns(), reruns) << "request " << k;
    if (with_slab) {
      ASSERT_EQ(disturbed->runner().unforeseen(), 0) << "request " << k;
    }
  }
  EXPECT_LT(granted, requests / 10);
}

}  // namespace
}  // namespace plimsoll
