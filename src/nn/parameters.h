#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "nn/stored_rows.h"

namespace plimsoll {

/// The initial values of a parameter. Random numbers come from Philox, keyed by the seed and the parameter's
/// place in its list. The bounds are those that PyTorch and PyG use for the same layers.
struct Init {
  enum class Kind { zeros, constant, normal, uniform };
  Kind kind = Kind::zeros;
  double bound = 0;  ///< For uniform numbers, the bound of [-bound, bound]; for normal numbers, the standard
                     ///< deviation; otherwise the constant value.

  static Init zeros() { return {}; }
  static Init constant(double value) { return {Kind::constant, value}; }
  static Init normal() { return {Kind::normal, 1}; }
  /// Uniform with the bound of Glorot & Bengio, AISTATS 2010: sqrt(6 / (fan_in + fan_out)).
  static Init glorot(int64_t fan_in, int64_t fan_out);
  /// Uniform with the bound of torch.nn.Linear for weight and bias: 1 / sqrt(fan_in).
  static Init linear(int64_t fan_in);
};

/// For its lifetime, parameters and buffers that this thread creates are tensors without data (torch's meta
/// device). They need no memory, and a model with such parameters can be run to determine shapes. Cannot be
/// nested.
class MetaParameters {
 public:
  MetaParameters();
  ~MetaParameters();
  MetaParameters(const MetaParameters&) = delete;
  MetaParameters& operator=(const MetaParameters&) = delete;
};

/// For its lifetime, parameters and buffers that this thread creates are the tensors that `values` returns.
/// They require no gradients. Their memory belongs to the caller, is never written to, and must outlive them.
/// Cannot be nested.
class GivenValues {
 public:
  /// Returns the f32 tensor with this name and shape.
  using Values = std::function<at::Tensor(const std::string& name, const std::vector<int64_t>& shape)>;
  explicit GivenValues(Values values);
  ~GivenValues();
  GivenValues(const GivenValues&) = delete;
  GivenValues& operator=(const GivenValues&) = delete;
};

/// For its lifetime, parameters with this name that this thread creates have only the rows that fit into the
/// slots of `stored`, which must outlive them. Their initial values are not set;
/// initial_values() computes them for one row. Cannot be nested.
class StoredParameter {
 public:
  StoredParameter(const std::string& name, StoredRows& stored);
  ~StoredParameter();
  StoredParameter(const StoredParameter&) = delete;
  StoredParameter& operator=(const StoredParameter&) = delete;
};

/// Sets `values` to the numbers from `first` on of a parameter that add() creates as number `place` of a list
/// with this seed.
void initial_values(const Init& init, uint64_t seed, size_t place, int64_t first, std::span<float> values);

/// The named parameters of a model, in the order in which they were added: float32 leaves that require
/// gradients. Their memory is entered under Tag::parameters. Several threads may read it at once; writing is
/// not thread-safe.
class ParameterList {
 public:
  struct Entry {
    std::string name;
    at::Tensor value;
    bool lazy = false;  ///< Whether a step leaves numbers whose gradient is 0 unchanged.
    /// If set, `value` [slots, F] holds only some rows of the parameter.
    StoredRows* stored = nullptr;

    /// Returns the shape of the whole parameter.
    std::vector<int64_t> shape() const;
    /// Passes all numbers of the parameter, which must be on the CPU and have data, to `take`, in one part or
    /// several. Errors: those of StoredRows::read_all().
    void read(const std::function<void(std::span<const float>)>& take) const;
  };

  explicit ParameterList(uint64_t seed) : seed_(seed) {}
  /// Adds a parameter with a name that no other has, and returns its tensor, which is shared. The initial
  /// values depend on the seed and on how many parameters were added before, unless a scope above replaces
  /// them. Errors: UsageError if the model would have more than 2^40 numbers; BudgetExceeded.
  at::Tensor add(const std::string& name, const std::vector<int64_t>& shape, const Init& init);
  /// Makes the optimizer skip those numbers of a parameter whose gradient is 0: neither they nor their
  /// optimizer state change. The parameter must exist.
  void make_lazy(const std::string& name);
  /// Adds a parameter of another object, such as a torch::nn::Module. It must be f32, contiguous and require
  /// a gradient. It is shared, not copied.
  void adopt(const std::string& name, const at::Tensor& value) { entries_.push_back({name, value}); }
  /// Adds a tensor that belongs to the model and is not trained, such as a running mean, filled with `value`,
  /// and returns it. Errors: BudgetExceeded.
  at::Tensor add_buffer(const std::string& name, const std::vector<int64_t>& shape, float value);

  const std::vector<Entry>& entries() const { return entries_; }
  const std::vector<Entry>& buffers() const { return buffers_; }
  /// Returns the parameters, then the buffers: the content of a file of weights.
  std::vector<Entry> all() const;
  /// Returns the parameters from index `first` on.
  std::vector<at::Tensor> from(size_t first) const;
  /// Returns the number of scalars in the parameters, without the buffers.
  int64_t count() const;
  /// Returns XXH3-128 of all values, buffers included, in the order of names. It identifies the weights.
  /// Errors: those of StoredRows::all().
  std::string hash() const;

 private:
  uint64_t seed_;
  std::vector<Entry> entries_;
  std::vector<Entry> buffers_;
};

}  // namespace plimsoll
