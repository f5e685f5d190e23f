#include "engine/fit/optimizer.h"

#include <ATen/ops/zeros_like.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <span>

#include "base/error.h"
#include "ops/allocator.h"

namespace plimsoll {
namespace {

// The marks of one of the gradients.
const RowMarks& marks_of(std::span<const RowMarks> rows, size_t parameter) {
  static const RowMarks unknown;
  return rows.empty() ? unknown : rows[parameter];
}

}  // namespace

template <typename Move>
void Optimizer::each_moved(size_t parameter, const at::Tensor& gradients, std::span<const RowMarks> rows,
                           const Move& move) const {
  if (lazy_.empty() || !lazy_[parameter]) {
    const int64_t count = gradients.numel();
    for (int64_t i = 0; i < count; ++i) move(i);
    return;
  }
  const float* const gradient = gradients.const_data_ptr<float>();
  marks_of(rows, parameter).each_range(gradients, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      if (gradient[i] != 0) move(i);
  });
}

namespace {

// Adam (Kingma & Ba, ICLR 2015), or AdamW if the decay is decoupled from the gradient.
class Adam : public Optimizer {
 public:
  Adam(std::vector<at::Tensor> parameters, const OptimizerOptions& options, std::vector<bool> lazy,
       bool decoupled)
      : Optimizer(options, std::move(lazy)),
        parameters_(std::move(parameters)),
        mean_(add_state("exp_avg", parameters_)),
        square_(add_state("exp_avg_sq", parameters_)),
        decoupled_(decoupled) {}

  void update(const std::vector<at::Tensor>& gradients, std::span<const RowMarks> rows) override {
    const double correction1 = 1.0 - std::pow(options_.beta1, static_cast<double>(steps_));
    const double correction2 = 1.0 - std::pow(options_.beta2, static_cast<double>(steps_));
    const auto step_size = static_cast<float>(options_.learning_rate / correction1);
    const auto root_correction2 = static_cast<float>(std::sqrt(correction2));
    const auto decay = static_cast<float>(decoupled_ ? 0.0 : options_.weight_decay);
    const auto kept =
        static_cast<float>(decoupled_ ? 1.0 - options_.learning_rate * options_.weight_decay : 1.0);
    const auto beta2 = static_cast<float>(options_.beta2);
    const auto rest1 = static_cast<float>(1.0 - options_.beta1);
    const auto rest2 = static_cast<float>(1.0 - options_.beta2);
    const auto epsilon = static_cast<float>(options_.epsilon);
    for (size_t p = 0; p < parameters_.size(); ++p) {
      float* const w = parameters_[p].data_ptr<float>();
      float* const m = mean_[p].data_ptr<float>();
      float* const v = square_[p].data_ptr<float>();
      const float* const gradient = gradients[p].const_data_ptr<float>();
      each_moved(p, gradients[p], rows, [=](int64_t i) {
        const float g = gradient[i] + decay * w[i];
        m[i] += rest1 * (g - m[i]);
        v[i] = beta2 * v[i] + rest2 * g * g;
        w[i] = w[i] * kept - step_size * m[i] / (std::sqrt(v[i]) / root_correction2 + epsilon);
      });
    }
  }

 private:
  std::vector<at::Tensor> parameters_;
  std::vector<at::Tensor> mean_;
  std::vector<at::Tensor> square_;
  bool decoupled_;
};

// Stochastic gradient descent with torch's momentum (without dampening, not Nesterov's).
class Sgd : public Optimizer {
 public:
  Sgd(std::vector<at::Tensor> parameters, const OptimizerOptions& options, std::vector<bool> lazy)
      : Optimizer(options, std::move(lazy)),
        parameters_(std::move(parameters)),
        momentum_(options.momentum == 0 ? std::vector<at::Tensor>{}
                                        : add_state("momentum_buffer", parameters_)) {}

