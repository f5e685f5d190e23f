#pragma once

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <numeric>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "base/word_text.h"
#include "nn/classification.h"
#include "nn/gat_distillation.h"
#include "nn/gat_with_jk.h"
#include "nn/gnn.h"
#include "nn/linear.h"
#include "nn/neighbour_convs.h"
#include "nn/reconstruction.h"
#include "nn/reconstruction_errors.h"
#include "nn/vgae_distillation.h"
#include "ops/normal_noise/normal_noise.h"
#include "ops/segment/segment.h"
#include "sample/block/cached_teacher.h"
#include "support/odd_graphs.h"

namespace plimsoll {

/// A variational graph autoencoder's body, after Kipf and Welling, "Variational Graph Auto-Encoders", 2016:
/// features are reconstructed from a noisy code, and the code is held near a normal distribution.
class VgaeLike : public Objective {
 public:
  VgaeLike(int64_t layers, int64_t hidden, uint64_t seed) : parameters_(seed) {
    int64_t in = OddGraphs::kFeatures;
    for (int64_t i = 0; i < layers; ++i) {
      convs_.emplace_back(parameters_, "convs." + std::to_string(i), in, hidden);
      in = hidden;
    }
    mean_ = std::make_unique<GCNConv>(parameters_, "mean", in, hidden / 2);
    log_deviation_ = std::make_unique<GCNConv>(parameters_, "log_deviation", in, hidden / 2);
    decoder_ = Linear(parameters_, "decoder", hidden / 2, OddGraphs::kFeatures);
  }
  const ParameterList& parameters() const override { return parameters_; }
  CollateOptions collate_options() const override { return {}; }
  int64_t outputs() const override { return 2; }
  at::Tensor forward(const Batch& batch, const DropoutKey& key) const override {
    at::Tensor h = batch.x;
    for (const GCNConv& conv : convs_) h = at::relu(conv.forward(h, batch));
    const at::Tensor mean = mean_->forward(h, batch);
    const at::Tensor log_deviation = log_deviation_->forward(h, batch);
    const at::Tensor noise =
        key.training ? normal_noise(mean, key.seed, key.epoch, batch.node_item(), batch.node_local())
                     : at::zeros_like(mean);
    const at::Tensor code = mean + log_deviation.exp() * noise;
    const at::Tensor rebuilt = (decoder_.forward(code) - batch.x).pow(2).sum(1, true);
    const at::Tensor apart =
        (mean.pow(2) + (2 * log_deviation).exp() - 2 * log_deviation - 1).sum(1, true) / 2;
    return segment_reduce(at::cat({rebuilt, apart}, 1), batch.graph_ptr, Reduce::mean);
  }
  at::Tensor losses(const at::Tensor& outputs, const Batch&) const override { return outputs.sum(1); }

 private:
  ParameterList parameters_;
  std::vector<GCNConv> convs_;
  std::unique_ptr<GCNConv> mean_, log_deviation_;
  Linear decoder_;
};

/// The models of the KD-GAT pipeline, by name.
struct KdGatModel {
  explicit KdGatModel(const std::string& name) {
    constexpr int64_t kIds = 70;
    constexpr int64_t kFeatures = OddGraphs::kFeatures;
    if (name.starts_with("vgae")) {
      VgaeOptions options{.num_ids = kIds, .in_features = kFeatures};
      if (name == "vgae large")
        options = {.num_ids = kIds,
                   .in_features = kFeatures,
                   .embedding = 32,
                   .hidden = {480, 240},
                   .latent = 48,
                   .heads = 4,
                   .dropout = 0.15};
      if (name == "vgae edges") options.edge_features = kFeatures;
      vgae = std::make_unique<GraphAutoencoderNeighborhood>(options, 1);
      if (name == "vgae distilled")
        objective = std::make_unique<VgaeDistillation>(*vgae, kTeacherLatent, 0.7);
      else if (name == "vgae errors")
        objective = std::make_unique<ReconstructionErrors>(*vgae);
      else
        objective = std::make_unique<Reconstruction>(*vgae);
      return;
    }
    GatOptions options{.num_ids = kIds, .in_features = kFeatures, .classes = 3};
    if (name == "gat large")
      options = {.num_ids = kIds,
                 .in_features = kFeatures,
                 .embedding = 16,
                 .layers = 3,
                 .hidden = 48,
                 .heads = 8,
                 .dropout = 0.2,
                 .fc_layers = 1,
                 .classes = 3};
    if (name == "gatv2 edges") {
      options.attention = AttentionKind::gatv2;
      options.edge_features = kFeatures;
    }
    if (name == "gat lstm") options.jk = JkMode::lstm;
    if (name == "gat max") {
      options.jk = JkMode::max;
      options.pooling = Reduce::max;
    }
    gat = std::make_unique<GATWithJK>(options, 1);
    if (name == "gat distilled")
      objective = std::make_unique<GatDistillation>(*gat, 4, 0.7);
    else
      objective = std::make_unique<Classification>(*gat);
  }
  static constexpr int64_t kTeacherLatent = 5;
  static constexpr std::array kNames = {"vgae small",     "vgae large",   "vgae edges",  "vgae errors",
                                        "vgae distilled", "gat large",    "gatv2 edges", "gat lstm",
                                        "gat max",        "gat distilled"};
  // Teacher outputs of a distilled model: zeros, as wide as its teacher's.
  CachedTeacher::Column teacher_of(const std::string& name) const {
    if (name == "vgae distilled")
      return {.values = {}, .width = kTeacherLatent + OddGraphs::kFeatures - 1, .of_nodes = true};
    return {.values = {}, .width = name == "gat distilled" ? 3 : 0};
  }

