#include "engine/predict/node_head.h"

#include <ATen/Functions.h>
#include <ATen/Parallel.h>
#include <c10/core/GradMode.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>

#include "base/error.h"
#include "engine/blocks/ending.h"
#include "engine/blocks/rank_messages.h"
#include "engine/predict/piece_memory.h"
#include "ops/allocator.h"

namespace plimsoll {
namespace {

// The number of outputs of a node that ranks exchange.
int64_t width_of(const Gnn& model, bool embeddings) {
  return model.classes() + (embeddings ? model.embedding() : 0);
}

void require_finite(const at::Tensor& logits, std::span<const int64_t> nodes) {
  const std::span all(logits.const_data_ptr<float>(), static_cast<size_t>(logits.numel()));
  const auto bad = std::ranges::find_if_not(all, [](float value) { return std::isfinite(value); });
  if (bad == all.end()) return;
  const int64_t node = nodes[static_cast<size_t>((bad - all.begin()) / logits.size(1))];
  throw InputError(fmt::format(
      "the outputs of the model for node {} are not finite: a feature of the node, or of another "
      "within reach of its layers, is not finite or too large; look for it with `plimsoll verify`",
      node));
}

// Runs a head on all ranks. In each round, every rank runs one part.
class HeadRounds {
 public:
  HeadRounds(NodeHead& head, const NodeParts& parts, bool embeddings, Exchange& exchange)
      : head_(head),
        parts_(parts),
        classes_(head.model().classes()),
        embedding_(embeddings ? head.model().embedding() : 0),
        exchange_(exchange),
        messages_(exchange.ranks(), bytes_of(std::min(kPieceTargets, parts.nodes))) {}

  void run(const std::function<void(const NodePredictions&)>& take) {
    std::exception_ptr error;  // Error thrown by `take`; the next round reports it to the other ranks.
    int64_t first = 0;
    for (; first < parts_.count(); first += exchange_.ranks()) {
      exchange_round(first, error);
      error = error_of([&] {
        for (int rank = 0; rank < exchange_.ranks() && parts_.size(first + rank) > 0; ++rank)
          take(outputs_of(rank, parts_.size(first + rank)));
      });
    }
    exchange_round(first, error);  // Has no outputs.
  }

 private:
  int64_t bytes_of(int64_t nodes) const { return nodes * (classes_ + embedding_) * int64_t{sizeof(float)}; }

  void exchange_round(int64_t first, const std::exception_ptr& error) {
    const std::exception_ptr ended = error ? error : error_of([&] { run_part(first + exchange_.rank()); });
    std::vector<int64_t> sizes;
    for (int rank = 0; rank < exchange_.ranks(); ++rank) sizes.push_back(bytes_of(parts_.size(first + rank)));
    messages_.start(exchange_, sizes, ended);
    messages_.finish(exchange_);
  }

  void run_part(int64_t part) {
    if (parts_.size(part) == 0) return;
    const NodePredictions found = head_.run(parts_.at(part));
    std::byte* to = messages_.content(exchange_.rank()).data();
    std::memcpy(to, found.logits.const_data_ptr(), found.logits.nbytes());
    if (embedding_ > 0)
      std::memcpy(to + found.logits.nbytes(), found.embeddings.const_data_ptr(), found.embeddings.nbytes());
  }

  // Returns a rank's outputs for its part of a round, as views of its message.
  NodePredictions outputs_of(int rank, int64_t nodes) {
    auto* const numbers = reinterpret_cast<float*>(messages_.content(rank).data());
    NodePredictions found;
    found.logits = at::from_blob(numbers, {nodes, classes_}, at::kFloat);
    if (embedding_ > 0)
      found.embeddings = at::from_blob(numbers + nodes * classes_, {nodes, embedding_}, at::kFloat);
    return found;
  }

  NodeHead& head_;
  const NodeParts& parts_;
  const int64_t classes_;
  const int64_t embedding_;
  Exchange& exchange_;
  RankMessages messages_;
};

}  // namespace

NodeHead::NodeHead(const Gnn& model, const std::vector<FeatureFile>& files) : model_(model) {
  for (const int64_t layer : model.embedding_layers())
    layer_outputs_.push_back(std::make_unique<DirectRows>(files[static_cast<size_t>(layer)]));
}

NodePredictions NodeHead::run(std::span<const int64_t> nodes) {
  const TagScope scope(Tag::activations);
  const c10::AutoGradMode no_gradients(false);
  at::init_num_threads();
  std::vector<at::Tensor> outputs;
  for (const auto& rows : layer_outputs_) {
    outputs.push_back(at::empty({static_cast<int64_t>(nodes.size()), rows->width()}, at::kFloat));
    rows->read(nodes, outputs.back().mutable_data_ptr<float>());
  }
  const at::Tensor embeddings = model_.join(outputs).contiguous();
  NodePredictions found{embeddings, model_.apply_head(embeddings).contiguous()};
  require_finite(found.logits, nodes);
  return found;
}

int64_t NodeParts::count() const {
  return (nodes + kPieceTargets - 1) / kPieceTargets;
}

int64_t NodeParts::size(int64_t part) const {
  return std::clamp<int64_t>(nodes - part * kPieceTargets, 0, kPieceTargets);
}

void run_head(NodeHead& head, const NodeParts& parts, bool embeddings, Exchange* exchange,
              const std::function<void(const NodePredictions&)>& take) {
  if (exchange != nullptr) return HeadRounds(head, parts, embeddings, *exchange).run(take);
  for (int64_t part = 0; part < parts.count(); ++part) {
    NodePredictions found = head.run(parts.at(part));
    if (!embeddings) found.embeddings.reset();
    take(found);
  }
}

void rehearse_head(NodeHead& head, const NodeParts& parts, bool embeddings, int ranks,
                   const std::function<void(const NodePredictions&)>& take) {
  std::optional<RankMessages> messages;
  if (ranks > 1)
    messages.emplace(ranks, parts.size(0) * width_of(head.model(), embeddings) * int64_t{sizeof(float)});
  if (parts.nodes > 0) take(head.run(parts.at(0)));
}

int64_t max_bytes_sent_of_head(const Gnn& model, int64_t nodes, bool embeddings, int ranks) {
  const int64_t parts = NodeParts{.nodes = nodes, .at = {}}.count();
  const int64_t rounds = (parts + ranks - 1) / ranks;
  const int64_t rows = std::min(rounds * kPieceTargets, nodes);
  return (ranks - 1) * (rows * width_of(model, embeddings) * int64_t{sizeof(float)} +
                        (rounds + 1) * RankMessages::kHeaderBytes);
}

}  // namespace plimsoll