  void update(const std::vector<at::Tensor>& gradients, std::span<const RowMarks> rows) override {
    const auto rate = static_cast<float>(options_.learning_rate);
    const auto decay = static_cast<float>(options_.weight_decay);
    const auto momentum = static_cast<float>(options_.momentum);
    for (size_t p = 0; p < parameters_.size(); ++p) {
      float* const w = parameters_[p].data_ptr<float>();
      float* const b = momentum_.empty() ? nullptr : momentum_[p].data_ptr<float>();
      const float* const gradient = gradients[p].const_data_ptr<float>();
      each_moved(p, gradients[p], rows, [=](int64_t i) {
        float g = gradient[i] + decay * w[i];
        // The buffer starts as 0, so the first step uses the gradient itself, as in torch.
        if (b != nullptr) g = b[i] = momentum * b[i] + g;
        w[i] -= rate * g;
      });
    }
  }

 private:
  std::vector<at::Tensor> parameters_;
  std::vector<at::Tensor> momentum_;
};

// Squares of up to kNormChunk elements, in double precision. The order of the sums suits vector instructions
// and does not depend on how the elements are divided among calls.
struct ChunkSquares {
  static constexpr int64_t kSums = 8;
  std::array<double, kSums> sums = {};
  int64_t count = 0;

  void add(const float* g, int64_t more) {
    int64_t i = 0;
    for (; i < more && (count + i) % kSums != 0; ++i) add_one(g[i], (count + i) % kSums);
    for (; i + kSums <= more; i += kSums)
      for (int64_t k = 0; k < kSums; ++k) sums[k] += static_cast<double>(g[i + k]) * g[i + k];
    for (; i < more; ++i) add_one(g[i], (count + i) % kSums);
    count += more;
  }
  double sum() const {
    double sum = 0;
    for (const double part : sums) sum += part;
    return sum;
  }

 private:
  void add_one(float g, int64_t k) { sums[static_cast<size_t>(k)] += static_cast<double>(g) * g; }
};

// Adds the squares of one gradient, chunk by chunk. Numbers that are left out are 0, so they change no sum.
void add_squares(const at::Tensor& gradient, const RowMarks& rows, double& squares) {
  const float* const g = gradient.const_data_ptr<float>();
  ChunkSquares chunk;
  int64_t number = 0;
  rows.each_range_of_table(gradient, [&](int64_t at, int64_t first, int64_t count) {
    const float* const numbers = g + first - at;  // From number 0 of the table on.
    const int64_t end = at + count;
    while (at < end) {
      if (at / kNormChunk != number) {
        squares += chunk.sum();
        chunk = {};
        number = at / kNormChunk;
      }
      chunk.count = at % kNormChunk;
      const int64_t more = std::min(end, (number + 1) * kNormChunk) - at;
      chunk.add(numbers + at, more);
      at += more;
    }
  });
  squares += chunk.sum();
}

double sum_of_squares(const std::vector<at::Tensor>& gradients, std::span<const RowMarks> rows) {
  double squares = 0;
  for (size_t p = 0; p < gradients.size(); ++p) add_squares(gradients[p], marks_of(rows, p), squares);
  return squares;
}

// Data that a rank sends to the next: the sum over the complete chunks, and the state of the chunk that the
// next rank continues.
struct SquaresSoFar {
  double whole = 0;
  ChunkSquares open;
};

// A rank's part of the same sum, computed before the sum of the preceding ranks is known.
class SliceSquares {
 public:
  SliceSquares(const std::vector<at::Tensor>& gradients, const std::vector<Slices::Piece>& pieces) {
    for (size_t p = 0; p < pieces.size(); ++p) {
      const float* g = gradients[p].const_data_ptr<float>();
      const int64_t end = pieces[p].first + pieces[p].count;
      for (int64_t at = pieces[p].first; at < end;) {
        const int64_t chunk_end = (at / kNormChunk + 1) * kNormChunk;
        const int64_t count = std::min(chunk_end, end) - at;
        const bool closes = at + count == chunk_end || (at + count == end && pieces[p].ends);
        if (p == 0 && at == pieces[p].first && at % kNormChunk != 0)
          head_ = {g, count, closes};
        else
          add(g, count, closes);
        at += count;
        g += count;
      }
    }
  }

