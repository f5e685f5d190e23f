#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include <map>

#include "engine/plan/operation_names.h"
#include "memory/tape.h"
#include "ops/allocator.h"

namespace plimsoll {
namespace {

// Bytes that a function allocates, by module, if it is recorded.
std::map<std::string, int64_t> recorded(const std::function<void()>& function) {
  install_ledger_allocator();
  TapeRecorder recorder;
  const NameOperations names;
  {
    const TapeScope scope(recorder);
    function();
  }
  std::map<std::string, int64_t> bytes;
  for (const Tape::Piece& piece : recorder.tape.pieces) bytes[std::string(piece.module)] += piece.bytes;
  return bytes;
}

at::Tensor in_module(const std::string& name, const at::Tensor& x) {
  const ModuleScope scope(name);
  return x * 2.0;
}

TEST(ModuleScope, NamesWhatIsAllocatedInIt) {
  const at::Tensor x = at::ones({100});
  const auto bytes = recorded([&] { at::Tensor y = in_module("first", x) + 1; });
  EXPECT_GE(bytes.at("first"), 400);
  EXPECT_GE(bytes.at(""), 400);  // Bytes of the sum.
}

TEST(ModuleScope, HasItsGradientsToo) {
  const at::Tensor x = at::ones({100}).requires_grad_();
  const auto bytes = recorded([&] {
    const at::Tensor y = in_module("second", in_module("first", x));
    torch::autograd::grad({y.sum()}, {x});
  });
  EXPECT_GE(bytes.at("first"), 800);  // Bytes of x * 2 and of its gradient.
  EXPECT_GE(bytes.at("second"), 800);
}

TEST(ModuleScope, InnermostCounts) {
  const at::Tensor x = at::ones({100}).requires_grad_();
  const auto bytes = recorded([&] {
    at::Tensor y;
    {
      const ModuleScope outer("outer");
      y = in_module("outer.inner", x);
    }
    torch::autograd::grad({y.sum()}, {x});
  });
  EXPECT_GE(bytes.at("outer.inner"), 800);
  EXPECT_FALSE(bytes.contains("outer"));
}

TEST(ModuleScope, WithoutNamesIsNothing) {
  const ModuleScope scope("quiet");
  EXPECT_STREQ(current_module(), "");
}

}  // namespace
}  // namespace plimsoll
