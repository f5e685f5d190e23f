#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace plimsoll {

/// How a parameter begins; the numbers come from Philox, keyed by the seed and the parameter's place in its
/// list. The bounds are those of PyTorch and PyG for the layers that use them.
struct Init {
  enum class Kind { zeros, constant, normal, uniform };
  Kind kind = Kind::zeros;
  double bound = 0;  ///< uniform in [-bound, bound]; standard deviation of normal; the constant

  static Init zeros() { return {}; }
  static Init constant(double value) { return {Kind::constant, value}; }
  static Init normal() { return {Kind::normal, 1}; }
  /// Glorot & Bengio, AISTATS 2010: sqrt(6 / (fan_in + fan_out)).
  static Init glorot(int64_t fan_in, int64_t fan_out);
  /// torch.nn.Linear: 1 / sqrt(fan_in), for weight and bias.
  static Init linear(int64_t fan_in);
};

/// While it lives, parameters and buffers that this thread makes are tensors without data (torch's meta
/// device): they take no memory, and a model of them can be run for shapes alone. May not be nested.
class MetaParameters {
 public:
  MetaParameters();
  ~MetaParameters();
  MetaParameters(const MetaParameters&) = delete;
  MetaParameters& operator=(const MetaParameters&) = delete;
};

/// While it lives, parameters and buffers that this thread makes are those that `values` gives: memory of
/// somebody else, which must outlive them, to be read alone. They need no gradients. May not be nested.
class GivenValues {
 public:
  /// f32 of a shape, by name.
  using Values = std::function<at::Tensor(const std::string& name, const std::vector<int64_t>& shape)>;
  explicit GivenValues(Values values);
  ~GivenValues();
  GivenValues(const GivenValues&) = delete;
  GivenValues& operator=(const GivenValues&) = delete;
};

/// The named parameters of a model, in the order in which they were added: float32 leaves that require
/// gradients. Their memory is entered under Tag::parameters. Reading from several threads is safe; writing is
/// not.
class ParameterList {
 public:
  struct Entry {
    std::string name;
    at::Tensor value;
  };

  explicit ParameterList(uint64_t seed) : seed_(seed) {}
  at::Tensor add(const std::string& name, const std::vector<int64_t>& shape, const Init& init);
  /// A parameter that somebody else made, such as one of a torch::nn::Module's: f32, contiguous, requiring
  /// its gradient. It is shared, not copied.
  void adopt(const std::string& name, const at::Tensor& value) { entries_.push_back({name, value}); }
  /// A tensor that belongs to the model and is not trained, such as a running mean, filled with `value`.
  at::Tensor add_buffer(const std::string& name, const std::vector<int64_t>& shape, float value);

  const std::vector<Entry>& entries() const { return entries_; }
  const std::vector<Entry>& buffers() const { return buffers_; }
  /// Both, parameters first: what a file of weights holds.
  std::vector<Entry> all() const;
  /// The parameters from the one at index `first` on.
  std::vector<at::Tensor> from(size_t first) const;
  /// Number of scalars in parameters.
  int64_t count() const;
  /// XXH3-128 of all values, buffers included, in order of names: the identity of the weights.
  std::string hash() const;

 private:
  uint64_t seed_;
  std::vector<Entry> entries_;
  std::vector<Entry> buffers_;
};

}  // namespace plimsoll