  void add_to(SquaresSoFar& squares) const {
    if (head_.count > 0) {
      squares.open.add(head_.g, head_.count);
      if (!head_.closes) return;
      squares.whole += squares.open.sum();
      squares.open = {};
    }
    for (const double chunk : closed_) squares.whole += chunk;
    squares.open = tail_;
  }

 private:
  void add(const float* g, int64_t count, bool closes) {
    tail_.add(g, count);
    if (!closes) return;
    closed_.push_back(tail_.sum());
    tail_ = {};
  }

  // The part of a chunk that an earlier rank started.
  struct Head {
    const float* g = nullptr;
    int64_t count = 0;
    bool closes = false;
  };
  Head head_;
  std::vector<double> closed_;
  ChunkSquares tail_;  // The chunk that the next rank continues.
};

// Passes the sum from rank to rank, and from the last rank to all. Starts to receive before this rank
// computes its own part.
double sum_of_squares(const std::vector<at::Tensor>& gradients, Exchange& exchange, const Slices& slices) {
  const int rank = exchange.rank();
  const int last = exchange.ranks() - 1;
  SquaresSoFar squares, all;
  const auto bytes_of = [](SquaresSoFar& squares_so_far) {
    return std::as_writable_bytes(std::span(&squares_so_far, 1));
  };
  if (rank == 0)
    exchange.receive(last, bytes_of(all));
  else
    exchange.receive(rank - 1, bytes_of(squares));
  const SliceSquares own(gradients, slices.pieces(rank));
  if (rank > 0) exchange.wait();
  own.add_to(squares);
  if (rank == last) {
    for (int other = 0; other < last; ++other) exchange.send(other, bytes_of(squares));
    exchange.wait();
    return squares.whole;
  }
  exchange.send(rank + 1, bytes_of(squares));
  if (rank > 0) exchange.receive(last, bytes_of(all));
  exchange.wait();
  return all.whole;
}

double clip_to(double squares, const std::vector<at::Tensor>& gradients, double longest,
               std::span<const RowMarks> rows = {}) {
  const double norm = std::sqrt(squares);
  if (longest == 0 || norm <= longest) return norm;
  const auto scale = static_cast<float>(longest / (norm + 1e-6));
  for (size_t p = 0; p < gradients.size(); ++p) {
    float* const g = gradients[p].data_ptr<float>();
    marks_of(rows, p).each_range(gradients[p], [=](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) g[i] *= scale;
    });
  }
  return norm;
}

}  // namespace

std::vector<at::Tensor> Optimizer::add_state(const std::string& name,
                                             const std::vector<at::Tensor>& parameters) {
  const TagScope scope(Tag::optimizer);
  std::vector<at::Tensor> values;
  for (const at::Tensor& parameter : parameters) {
    values.push_back(at::zeros_like(parameter));
    state_.emplace_back(name + "." + std::to_string(values.size() - 1), values.back());
  }
  return values;
}

std::unique_ptr<Optimizer> make_optimizer(std::vector<at::Tensor> parameters, const OptimizerOptions& options,
                                          std::vector<bool> lazy) {
  if (options.kind == OptimizerKind::sgd)
    return std::make_unique<Sgd>(std::move(parameters), options, std::move(lazy));
  return std::make_unique<Adam>(std::move(parameters), options, std::move(lazy),
                                options.kind == OptimizerKind::adamw);
}

int64_t state_tensors(const OptimizerOptions& options) {
  if (options.kind != OptimizerKind::sgd) return 2;
  return options.momentum == 0 ? 0 : 1;
}

double clip_gradients(const std::vector<at::Tensor>& gradients, double longest,
                      std::span<const RowMarks> rows) {
  return clip_to(sum_of_squares(gradients, rows), gradients, longest, rows);
}

double clip_gradients(const std::vector<at::Tensor>& gradients, double longest, Exchange& exchange,
                      const Slices& slices) {
  return clip_to(sum_of_squares(gradients, exchange, slices), gradients, longest);
}

}  // namespace plimsoll