  std::unique_ptr<GraphAutoencoderNeighborhood> vgae;
  std::unique_ptr<GATWithJK> gat;
  std::unique_ptr<Objective> objective;
};

/// A random model of the kinds a recipe can name, or a VgaeLike.
struct AnyModel {
  explicit AnyModel(std::mt19937_64& random) {
    const auto pick = [&](auto... values) {
      const std::vector list{values...};
      return list[random() % list.size()];
    };
    if (random() % 4 == 0) {
      what = KdGatModel::kNames[random() % KdGatModel::kNames.size()];
      kd_gat = std::make_unique<KdGatModel>(what);
      objective = std::move(kd_gat->objective);
      teacher = kd_gat->teacher_of(what);
      trains = what != "vgae errors";
      return;
    }
    const int64_t layers = 1 + static_cast<int64_t>(random() % 6);
    const int64_t hidden = pick(8, 16, 32, 48);
    if (random() % 6 == 0) {
      objective = std::make_unique<VgaeLike>(layers, hidden, 1);
      what = "vgae-like, " + std::to_string(layers) + " layers";
      return;
    }
    const GnnOptions options{
        .conv = pick(ConvKind::gat, ConvKind::gatv2, ConvKind::gcn, ConvKind::gin, ConvKind::sage),
        .in_features = OddGraphs::kFeatures,
        .edge_features = random() % 2 == 0 ? OddGraphs::kFeatures : 0,
        .num_ids = random() % 2 == 0 ? 5 : 0,
        .embedding = 4,
        .layers = layers,
        .hidden = hidden,
        .heads = pick(1, 2, 4),
        .norm = pick(NormKind::none, NormKind::batch, NormKind::graph),
        .jk = pick(LayerJoin::last, LayerJoin::cat, LayerJoin::max),
        .pooling = pick(Reduce::mean, Reduce::sum, Reduce::max),
        .dropout = random() % 2 == 0 ? 0.3 : 0.0,
        .classes = 3,
        .node_head = random() % 4 == 0};
    model = std::make_unique<Gnn>(options, 1);
    objective = std::make_unique<Classification>(*model);
    what = fmt::format("{}, {} layers, norm {}, jk {}{}", options.conv, layers, options.norm, options.jk,
                       options.node_head ? ", nodes" : "");
  }
  std::unique_ptr<Gnn> model;
  std::unique_ptr<KdGatModel> kd_gat;
  std::unique_ptr<Objective> objective;
  CachedTeacher::Column teacher;
  std::string what;
  bool trains = true;  // False for a model that only scores windows and that no recipe trains.
};

/// Random graphs, with teacher outputs if a model needs them.
struct AnyGraphs {
  AnyGraphs(std::mt19937_64& random, const std::vector<int64_t>& sizes, const CachedTeacher::Column& column)
      : odd(random(), sizes), shapes(read_shapes(odd, 1)), all(shapes.size()) {
    std::iota(all.begin(), all.end(), int64_t{0});
    if (column.width > 0) taught.emplace(odd, column, all, shapes);
  }
  const BlockSource& source() const { return taught ? static_cast<const BlockSource&>(*taught) : odd; }

  OddGraphs odd;
  Vector<GraphShape, Tag::columns> shapes;
  GraphList all;
  std::optional<CachedTeacher> taught;
};

/// Makes sizes of graphs with heavy tails, including one-node graphs and graphs without edges.
inline std::vector<int64_t> odd_sizes(std::mt19937_64& random, size_t count) {
  std::lognormal_distribution<double> size(2.0, 1.2);
  std::vector<int64_t> sizes;
  for (size_t g = 0; g < count; ++g) {
    const auto nodes = std::clamp<int64_t>(static_cast<int64_t>(size(random)), 1, 900);
    sizes.push_back(random() % 12 == 0 ? 1 : random() % 12 == 0 ? -nodes : nodes);
  }
  return sizes;
}

}  // namespace plimsoll
